// Parses the usual requests of SDKs with half of the instructions of the general parser.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "daemon/http/http_reader.hpp"

namespace rocklock {

// Parses the request at the beginning of `input` into `request`, which must be empty. Returns its
// size.
//
// Returns nullopt unless the input contains the whole request, a POST of HTTP/1.1 with a
// Content-Length; each header is one that SDKs send, occurs once, and has a value of printable
// ASCII characters; and the connection is to be kept open. HttpReader's general parser must then
// parse the request, and `request` must not be used. Otherwise, the result is that of the general
// parser.
//
// Threads: reentrant.
std::optional<std::size_t> read_usual_request(std::string_view input, HttpRequest& request);

}  // namespace rocklock
