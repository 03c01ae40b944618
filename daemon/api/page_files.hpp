// The files of the web page in daemon/page. The HTML contains the placeholder @SOCKET@, which the
// server replaces with the path of its socket.
#pragma once

#include <string_view>

namespace rocklock::page {

extern const std::string_view html;
extern const std::string_view css;
extern const std::string_view js;

}  // namespace rocklock::page
