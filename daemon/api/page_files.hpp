// The page for people, as it lies in daemon/page. In the HTML @SOCKET@ stands for the path of the
// daemon's socket.
#pragma once

#include <string_view>

namespace rocklock::page {

extern const std::string_view html;
extern const std::string_view css;
extern const std::string_view js;

}  // namespace rocklock::page
