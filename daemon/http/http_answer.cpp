#include "daemon/http/http_answer.hpp"

#include "wire/json_writer.hpp"

namespace rocklock {
namespace {

// About what the lines take that each answer has.
constexpr std::size_t head_bytes = 128;

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 413:
            return "Content Too Large";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 503:
            return "Service Unavailable";
        default:
            return "Bad Request";
    }
}

}  // namespace

void append_answer(std::string& out, const HttpAnswer& answer, HttpManner manner) {
    out.reserve(out.size() + head_bytes + answer.more_headers.size() + answer.body.size());
    out += "HTTP/1.1 ";
    out += std::to_string(answer.status);
    out += ' ';
    out += reason_phrase(answer.status);
    out += "\r\nContent-Type: ";
    out += answer.type;
    out += "\r\nContent-Length: ";
    out += std::to_string(answer.body.size());
    if (!manner.keep_alive) out += "\r\nConnection: close";
    out += "\r\n";
    out += answer.more_headers;
    out += "\r\n";
    if (!manner.head) out += answer.body;
}

HttpAnswer refusal(int status, std::string_view name, std::string_view message) {
    // It may show bytes of the request, and JSON is UTF-8.
    std::string shown(message);
    for (auto& byte : shown) {
        if (static_cast<unsigned char>(byte) >= 0x80) byte = '?';
    }
    JsonWriter json;
    json.begin_object();
    json.key("__type");
    json.string("rocklock#" + std::string(name));
    json.key("message");
    json.string(shown);
    json.end_object();
    return {status, json_type, {}, json.take()};
}

}  // namespace rocklock
