// The lock service of a daemon, as a program sees it that has connected to one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/lock_proof.hpp>

namespace rocklock {

struct RemoteOptions {
    // How long a daemon that has gone away, or that does not answer, is waited for. A renewal, a
    // release and a closing of a session wait less long, and are still sent when it comes back.
    std::chrono::milliseconds patience{10'000};
    // Looks by itself after sessions whose lease has run out; off: within tick().
    bool background = true;
};

// Threads:  thread-safe. Completions and notices run on its reader thread, one at a time; within
//           submit() or close() where it is closed. A completion may call it and wait; a notice may
//           not.
// Lifetime: borrows the clock.
// Errors:   besides those of the requests: unreachable, when nothing was sent; indeterminate, when
//           nobody can say whether it happened; store_in_use in a child of the process.
class RemoteService : public LockService {
public:
    // A daemon that has too many connections is tried again while `patience` lasts. Errors:
    // unreachable, invalid_argument (the path).
    static Result<std::unique_ptr<RemoteService>> connect(const std::string& path, Clock& clock,
                                                          const RemoteOptions& options = {});

    // Set before the first request.
    virtual void on_lost(std::function<void(const LostNotice&)> notify) = 0;
    virtual void on_wanted(std::function<void(const WantedNotice&)> notify) = 0;

    // Looks after sessions whose lease has run out, and says when to come again.
    virtual std::optional<BootTime> tick() = 0;

    // A copy of the daemon's store in `directory`, which a relative path means from here. It is
    // waited for as long as the connection stands. Errors: besides those of Database::backup(),
    // access_denied, and store_in_use with another one under way.
    virtual Result<void> back_up(const std::string& directory) = 0;

    // RenewSession for each of these: all are asked for before the first answer is waited for. The
    // answers, in their order.
    virtual std::vector<Result<SessionInfo>> renew(const std::vector<SessionId>& sessions) = 0;

    // As the methods of Database.
    virtual Result<TableBinding> bind_table(const TableBinding& binding) = 0;
    virtual Result<TableBinding> unbind_table(const std::string& table) = 0;
    virtual Result<std::vector<TableBinding>> bindings() = 0;

    // What is asked from now on, and what is under way, waits for no daemon that is away.
    virtual void begin_closing() = 0;
    // Answers what is under way with `closing`, and ends. Sessions keep their leases.
    virtual Result<void> close() = 0;
};

}  // namespace rocklock
