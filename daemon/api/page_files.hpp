// The files of the web page in daemon/page. In the HTML, @SOCKET@ is a placeholder for the path of
// the daemon's socket.
#pragma once

#include <string_view>

namespace rocklock::page {

extern const std::string_view html;
extern const std::string_view css;
extern const std::string_view js;

}  // namespace rocklock::page
