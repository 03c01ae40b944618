#include "daemon/http/http_answer.hpp"

#include <array>
#include <ctime>

namespace rocklock {
namespace {

// The approximate size of the headers that every response has.
constexpr std::size_t head_bytes = 192;

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
        case 408:
            return "Request Timeout";
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

// Returns "Wed, 21 Oct 2015 07:28:00 GMT", independent of the locale.
std::string format_date(std::time_t time) {
    static constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed",
                                                             "Thu", "Fri", "Sat"};
    static constexpr std::array<std::string_view, 12> months = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    const auto two = [](int number) {
        return std::string(number < 10 ? "0" : "") + std::to_string(number);
    };
    std::string text(days[static_cast<std::size_t>(parts.tm_wday)]);
    text += ", " + two(parts.tm_mday) + " ";
    text += months[static_cast<std::size_t>(parts.tm_mon)];
    text += " " + std::to_string(parts.tm_year + 1900) + " " + two(parts.tm_hour) + ":" +
            two(parts.tm_min) + ":" + two(parts.tm_sec) + " GMT";
    return text;
}

}  // namespace

std::string_view date_line() {
    thread_local std::time_t second = -1;
    thread_local std::string line;
    const std::time_t now = std::time(nullptr);
    if (now != second) {
        line = "Date: " + format_date(now) + "\r\n";
        second = now;
    }
    return line;
}

void append_answer(std::string& out, const ServiceAnswer& answer, HttpManner manner) {
    out.reserve(out.size() + head_bytes + answer.more_headers.size() + answer.body.size());
    if (answer.status == 200) {
        out += "HTTP/1.1 200 OK\r\nContent-Type: ";
    } else {
        out += "HTTP/1.1 " + std::to_string(answer.status) + " ";
        out += reason_phrase(answer.status);
        out += "\r\nContent-Type: ";
    }
    out += answer.type;
    out += "\r\nContent-Length: ";
    out += std::to_string(answer.body.size());
    if (!manner.keep_alive) out += "\r\nConnection: close";
    out += "\r\n";
    out += date_line();
    out += answer.more_headers;
    out += "\r\n";
    if (!manner.head) out += answer.body;
}

}  // namespace rocklock
