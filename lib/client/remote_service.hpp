// The lock service of a daemon, as seen by a connected program.
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
    // The maximum time to wait for a reply, and for a new connection if the connection is lost. For
    // renewals, releases and closings of sessions, callers wait for a shorter time. A CloseSession,
    // and a Release of a known grant with the count 0, are still sent after a reconnect.
    std::chrono::milliseconds patience{10'000};
    // Whether the service checks sessions with an expired lease itself. If false, tick() does it.
    bool background = true;
};

// Threads:  thread-safe. Completions and the callbacks of on_lost() and on_wanted() run on the
//           reader thread. A completion runs within submit() if the call is rejected, within
//           cancel() if there is no connection, and within close(). A completion may call the
//           service and wait; a callback of on_lost() or on_wanted() must not.
// Lifetime: borrows the clock.
// Errors:   in addition to those of the requests: unreachable if the request was not sent;
//           indeterminate if it is unknown whether the request was executed; store_in_use in a
//           child of the process.
class RemoteService : public LockService {
public:
    // Connects to the daemon. If its connection limit is reached, retries until `patience` has
    // passed. Errors: unreachable, also if the path is too long for a socket; invalid_argument if
    // this process is in another time namespace than the daemon, and `clock` is system_clock().
    static Result<std::unique_ptr<RemoteService>> connect(const std::string& path, Clock& clock,
                                                          const RemoteOptions& options = {});

    // Set the callbacks before the first request.
    virtual void on_lost(std::function<void(const LostNotice&)> notify) = 0;
    virtual void on_wanted(std::function<void(const WantedNotice&)> notify) = 0;
    virtual void on_answered(std::function<void(const AnsweredNotice&)> notify) = 0;

    // Checks sessions with an expired lease. Returns the time of the next check, or none.
    virtual std::optional<BootTime> tick() = 0;

    // Copies the daemon's store to `directory`; a relative path is relative to the directory of
    // this process. Waits as long as the connection lasts. Errors: those of Database::backup(),
    // access_denied, and store_in_use while another backup runs.
    virtual Result<void> back_up(const std::string& directory) = 0;

    // Sends a RenewSession for each session. Calls `done` once for each, with its index.
    using Renewed = std::function<void(std::size_t index, Result<SessionInfo> renewed)>;
    virtual void submit_renewals(const std::vector<SessionId>& sessions, Renewed done) = 0;
    // As submit_renewals(), but waits for the replies. Returns them in the same order.
    virtual std::vector<Result<SessionInfo>> renew(const std::vector<SessionId>& sessions) = 0;

    // These functions do the same as the functions of Database with the same names.
    virtual Result<TableBinding> bind_table(const TableBinding& binding) = 0;
    virtual Result<TableBinding> unbind_table(const std::string& table) = 0;
    virtual Result<std::vector<TableBinding>> bindings() = 0;

    // From now on, a new call fails if there is no connection, a pending call fails when its
    // connection is lost, and no call takes longer than 100 ms.
    virtual void begin_closing() = 0;
    // Waits until the daemon has decided the releases that were sent, for at most 100 ms. Then
    // completes pending calls with `closing` and stops the reader. Sessions keep their leases.
    virtual Result<void> close() = 0;
};

}  // namespace rocklock
