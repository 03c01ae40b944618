#include "service/call_recorder.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/is_one_of.hpp"
#include "service/process_id.hpp"

namespace rocklock {
namespace {

using std::chrono::steady_clock;

std::string user_of(const Caller& caller) {
    if (is_unknown(caller.uid)) return "?";
    if (!caller.node) return user_name(uid_of(caller.uid));
    return user_name_without_entry(uid_of(caller.uid)) + "@" + caller.node->host.node;
}

// Returns the log event for a successful administrative call, or nullopt for other calls.
std::optional<LogEvent> administration(const Call& call, const Caller& caller) {
    std::optional<LogEvent> event;
    const auto log = [&](std::string_view name, std::string message, std::vector<LogFact> facts) {
        event = LogEvent{LogLevel::info, name, std::move(message), std::move(facts)};
        event->facts.emplace_back("user", user_of(caller));
        event->facts.emplace_back("pid", caller.pid);
    };
    if (const auto* broken = std::get_if<Break>(&call.body)) {
        log("break", "a grant was broken",
            {{"grant", number(broken->grant)}, {"reason", broken->reason}});
    } else if (const auto* end = std::get_if<EndSession>(&call.body)) {
        log("end_session", "a session was ended",
            {{"session", to_string(end->session)}, {"reason", end->reason}});
    } else if (const auto* all = std::get_if<EndSessions>(&call.body)) {
        if (all->uid) {
            log("end_sessions", "all sessions of a user were ended",
                {{"uid", *all->uid}, {"reason", all->reason}});
        } else {
            log("end_sessions", "all sessions of a principal were ended",
                {{"principal", all->principal}, {"reason", all->reason}});
        }
    } else if (const auto* steal = std::get_if<Steal>(&call.body)) {
        log("steal", "a grant was stolen",
            {{"grant", number(steal->grant)}, {"reason", steal->reason}});
    } else if (const auto* put = std::get_if<PutClass>(&call.body)) {
        log("put_class", "a class was saved", {{"pattern", put->lock_class.pattern}});
    } else if (const auto* gone = std::get_if<DeleteClass>(&call.body)) {
        log("delete_class", "a class was deleted", {{"pattern", gone->pattern}});
    } else if (const auto* drain = std::get_if<DrainClass>(&call.body)) {
        log("drain_class", "a class was drained",
            {{"pattern", drain->pattern}, {"reason", drain->reason}});
    } else if (const auto* resume = std::get_if<ResumeClass>(&call.body)) {
        log("resume_class", "a class was resumed", {{"pattern", resume->pattern}});
    } else if (const auto* bind = std::get_if<BindTable>(&call.body)) {
        log("bind_table", "a table was bound to resources",
            {{"table", bind->binding.table}, {"resource", bind->binding.resource}});
    } else if (const auto* unbind = std::get_if<UnbindTable>(&call.body)) {
        log("unbind_table", "a table was unbound from resources", {{"table", unbind->table}});
    } else if (const auto* trim = std::get_if<TrimAudit>(&call.body)) {
        log("trim_audit", "rows of the audit log were deleted", {{"through", trim->through}});
    } else if (const auto* backup = std::get_if<Backup>(&call.body)) {
        log("backup", "the store was backed up", {{"directory", backup->directory}});
    } else if (std::holds_alternative<HandOver>(call.body)) {
        log("hand_over", "the manager hands its role over to another node", {});
    }
    return event;
}

// Returns true if the call can change something. An error of the storage then means that the
// storage has failed. A failed read may be caused by one bad block of the disk.
bool is_decision(const CallBody& body) {
    return std::visit(
        [](const auto& verb) {
            using Verb = std::decay_t<decltype(verb)>;
            using Changes =
                std::variant<BindTable, UnbindTable, TakeDraft, DiscardDraft, TrimAudit>;
            return is_one_of<Verb, Request> || is_one_of<Verb, Changes>;
        },
        body);
}

std::vector<std::string_view> verb_names() {
    std::vector<std::string_view> names(std::variant_size_v<CallBody>);
    for (std::size_t verb = 0; verb < names.size(); ++verb) names[verb] = verb_name_at(verb);
    return names;
}

}  // namespace

CallRecorder::CallRecorder(std::function<void(const LogEvent&)> log,
                           std::function<void(const Error&)> storage_failed,
                           std::function<bool()> has_failed)
    : log_(std::move(log)),
      storage_failed_(std::move(storage_failed)),
      has_failed_(std::move(has_failed)),
      counters_("", "verb", verb_names()) {}

CallObserver::Started CallRecorder::begin(const Call& call, const Caller& caller) {
    Started started{call.body.index(), is_decision(call.body), steady_clock::now(), {}};
    if (auto event = administration(call, caller)) {
        started.action = std::make_shared<const LogEvent>(*std::move(event));
    }
    return started;
}

void CallRecorder::end(const Started& started, const Error* error, steady_clock::time_point now) {
    const auto took = now - started.at;
    counters_.add(started.verb, error != nullptr ? std::optional(error->code) : std::nullopt, took);
    if (error != nullptr) judge(*error);
}

void CallRecorder::end(const Started& started, Result<Reply>&& reply, const Done& done) {
    const auto took = steady_clock::now() - started.at;
    if (reply) {
        counters_.add(started.verb, std::nullopt, took);
        if (started.action != nullptr) log_(*started.action);
        return done(std::move(reply));
    }
    const Error error = reply.error();
    counters_.add(started.verb, error.code, took);
    done(std::move(reply));
    if (started.decides) judge(error);
}

void CallRecorder::judge(const Error& error) {
    const bool storage = error.code == ErrorCode::io_error || error.code == ErrorCode::no_space ||
                         error.code == ErrorCode::corrupt;
    // Another node is the manager of a store on etcd, or etcd does not answer.
    const bool lost =
        (error.code == ErrorCode::not_the_manager || error.code == ErrorCode::indeterminate) &&
        has_failed_ && has_failed_();
    const bool refused = error.code == ErrorCode::no_space && has_failed_ && !has_failed_();
    if ((lost || (storage && !refused)) && !failed_.exchange(true)) storage_failed_(error);
}

}  // namespace rocklock
