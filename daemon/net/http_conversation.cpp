#include "daemon/net/http_conversation.hpp"

#include <algorithm>
#include <utility>

#include <rocklock/error.hpp>

#include "daemon/api/http_gate.hpp"
#include "daemon/api/status_pages.hpp"
#include "daemon/http/known_heads.hpp"
#include "service/edit_endpoint.hpp"
#include "service/item_endpoint.hpp"
#include "wire/call_json.hpp"
#include "wire/error_names.hpp"

namespace rocklock {
namespace {

// A longer body is parsed in the background.
constexpr std::size_t long_body = 64U << 10;
// The maximum size of the description of a table, with all indexes and long names.
constexpr std::size_t description_bytes = 128U << 10;

std::string_view path_of(const HttpRequest& request) {
    return std::string_view(request.target).substr(0, request.target.find('?'));
}

// Large texts are not copied, and keep no unused capacity, which would not be counted.
void append(std::string& out, std::string&& text) {
    if (out.empty() && text.size() > small_buffer) {
        out = std::move(text);
        out.shrink_to_fit();
    } else {
        out += text;
    }
}

std::size_t memory_of(const EventPage& page) {
    std::size_t bytes = page.events.capacity() * sizeof(LockEvent);
    for (const LockEvent& event : page.events) {
        bytes +=
            event.resource.size() + event.principal.size() + event.by.size() + event.reason.size();
    }
    return bytes;
}

// Returns true if the request for tables changes nothing.
bool only_reads_tables(std::string_view operation) {
    const auto name = operation.substr(operation.find('.') + 1);
    for (const std::string_view read :
         {"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"}) {
        if (name == read) return true;
    }
    return name.starts_with("Describe") || name.starts_with("List");
}

// Returns true if the request changes a table, and its answer describes the table.
bool describes_table(std::string_view operation) {
    return operation.ends_with(".CreateTable") || operation.ends_with(".UpdateTable") ||
           operation.ends_with(".DeleteTable");
}

}  // namespace

HttpConversation::HttpConversation(std::shared_ptr<ClientSession> client_session,
                                   std::function<void(std::function<void()>)> post,
                                   std::function<void()> answers_ready,
                                   std::function<void()> output_ready, const HttpServices& services)
    : Conversation(services.buffers),
      client_session_(std::move(client_session)),
      post_(std::move(post)),
      answers_ready_(std::move(answers_ready)),
      output_ready_(std::move(output_ready)),
      services_(services),
      direct_(services.buffers) {}

// Returns true if there is no room for the answer.
bool HttpConversation::exceeds_limit(const ServiceAnswer& answer) const {
    return answer.body.size() > small_buffer && buffers_full();
}

ServiceAnswer HttpConversation::limit_answer() const {
    return {503, json_type, {}, write_error(buffers_->error())};
}

void HttpConversation::receive(std::string_view bytes) {
    positions_.received(bytes.size());
    if (ending_) return;
    awaited_ = true;
    process(bytes);
    collect();
}

void HttpConversation::process(std::string_view bytes) {
    TimeSlice slice;
    paused_ = false;
    // Whether the next call of `wanted` was already made.
    bool asked = false;
    const auto wanted = [&] {
        if (std::exchange(asked, false)) return true;
        paused_ = !ending_ && (!has_room() || slice.over());
        return !ending_ && !paused_;
    };
    if (direct_calls_.expected && !reader_.has_begun()) {
        while (!bytes.empty() && wanted()) {
            const auto size = take_direct(bytes);
            asked = size == 0;
            if (asked) break;
            bytes.remove_prefix(size);
        }
        if (bytes.empty()) return;
    }
    auto problem =
        reader_.receive(bytes, wanted, [this](HttpRequest&& request) { take(std::move(request)); });
    if (!count_request(reader_.held_bytes()) && !problem) problem = HttpProblem{503, {}};
    // Even an incomplete request confirms earlier responses, because it may get a response itself.
    // If the client does not read that one, the socket does not report which of the earlier
    // responses the client has read.
    if (problem || reader_.has_header()) confirm_before(next_begin_);
    if (problem) {
        break_off(*problem);
    } else if (reader_.wants_continue() && slots_.empty()) {
        constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";
        output_ += continue_line;
        unsent_ += continue_line.size();
        output_ready_();
    }
}

// Answers the problem, and ignores all further input.
void HttpConversation::break_off(const HttpProblem& problem) {
    paused_ = false;
    broken_ = true;
    slots_.push_back({.number = ++last_number_, .manner = {.keep_alive = false}});
    ending_ = true;
    reader_.clear();
    const auto* name = "RequestTooLargeException";
    if (problem.status == 400 || problem.status == 501) name = "ValidationException";
    if (problem.status == 408) name = "RequestTimeoutException";
    const bool full = problem.status == 503;
    answer(last_number_, full ? limit_answer() : refusal(problem.status, name, problem.message));
    count_request(0);
}

void HttpConversation::time_out_request() {
    break_off({408, "the rest of the request has not arrived in time (see --stall-timeout)"});
}

std::string HttpConversation::take_output() {
    unsent_ -= output_.size();
    taken_ += output_.size();
    count_transit(output_.size());
    return std::exchange(output_, {});
}

void HttpConversation::end_of_input() {
    ending_ = true;
    input_over_ = true;
    if (!reading_in_background_) client_session_->end_of_input();
    if (stream_ && !slots_.empty() && slots_.back().open) {
        slots_.back().open = false;
        flush();
    }
    if (slots_.empty()) output_ready_();
}

// Confirms the responses that were sent before this position of the input was read.
void HttpConversation::confirm_before(std::uint64_t position) {
    const auto sent = positions_.sent_before(position);
    if (client_session_->has_unconfirmed()) client_session_->confirm(sent);
}

void HttpConversation::take(HttpRequest&& request) {
    confirm_before(std::exchange(next_begin_, reader_.taken_bytes()));
    const auto number = ++last_number_;
    slots_.push_back({.number = number, .manner = {request.keep_alive, request.method == "HEAD"}});
    if (!request.keep_alive) ending_ = true;
    request.uid = client_session_->caller().uid;
    ask(std::move(request), number);
}

void HttpConversation::ask(HttpRequest&& request, std::uint64_t number) {
    if (services_.tcp) {
        if (const auto foreign = refuse_foreign(request, access())) {
            const auto name =
                foreign->status == 403 ? "AccessDeniedException" : "ValidationException";
            return answer(number, refusal(foreign->status, name, foreign->message));
        }
    }
    if (request.method == "POST" && path_of(request) == "/" && services_.tables != nullptr &&
        is_table_request(request)) {
        return ask_tables(std::move(request), number);
    }
    if (request.method == "POST" && request.target == "/") return call(std::move(request), number);
    if (request.method == "GET" && path_of(request) == "/events") {
        return start_stream(request, number);
    }
    if (services_.pages != nullptr) {
        if (services_.background && path_of(request) == "/metrics") {
            return show_in_background(std::move(request), number);
        }
        const auto page = services_.pages->get(request);
        return answer(number, exceeds_limit(page) ? limit_answer() : page);
    }
    answer(number,
           refusal(404, "UnknownOperationException",
                   "there is no page at " + request.target + ": send calls with POST to /"));
}

void HttpConversation::ask_tables(HttpRequest&& request, std::uint64_t number) {
    direct_calls_.expected = false;
    if (buffers_full()) return answer(number, limit_answer());
    const auto body_size = request.body.size();
    auto call = std::make_unique<ItemCall>(std::move(request));
    if (const auto cached = services_.tables->ask_cache(*call)) return answer(number, *cached);
    const auto if_full =
        only_reads_tables(call->request().operation) ? IfFull::replace : IfFull::keep;
    const auto description = describes_table(call->request().operation) ? description_bytes : 0;
    auto reserved = std::make_shared<Reserved>(buffers_, std::max(body_size, description));
    call->limit_answer(room_in(reserved, body_size));
    services_.tables->ask(std::move(call), [weak = weak_from_this(), number, if_full,
                                            reserved](ServiceAnswer answer) {
        const auto self = weak.lock();
        if (!self) return;
        // If the request failed, it has changed nothing, unless the error names drafts. Another
        // error may then replace the answer.
        const bool may_replace = answer.refused && !answer.has_drafts;
        self->made(number, std::move(answer), may_replace ? IfFull::replace : if_full, reserved);
    });
    // The answer is posted to this thread, so it arrives after keep_back() has returned.
    keep_back(number);
}

void HttpConversation::ask_for_edit(EditBody verb, HttpRequest request, std::uint64_t number) {
    if (buffers_full()) return answer(number, limit_answer());
    keep_back(number);
    auto reserved = std::make_shared<Reserved>(buffers_, request.body.size());
    auto room = room_in(reserved, request.body.size());
    const auto if_full = std::holds_alternative<ShowEdit>(verb) ? IfFull::replace : IfFull::keep;
    const auto uid = request.uid;
    auto ask_client = [weak = weak_from_this(), post = post_, number](
                          Call call, EditEndpoint::Replied replied) {
        post([weak, number, call = std::move(call), replied = std::move(replied)] {
            const auto self = weak.lock();
            if (!self) return;
            // The lock may have to wait. Read on, so that a disconnect is noticed.
            self->continue_reading(number);
            const auto asked = self->call_number(number);
            auto take_back = [session = self->client_session_, asked] {
                return session->take_back(asked);
            };
            self->client_session_->ask(Call(call), asked,
                                       [replied, take_back](Result<Reply> reply) {
                                           replied(std::move(reply), take_back);
                                       });
        });
    };
    services_.edits->ask(
        std::move(verb), {std::move(request.body), uid, std::move(room)}, std::move(ask_client),
        [weak = weak_from_this(), number, if_full, reserved](ServiceAnswer answer) {
            const auto self = weak.lock();
            if (!self) return;
            const bool may_replace = answer.refused && !answer.has_drafts;
            self->made(number, std::move(answer), may_replace ? IfFull::replace : if_full,
                       reserved);
        });
}

void HttpConversation::call(HttpRequest&& request, std::uint64_t number) {
    std::string_view verb = request.operation;
    const bool names_verb = verb.starts_with(target_prefix);
    if (names_verb) verb.remove_prefix(target_prefix.size());
    if (names_verb && DirectCall::has_verb(verb) && !reader_.usual_head().empty()) {
        KnownHeads::of_this_thread().add(reader_.usual_head(), request);
        direct_calls_.expected = true;
    }
    if (services_.edits != nullptr && names_verb) {
        if (auto edit = edit_named(verb)) {
            return ask_for_edit(*std::move(edit), std::move(request), number);
        }
    }
    auto call = names_verb ? call_named(verb) : std::nullopt;
    if (!call) {
        return answer(
            number,
            refusal(400, "UnknownOperationException",
                    "the header X-Amz-Target must be " + std::string(target_prefix) +
                        "<Verb>, with a verb of the lock API; it is '" + request.operation + "'"));
    }
    if (services_.background && request.body.size() > long_body) {
        return read_in_background(*std::move(call), std::move(request.body), number);
    }
    ask_read(read_call(*std::move(call), request.body), number, request.body.size());
}

HttpConversation::Slot* HttpConversation::find_slot(std::uint64_t number) {
    const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                   [&](const Slot& each) { return each.number == number; });
    return slot == slots_.end() ? nullptr : &*slot;
}

// Stops processing later requests until this one is answered, or until continue_reading().
void HttpConversation::keep_back(std::uint64_t number) {
    auto* const slot = find_slot(number);
    if (slot != nullptr && !std::exchange(slot->search, true)) ++searches_;
}

void HttpConversation::continue_reading(std::uint64_t number) {
    auto* const slot = find_slot(number);
    if (slot == nullptr || !std::exchange(slot->search, false)) return;
    --searches_;
    if (has_room()) output_ready_();
}

void HttpConversation::read_in_background(Call call, std::string body, std::uint64_t number) {
    keep_back(number);
    reading_in_background_ = true;
    auto counted = std::make_shared<CountedBytes>(buffers_, body.size());
    services_.background([weak = weak_from_this(), post = post_, number, call = std::move(call),
                          body = std::move(body), counted = std::move(counted)]() mutable {
        auto read = std::make_shared<Result<Call>>(read_call(std::move(call), body));
        const auto size = body.size();
        body.clear();
        body.shrink_to_fit();
        counted.reset();
        post([weak, number, read, size] {
            if (const auto self = weak.lock()) self->was_read(std::move(*read), number, size);
        });
    });
}

// The page is made in the background, because the metrics include the size of the store's files,
// and the files must be examined for this.
void HttpConversation::show_in_background(HttpRequest&& request, std::uint64_t number) {
    keep_back(number);
    services_.background([weak = weak_from_this(), post = post_, number, pages = services_.pages,
                          request = std::move(request)] {
        post([weak, number, page = pages->get(request)] {
            const auto self = weak.lock();
            if (!self) return;
            self->answer(number, self->exceeds_limit(page) ? self->limit_answer() : page);
        });
    });
}

void HttpConversation::was_read(Result<Call> call, std::uint64_t number, std::size_t body_size) {
    reading_in_background_ = false;
    ask_read(std::move(call), number, body_size);
    if (input_over_) client_session_->end_of_input();
}

void HttpConversation::ask_read(Result<Call> read, std::uint64_t number, std::size_t body_size) {
    if (!read) return answer(number, {400, json_type, {}, write_error(read.error())});

    if (buffers_full() && needs_room(read->body)) return answer(number, limit_answer());
    const AnswerBytes bytes(read->body, body_size);
    std::shared_ptr<Reserved> reserved;
    if (bytes.reserved() > 0) {
        reserved = std::make_shared<Reserved>(buffers_);
        if (!reserved->counted.try_set(bytes.reserved())) return answer(number, limit_answer());
    }
    if (may_take_long(read->body)) keep_back(number);
    const auto foreign = client_session_->foreign_reply();
    client_session_->ask(*std::move(read), call_number(number),
                         [weak = weak_from_this(), number, bytes, foreign,
                          reserved = std::move(reserved)](const Result<Reply>& reply) {
                             const auto self = weak.lock();
                             if (!self) return;
                             self->replied(number, answer_of(reply, foreign ? &*foreign : nullptr),
                                           bytes, reserved);
                         });
}

ServiceAnswer HttpConversation::answer_of(const Result<Reply>& reply, const ForeignReply* foreign) {
    if (!reply) return {http_status(reply.error().code), json_type, {}, write_error(reply.error())};
    return {200, json_type, {}, write_reply(*reply, foreign)};
}

// Called on any thread.
void HttpConversation::replied(std::uint64_t number, ServiceAnswer answer, const AnswerBytes& bytes,
                               std::shared_ptr<Reserved> reserved) {
    const bool may_discard = bytes.may_discard(answer.body.size(), answer.status != 200);
    made(number, std::move(answer), may_discard ? IfFull::replace : IfFull::keep,
         std::move(reserved));
}

const HttpAccess& HttpConversation::access() const {
    static const HttpAccess this_machine;
    return services_.access != nullptr ? *services_.access : this_machine;
}

// Returns the number for the call of this slot in the client session, and stores it in the slot.
std::uint64_t HttpConversation::call_number(std::uint64_t number) {
    const auto call = client_session_->next_number();
    if (auto* const slot = find_slot(number)) slot->call = call;
    return call;
}

// Returns a function that reserves the bytes of the answer in addition to those of the body.
AnswerRoom HttpConversation::room_in(const std::shared_ptr<Reserved>& reserved,
                                     std::size_t body_size) const {
    if (buffers_ == nullptr) return {};
    return [reserved, body_size, buffers = buffers_](std::size_t bytes) -> Result<void> {
        reserved->refused = !reserved->counted.try_set(body_size + bytes);
        if (reserved->refused) return buffers->error();
        return {};
    };
}

// Called on any thread. `reserved` may be null.
void HttpConversation::made(std::uint64_t number, ServiceAnswer answer, IfFull if_full,
                            std::shared_ptr<Reserved> reserved) {
    if (reserved != nullptr && reserved->refused) answer = limit_answer();
    if (answer.body.size() > small_buffer) {
        if (reserved == nullptr) reserved = std::make_shared<Reserved>(buffers_);
        reserved->counted.set(answer.body.size());
        if (if_full == IfFull::replace && buffers_full()) answer = limit_answer();
    }
    const auto size = answer.body.size();
    if (size <= small_buffer && reserved != nullptr) {
        reserved->counted.set(0);
        reserved.reset();
    }
    made_ += size;
    post_([weak = weak_from_this(), number, size, answer = std::move(answer),
           reserved = std::move(reserved)] {
        const auto self = weak.lock();
        if (!self) return;
        self->made_ -= size;
        self->answer(number, answer);
    });
}

// Begins a stream, which ends with the connection. Later input of the client is ignored.
void HttpConversation::start_stream(const HttpRequest& request, std::uint64_t number) {
    if (buffers_full()) return answer(number, limit_answer());
    auto stream = EventStream::open(request.target, request.last_event_id);
    if (!stream) return answer(number, {400, json_type, {}, write_error(stream.error())});
    ending_ = true;
    stream_ = *std::move(stream);
    slots_.back().open = true;
    slots_.back().answer = EventStream::head();
    unsent_ += slots_.back().answer->size();
    // If flush() sends the output, output_taken() already asks for events.
    flush();
    if (!asked_for_events_) ask_for_events();
}

void HttpConversation::ask_for_events() {
    asked_for_events_ = true;
    client_session_->ask(Call{stream_->next(), {}, {}},
                         [weak = weak_from_this(),
                          defer = services_.defer ? services_.defer : post_](Result<Reply> reply) {
                             const auto asker = weak.lock();
                             if (!asker) return;
                             Result<EventPage> page = EventPage{};
                             if (reply) {
                                 page = std::get<EventPage>(*std::move(reply));
                             } else {
                                 page = std::move(reply).error();
                             }
                             auto counted = asker->count_page(page);
                             defer([weak, page = std::move(page), counted = std::move(counted)] {
                                 if (counted != nullptr) counted->set(0);
                                 if (const auto self = weak.lock()) self->append_events(page);
                             });
                         });
}

// Counts the bytes of a page of events until the page is formatted, because the pages of many
// streams may wait for that. If there is no room for the page, replaces it by the error. Called on
// any thread.
std::shared_ptr<CountedBytes> HttpConversation::count_page(Result<EventPage>& page) const {
    const std::size_t bytes = page ? memory_of(*page) : 0;
    if (bytes <= small_buffer) return nullptr;
    auto counted = std::make_shared<CountedBytes>(buffers_);
    if (!counted->try_set(bytes)) page = buffers_->error();
    return counted;
}

void HttpConversation::append_events(const Result<EventPage>& page) {
    asked_for_events_ = false;
    if (slots_.empty() || !slots_.back().open) return;
    auto& slot = slots_.back();
    auto text = page ? stream_->page(*page) : EventStream::end_event(page.error());
    slot.open = page.has_value();
    if (text.size() > small_buffer && buffers_full()) {
        text = EventStream::end_event(buffers_->error());
        slot.open = false;
    }
    unsent_ += text.size();
    append(*slot.answer, std::move(text));
    count_responses();
    flush();
}

void HttpConversation::output_taken() {
    Conversation::output_taken();
    const bool sent = stream_ && slots_.size() == 1 && slots_.back().open &&
                      slots_.back().answer->empty() && output_.empty();
    if (sent && !asked_for_events_) ask_for_events();
}

void HttpConversation::answer(std::uint64_t number, const ServiceAnswer& answer) {
    const bool full = !has_room();
    if (auto* const slot = find_slot(number)) {
        // No response precedes the first slot, so its response goes directly to the output.
        auto& text = slot == &slots_.front() ? output_ : slot->answer.emplace();
        const auto before = text.size();
        append_answer(text, answer, slot->manner);
        unsent_ += text.size() - before;
        count_responses();
        if (!slot->answer) slot->answer.emplace();
        if (slot->search) --searches_;
    }
    flush();
    // The response may have to wait for an earlier one, but it can still have made room.
    if (full && has_room()) output_ready_();
}

void HttpConversation::flush() {
    bool more = false;
    while (!slots_.empty() && slots_.front().answer) {
        more = more || !slots_.front().answer->empty() || !slots_.front().open;
        append(output_, std::exchange(*slots_.front().answer, {}));
        if (slots_.front().open) break;
        if (slots_.front().call != 0 && client_session_->has_unconfirmed()) {
            client_session_->placed(slots_.front().call, taken_ + output_.size());
        }
        slots_.pop_front();
    }
    if (more) output_ready_();
}

}  // namespace rocklock
