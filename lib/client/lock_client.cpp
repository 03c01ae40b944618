#include "client/lock_client.hpp"

#include <utility>

#include "client/boot_clock.hpp"
#include "wire/call_json.hpp"

namespace rocklock {

namespace {

template <typename T>
void count_foreign_deadline(T& value, BootTime sent) {
    using std::chrono::floor;
    using std::chrono::milliseconds;
    if (value.remaining == no_expiry) {
        value.deadline = no_deadline;
        return;
    }
    value.remaining = without_drift(value.remaining);
    value.deadline = sent + without_drift(floor<milliseconds>(value.deadline.time_since_epoch()));
}

void count_foreign_grant(Grant& grant, BootTime sent) {
    using std::chrono::floor;
    using std::chrono::milliseconds;
    count_foreign_deadline(grant, sent);
    if (grant.cap) {
        grant.cap = sent + without_drift(floor<milliseconds>(grant.cap->time_since_epoch()));
    }
    if (grant.own_session) {
        grant.own_session->deadline = grant.deadline;
        grant.own_session->remaining = grant.remaining;
    }
}

// Converts the times of a reply from a machine with another boot clock, which count from the
// arrival of the call there, to times of the boot clock of this machine.
void count_from(Reply& reply, BootTime sent) {
    if (auto* session = std::get_if<SessionInfo>(&reply)) {
        count_foreign_deadline(*session, sent);
    } else if (auto* grant = std::get_if<Grant>(&reply)) {
        count_foreign_grant(*grant, sent);
    } else if (auto* detail = std::get_if<SessionDetail>(&reply)) {
        count_foreign_deadline(detail->session, sent);
        for (Grant& held : detail->grants) count_foreign_grant(held, sent);
    }
}

}  // namespace

Result<Reply> LockClient::call(const Call& call, const CallLimits& limits) {
    const auto target = std::string(target_prefix).append(verb_name(call.body));
    const BootTime sent = system_clock().now().boot;
    auto answer =
        connections_.post({target, "application/x-amz-json-1.0", write_call(call)}, limits);
    if (!answer) return std::move(answer).error();
    if (auto overload = overload_error(*answer)) return *std::move(overload);
    if (answer->status != 200) return read_error(answer->body);
    bool is_foreign = false;
    auto reply = read_reply(call.body, answer->body, &is_foreign);
    if (reply && is_foreign) count_from(*reply, sent);
    return reply;
}

}  // namespace rocklock
