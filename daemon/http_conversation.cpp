#include "daemon/http_conversation.hpp"

#include <utility>

#include <rocklock/error.hpp>

#include "wire/call_json.hpp"
#include "wire/error_names.hpp"
#include "wire/json_writer.hpp"

namespace rocklock {
namespace {

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
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
        case 503:
            return "Service Unavailable";
        default:
            return "Bad Request";
    }
}

void append_answer(std::string& out, int status, std::string_view body, bool keep_alive) {
    out += "HTTP/1.1 ";
    out += std::to_string(status);
    out += ' ';
    out += reason_phrase(status);
    out += "\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: ";
    out += std::to_string(body.size());
    if (!keep_alive) out += "\r\nConnection: close";
    out += "\r\n\r\n";
    out += body;
}

// A refusal that has a name only in HTTP.
std::string named_error(std::string_view name, std::string_view message) {
    JsonWriter json;
    json.begin_object();
    json.key("__type");
    json.string("rocklock#" + std::string(name));
    json.key("message");
    json.string(message);
    json.end_object();
    return json.take();
}

}  // namespace

HttpConversation::HttpConversation(std::shared_ptr<Peer> peer,
                                   std::function<void(std::function<void()>)> post,
                                   std::function<void()> output_ready)
    : peer_(std::move(peer)), post_(std::move(post)), output_ready_(std::move(output_ready)) {}

void HttpConversation::receive(std::string_view bytes) {
    if (ending_) return;
    const auto problem =
        reader_.receive(bytes, [this](const HttpRequest& request) { take(request); });
    if (problem) {
        broken_ = true;
        slots_.push_back({++last_number_, false, std::nullopt});
        ending_ = true;
        const auto name =
            problem->status == 400 ? "ValidationException" : "RequestTooLargeException";
        answer(last_number_, problem->status, named_error(name, problem->message));
    } else if (reader_.wants_continue() && slots_.empty()) {
        output_ += "HTTP/1.1 100 Continue\r\n\r\n";
        output_ready_();
    }
}

void HttpConversation::end_of_input() {
    ending_ = true;
    peer_->hang_up(false);
    if (slots_.empty()) output_ready_();
}

void HttpConversation::take(const HttpRequest& request) {
    if (ending_) return;
    const auto number = ++last_number_;
    slots_.push_back({number, request.keep_alive, std::nullopt});
    if (!request.keep_alive) ending_ = true;
    ask(request, number);
}

void HttpConversation::ask(const HttpRequest& request, std::uint64_t number) {
    if (request.target != "/") {
        return answer(
            number, 404,
            named_error("UnknownOperationException",
                        "there is nothing at " + request.target + ": calls go to POST /"));
    }
    if (request.method != "POST") {
        return answer(number, 405,
                      named_error("UnknownOperationException", "calls are POST requests"));
    }
    std::string_view verb = request.operation;
    auto call = verb.starts_with(target_prefix) ? call_named(verb.substr(target_prefix.size()))
                                                : std::nullopt;
    if (!call) {
        return answer(number, 400,
                      named_error("UnknownOperationException",
                                  "the header X-Amz-Target must be " + std::string(target_prefix) +
                                      "<Verb>, with a verb of the lock API; it is '" +
                                      request.operation + "'"));
    }
    auto read = read_call(*std::move(call), request.body);
    if (!read) return answer(number, 400, write_error(read.error()));

    peer_->ask(*std::move(read),
               [weak = weak_from_this(), post = post_, number](Result<Reply> reply) {
                   // Text is made where the answer comes, so that the connection's thread only
                   // sends it.
                   const int status = reply ? 200 : http_status(reply.error().code);
                   std::string body = reply ? write_reply(*reply) : write_error(reply.error());
                   post([weak, number, status, body = std::move(body)] {
                       if (const auto self = weak.lock()) self->answer(number, status, body);
                   });
               });
}

void HttpConversation::answer(std::uint64_t number, int status, std::string_view body) {
    for (auto& slot : slots_) {
        if (slot.number != number) continue;
        slot.answer.emplace();
        append_answer(*slot.answer, status, body, slot.keep_alive);
        break;
    }
    flush();
}

void HttpConversation::flush() {
    bool more = false;
    while (!slots_.empty() && slots_.front().answer) {
        output_ += *slots_.front().answer;
        slots_.pop_front();
        more = true;
    }
    if (more) output_ready_();
}

}  // namespace rocklock
