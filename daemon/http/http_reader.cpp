#include "daemon/http/http_reader.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "daemon/http/usual_request.hpp"

namespace rocklock {
namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using ErrorValue = boost::system::error_code;

constexpr string_view lock_header_prefix = "x-rocklock-";

// Returns the member that stores a header, or null if the header is not used.
std::string* member_for(http::field name, string_view name_text, HttpRequest& request) {
    using boost::beast::iequals;
    switch (name) {
        case http::field::host:
            return &request.host;
        case http::field::origin:
            return &request.origin;
        case http::field::content_type:
            return &request.content_type;
        case http::field::accept:
            return &request.accept;
        case http::field::sec_fetch_site:
            return &request.fetch_site;
        case http::field::sec_fetch_mode:
            return &request.fetch_mode;
        case http::field::sec_fetch_dest:
            return &request.fetch_dest;
        case http::field::authorization:
            return &request.authorization;
        case http::field::date:
            return &request.date;
        case http::field::content_encoding:
            return &request.content_encoding;
        case http::field::unknown:
            break;
        default:
            return nullptr;
    }
    if (iequals(name_text, "x-amz-target")) return &request.operation;
    if (iequals(name_text, "x-amz-date")) return &request.amz_date;
    if (iequals(name_text, "last-event-id")) return &request.last_event_id;
    if (iequals(name_text.substr(0, lock_header_prefix.size()), lock_header_prefix)) {
        return &request.lock_headers.emplace_back(std::string(name_text), std::string()).second;
    }
    return nullptr;
}

// The length of the shortest end of a chunked body: "0" and two line ends. If Beast 1.81 resumes at
// the last chunk with fewer bytes, it aborts.
constexpr std::size_t min_end_of_chunks = 5;

// The capacity that an empty buffer keeps.
constexpr std::size_t kept_unread_capacity = 1024;

HttpProblem too_long() {
    return {431, "the headers, the chunk headers or the trailers are longer than 64 KB"};
}

HttpProblem problem_in(const ErrorValue& error) {
    if (error == http::error::header_limit) return too_long();
    if (error == http::error::body_limit || error == http::error::buffer_overflow) {
        return HttpProblem{413, "the body is longer than 16 MB"};
    }
    return HttpProblem{400, "this is not HTTP/1.1: " + error.message()};
}

}  // namespace

class HttpReader::Parser final : public http::basic_parser<true> {
public:
    Parser() {
        eager(true);
        header_limit(http_header_bytes);
        body_limit(max_request_body);
    }

    HttpRequest& whole() {
        request_.keep_alive = keep_alive();
        return request_;
    }
    std::size_t held_bytes() const { return header_bytes_ + request_.body.capacity(); }
    bool expects_continue() const { return expects_continue_; }
    // The first `size` bytes of `rest` were parsed. Counts the header bytes among them, and returns
    // true if the header is too long. If the header is incomplete, the unparsed bytes belong to it
    // as well. Beast itself limits only headers that arrive in one piece.
    bool header_too_long(std::string_view rest, std::size_t size) {
        if (!is_header_done()) {
            header_bytes_ += size;
            return header_bytes_ + (rest.size() - size) > http_header_bytes;
        }
        // Beast parses whole lines, so `rest` begins at a line, and an empty line ends the header.
        const auto end = rest.starts_with("\r\n") ? 2 : rest.find("\r\n\r\n") + 4;
        header_bytes_ += std::min(end, size);
        return header_bytes_ > http_header_bytes;
    }
    HttpProblem problem_of(const ErrorValue& error) const {
        if (!unknown_coding_) return problem_in(error);
        return {501, "the only supported Transfer-Encoding is chunked"};
    }

private:
    void on_request_impl(http::verb /*method*/, string_view method, string_view target,
                         int /*version*/, ErrorValue& error) override {
        request_.method.assign(method.data(), method.size());
        request_.target.assign(target.data(), target.size());
        error = {};
    }
    void on_response_impl(int /*code*/, string_view /*reason*/, int /*version*/,
                          ErrorValue& /*error*/) override {}
    void on_field_impl(http::field name, string_view name_text, string_view value,
                       ErrorValue& error) override {
        error = {};
        // Trailers after the chunks are ignored.
        if (is_header_done()) return;
        if (name == http::field::transfer_encoding && !boost::beast::iequals(value, "chunked")) {
            error = http::error::bad_transfer_encoding;
            unknown_coding_ = true;
        } else if (name == http::field::expect) {
            expects_continue_ = boost::beast::iequals(value, "100-continue");
        } else if (auto* member = member_for(name, name_text, request_)) {
            if (!member->empty()) *member += ", ";
            member->append(value.data(), value.size());
        }
    }
    void on_header_impl(ErrorValue& error) override { error = {}; }
    void on_body_init_impl(const boost::optional<std::uint64_t>& length,
                           ErrorValue& error) override {
        error = {};
        if (!length) return;
        if (*length > max_request_body) {
            error = http::error::body_limit;
            return;
        }
        // The length is only an announcement: reserve little memory before the bytes have arrived.
        request_.body.reserve(
            static_cast<std::size_t>(std::min<std::uint64_t>(*length, 64u << 10)));
    }
    std::size_t on_body_impl(string_view body, ErrorValue& error) override {
        error = {};
        request_.body.append(body.data(), body.size());
        return body.size();
    }
    void on_chunk_header_impl(std::uint64_t /*size*/, string_view extensions,
                              ErrorValue& error) override {
        error = {};
        extension_bytes_ += extensions.size();
        if (extension_bytes_ > http_header_bytes) error = http::error::header_limit;
    }
    std::size_t on_chunk_body_impl(std::uint64_t /*rest*/, string_view body,
                                   ErrorValue& error) override {
        return on_body_impl(body, error);
    }
    void on_finish_impl(ErrorValue& error) override { error = {}; }

    HttpRequest request_;
    bool expects_continue_ = false;
    // The body has an unsupported Transfer-Encoding.
    bool unknown_coding_ = false;
    std::size_t header_bytes_ = 0;
    std::size_t extension_bytes_ = 0;
};

HttpReader::HttpReader() = default;
HttpReader::~HttpReader() = default;

std::optional<HttpProblem> HttpReader::receive(std::string_view bytes,
                                               const std::function<bool()>& wanted,
                                               const std::function<void(HttpRequest&&)>& take) {
    if (!unread_.empty()) unread_.append(bytes);
    const std::string_view input = unread_.empty() ? bytes : unread_;
    std::size_t used = 0;
    std::optional<HttpProblem> problem;
    while (used < input.size() && wanted()) {
        const auto rest = input.substr(used);
        if (const auto size = take_usual(rest, take); size > 0) {
            used += size;
            continue;
        }
        if (!parser_) parser_ = std::make_unique<Parser>();
        const bool in_header = !parser_->is_header_done();
        if (!in_header && parser_->chunked() && rest.size() < min_end_of_chunks) break;
        ErrorValue error;
        const auto size = parser_->put(boost::asio::buffer(rest.data(), rest.size()), error);
        used += size;
        parsed_bytes_ += size;
        if (in_header && parser_->is_header_done() && !parser_->is_done()) {
            wants_continue_ = parser_->expects_continue();
        }
        const bool starved = error == http::error::need_more;
        if (error && !starved) {
            problem = parser_->problem_of(error);
        } else if ((in_header && parser_->header_too_long(rest, size)) ||
                   (starved && rest.size() - size > http_header_bytes)) {
            // In a body, the parser leaves only chunk headers and trailers unparsed.
            problem = too_long();
        } else if (parser_->is_done()) {
            taken_bytes_ = parsed_bytes_;
            take(std::move(parser_->whole()));
            parser_.reset();
        }
        if (problem || starved || size == 0) break;
    }
    keep(input, used);
    return problem;
}

// Takes a whole usual request from the beginning of `input`. Returns its size, or 0 if there is no
// such request, or if the parser has begun to parse a request.
std::size_t HttpReader::take_usual(std::string_view input,
                                   const std::function<void(HttpRequest&&)>& take) {
    if (parser_) return 0;
    HttpRequest usual;
    const auto size = read_usual_request(input, usual);
    if (!size) return 0;
    skip(*size);
    usual_head_ = input.substr(0, *size - usual.body.size());
    take(std::move(usual));
    usual_head_ = {};
    return *size;
}

// Keeps the input that was not parsed. Most requests arrive whole, and are parsed without a copy.
void HttpReader::keep(std::string_view input, std::size_t used) {
    if (used == input.size()) {
        unread_.clear();
        if (unread_.capacity() > kept_unread_capacity) unread_.shrink_to_fit();
    } else if (unread_.empty()) {
        unread_ = input.substr(used);
    } else {
        unread_.erase(0, used);
    }
}

std::size_t HttpReader::held_bytes() const {
    return (unread_.empty() ? 0 : unread_.capacity()) + (parser_ ? parser_->held_bytes() : 0);
}

void HttpReader::clear() {
    unread_.clear();
    unread_.shrink_to_fit();
    parser_.reset();
}

bool HttpReader::has_header() const { return parser_ && parser_->is_header_done(); }

bool HttpReader::wants_continue() { return std::exchange(wants_continue_, false); }

}  // namespace rocklock
