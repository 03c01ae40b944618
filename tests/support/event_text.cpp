#include "support/event_text.hpp"

#include <variant>
#include <vector>

namespace rocklock::proof {

std::string brief(const SessionId& id) { return to_string(id).substr(0, 6); }
std::string milliseconds_of(BootTime time) {
    return time == BootTime::max()
               ? "never"
               : std::to_string(
                     std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch())
                         .count()) +
                     "us";
}

namespace {

std::string describe_requests(const std::vector<LockRequest>& locks) {
    std::string text;
    for (const auto& lock : locks) {
        if (!text.empty()) text += ", ";
        text += lock.resource.size() > 40 ? lock.resource.substr(0, 40) + "…" : lock.resource;
        if (lock.subtree) text += "/**";
        if (lock.mode) text += " " + std::string(to_string(*lock.mode));
        if (lock.to) text += " to=" + std::string(to_string(*lock.to));
        if (lock.permits > 0) text += " permits=" + std::to_string(lock.permits);
        for (const Mode mode : lock.modes) {
            text += (mode == lock.modes.front() ? " modes=" : "|") + std::string(to_string(mode));
        }
    }
    return text;
}

std::string describe_patience(std::chrono::milliseconds patience) {
    if (patience == no_limit) return " patience=forever";
    if (patience.count() == 0) return "";
    return " patience=" + std::to_string(patience.count()) + "ms";
}

struct Describe {
    std::string operator()(const OpenSession& r) const {
        return "open " + r.principal +
               (r.lease ? " lease=" + std::to_string(r.lease->count()) + "ms" : "") +
               (r.request_id.empty() ? "" : " id=" + r.request_id);
    }
    std::string operator()(const RenewSession& r) const {
        return "renew " + brief(r.session) +
               (r.lease ? " lease=" + std::to_string(r.lease->count()) + "ms" : "") +
               (r.as_of ? " as_of=" + milliseconds_of(*r.as_of) : "") + (r.active ? " active" : "");
    }
    std::string operator()(const JoinProcess& r) const {
        return "join_process " + brief(r.session) +
               (r.host == ClientHost{} ? "" : " host=" + r.host.node);
    }
    std::string operator()(const CloseSession& r) const { return "close " + brief(r.session); }
    std::string operator()(const Acquire& r) const {
        return (r.session ? brief(*r.session)
                          : "(" + r.opens.value_or(OpenSession{}).principal + ")") +
               (r.any ? " acquire any " : " acquire ") + describe_requests(r.locks) +
               describe_patience(r.patience) +
               (r.priority > 0 ? " priority=" + std::to_string(r.priority) : "") +
               (r.held == Held::join    ? " join"
                : r.held == Held::count ? " count"
                                        : "") +
               (r.max_hold ? " max_hold=" + std::to_string(r.max_hold->count()) + "ms" : "") +
               (r.min_hold ? " min_hold=" + std::to_string(r.min_hold->count()) + "ms" : "") +
               (r.request_id.empty() ? "" : " id=" + r.request_id);
    }
    std::string operator()(const Convert& r) const {
        return brief(r.session) + " convert " + std::to_string(number(r.grant)) + " " +
               (r.mode ? std::string(to_string(*r.mode)) : describe_requests(r.locks)) +
               describe_patience(r.patience);
    }
    std::string operator()(const Release& r) const {
        return brief(r.session) + " release " + std::to_string(number(r.grant));
    }
    std::string operator()(const Transfer& r) const {
        return brief(r.session) + " transfer " + std::to_string(number(r.grant)) + " to " +
               brief(r.to);
    }
    std::string operator()(const Steal& r) const {
        return brief(r.session) + " steal " + std::to_string(number(r.grant)) +
               (r.administrator ? " as administrator" : "") + (r.force ? " by force" : "");
    }
    std::string operator()(const EndSession& r) const { return "end " + brief(r.session); }
    std::string operator()(const Break& r) const {
        return "break " + std::to_string(number(r.grant));
    }
    std::string operator()(const Reacquire& r) const {
        return brief(r.session) + " reacquire " + std::to_string(number(r.grant));
    }
    std::string operator()(const AnswerWanted& r) const {
        return brief(r.session) + (r.allow ? " allow " : " deny ") +
               std::to_string(number(r.grant));
    }
    std::string operator()(const AwaitNotices& r) const {
        return brief(r.session) + " await notices after " + std::to_string(r.after);
    }
    std::string operator()(const PutClass& r) const { return "class " + r.lock_class.pattern; }
    std::string operator()(const DeleteClass& r) const { return "delete_class " + r.pattern; }
    std::string operator()(const DrainClass& r) const { return "drain " + r.pattern; }
    std::string operator()(const ResumeClass& r) const { return "resume " + r.pattern; }
};

}  // namespace

std::string describe_grant(const Grant& grant) {
    std::string text = "grant " + std::to_string(number(grant.id)) + " token " +
                       std::to_string(number(grant.token)) + " of " + brief(grant.session) + " {";
    for (const auto& lock : grant.locks) {
        text +=
            describe_lock(lock) + (lock.cause.empty() ? "" : " because of " + lock.cause) + "; ";
    }
    text += "} until " + milliseconds_of(grant.deadline);
    if (grant.waited) text += " waited";
    if (grant.count > 0) text += " count " + std::to_string(grant.count);
    if (grant.ended) text += " ended " + std::string(to_string(grant.ended->outcome));
    if (grant.own_session) text += " own session";
    return text;
}

std::string describe(const Event& event) {
    if (const auto* cancel = std::get_if<CancelWait>(&event)) {
        return "cancel #" + std::to_string(static_cast<std::uint64_t>(cancel->ticket));
    }
    if (std::holds_alternative<Tick>(event)) return "tick";
    if (std::holds_alternative<Disconnect>(event)) return "disconnect";
    return std::visit(Describe{}, std::get<Request>(event));
}

std::string describe(const Result<Answer>& answer) {
    if (!answer) {
        std::string text = "error " + std::string(to_string(answer.error().code));
        for (const auto& holder : answer.error().blockers)
            text += " [" + std::to_string(number(holder.grant)) + "]";
        for (const auto& waiter : answer.error().waiters) {
            text += " behind " + brief(waiter.session) +
                    (waiter.resource.empty() ? "" : " for " + waiter.resource);
        }
        return text +
               (answer.error().message == "model" ? "" : " (" + answer.error().message + ")");
    }
    if (const auto* grant = std::get_if<Grant>(&*answer)) return describe_grant(*grant);
    if (const auto* released = std::get_if<Released>(&*answer)) {
        return std::string(to_string(released->outcome)) +
               (released->count > 0 ? " count " + std::to_string(released->count) : "");
    }
    if (const auto* session = std::get_if<SessionInfo>(&*answer)) {
        return "session " + brief(session->id) + " until " + milliseconds_of(session->deadline);
    }
    if (const auto* closed = std::get_if<ClosedSession>(&*answer)) {
        std::string text = "closed";
        for (const auto id : closed->released) text += " " + std::to_string(number(id));
        return text;
    }
    return "class " + std::get<LockClass>(*answer).pattern;
}

}  // namespace rocklock::proof
