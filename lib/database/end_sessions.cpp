#include "database/end_sessions.hpp"

#include <string>
#include <utility>
#include <vector>

#include "lock/model/names.hpp"

namespace rocklock {
namespace {

constexpr int max_rounds = 5;

}  // namespace

Result<std::uint64_t> end_all_sessions(LockService& service, const SessionOwner& owner,
                                       std::string_view by, std::string_view reason) {
    if (!owner.uid) {
        if (auto wrong = check_name("the principal", owner.principal)) return *std::move(wrong);
    }
    if (reason.empty()) {
        return Error(ErrorCode::invalid_argument, "a forced change needs a reason");
    }
    std::uint64_t ended = 0;
    for (int round = 0; round < max_rounds; ++round) {
        auto sessions = service.sessions(owner.uid ? std::string_view() : owner.principal);
        if (!sessions) return std::move(sessions).error();
        if (owner.uid) {
            std::erase_if(*sessions,
                          [&](const SessionView& session) { return session.uid != *owner.uid; });
        }
        if (sessions->empty()) break;
        for (const SessionView& session : *sessions) {
            const auto closed =
                service.ask(EndSession{session.id, std::string(reason), std::string(by)});
            const bool gone = !closed && (closed.error().code == ErrorCode::session_expired ||
                                          closed.error().code == ErrorCode::session_not_found);
            if (!closed && !gone) return closed.error();
            if (closed) ++ended;
        }
    }
    return ended;
}

}  // namespace rocklock
