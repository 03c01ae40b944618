#include "database/end_sessions.hpp"

#include <string>

#include "lock/model/names.hpp"

namespace rocklock {
namespace {

constexpr int max_rounds = 5;

}  // namespace

Result<std::uint64_t> end_all_sessions(LockService& service, std::string_view principal,
                                       std::string_view by, std::string_view reason) {
    if (auto wrong = check_name("the principal", principal)) return *std::move(wrong);
    if (reason.empty()) {
        return Error(ErrorCode::invalid_argument, "a forced change needs a reason");
    }
    std::uint64_t ended = 0;
    for (int round = 0; round < max_rounds; ++round) {
        const auto sessions = service.sessions(principal);
        if (!sessions) return sessions.error();
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
