// The lock service of a daemon, as seen by a connected program.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/items/drafts.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/lock_proof.hpp>

namespace rocklock {

struct RemoteOptions {
    // The maximum time to wait for a reply and, if the connection is lost, for a new connection.
    // Callers wait for a shorter time for renewals, releases and closings of sessions. If the
    // connection is lost, a CloseSession is sent or repeated after the reconnect, even if its
    // caller no longer waits. The same applies to a Release of a grant that this client knows and
    // that has no count (Held::count).
    std::chrono::milliseconds patience{10'000};
    // Whether a thread of the service checks sessions with expired leases. If false, the caller
    // must call tick(), which checks them.
    bool background = true;
    // Starts the daemon again. Called on a separate thread if no process listens on the socket
    // while calls or sessions wait for a connection. Must return soon after a stop is requested. If
    // empty, this client never starts the daemon.
    std::function<void(const std::stop_token& stop)> restart{};
};

// Threads:  thread-safe. Completions and the callbacks of on_lost() and on_wanted() run on the
//           reader thread. In three cases, a completion runs elsewhere: within submit() if the call
//           is rejected, within cancel() if there is no connection, and within close() if the call
//           is pending. A completion may call the service and wait; a callback of on_lost() or
//           on_wanted() must not.
// Lifetime: borrows the clock.
// Errors:   in addition to those of the requests: unreachable if the request was not sent;
//           indeterminate if it is unknown whether the request was executed; store_in_use in a
//           child of the process.
class RemoteService : public LockService {
public:
    // Connects to the daemon. If the daemon's connection limit is reached, tries again until
    // `patience` has passed. Errors: unreachable, for example because the path is too long for a
    // socket; invalid_argument if `clock` is system_clock() and the time namespace of this process
    // is not that of the daemon.
    static Result<std::unique_ptr<RemoteService>> connect(const std::string& path, Clock& clock,
                                                          const RemoteOptions& options = {});

    // These functions set the callbacks. They must be called before the first request.
    virtual void on_lost(std::function<void(const LostNotice&)> notify) = 0;
    virtual void on_wanted(std::function<void(const WantedNotice&)> notify) = 0;
    virtual void on_answered(std::function<void(const AnsweredNotice&)> notify) = 0;

    // Checks the sessions with expired leases. Returns the time of the next check, or none.
    virtual std::optional<BootTime> tick() = 0;

    // Copies the daemon's store to `directory`; a relative path is relative to the working
    // directory of this process. Waits without a time limit, and fails if the connection is lost.
    // Errors: those of Database::backup(), access_denied, and store_in_use while another backup
    // runs.
    virtual Result<void> back_up(const std::string& directory) = 0;

    // Sends a RenewSession for each session. Calls `done` once for each session, with its index in
    // `sessions`.
    using Renewed = std::function<void(std::size_t index, Result<SessionInfo> renewed)>;
    virtual void submit_renewals(const std::vector<SessionId>& sessions, Renewed done) = 0;
    // As submit_renewals(), but waits for the replies, and returns them in the order of `sessions`.
    virtual std::vector<Result<SessionInfo>> renew(const std::vector<SessionId>& sessions) = 0;

    // These functions do the same as the functions of Database with the same names.
    virtual Result<TableBinding> bind_table(const TableBinding& binding) = 0;
    virtual Result<TableBinding> unbind_table(const std::string& table) = 0;
    virtual Result<std::vector<TableBinding>> bindings() = 0;

    // These functions do the same as the functions of TableService with the same names. If this
    // object has the secret of a session of the principal, the request contains the secret as a
    // proof. If it has none, only an administrator may call these functions.
    virtual Result<DraftPage> list_drafts(const DraftsRequest& request) = 0;
    virtual Result<Draft> take_draft(const std::string& principal, DraftId draft) = 0;
    virtual Result<void> discard_draft(const std::string& principal, DraftId draft) = 0;

    // Returns the secret of a session that was opened or resumed through this object, or none.
    virtual std::optional<Secret> secret_of(const SessionId& session) = 0;
    // A grant that a save is about to release; see expect_release().
    struct ExpectedRelease {
        GrantId grant{};
        // Whether the session has acquired the grant several times (Held::count), so that one
        // release does not end it.
        bool counted = false;
    };
    // Records that a save is about to release the grants of the proof, so that their end is not
    // reported as a loss. Returns the grants for which this was not already recorded. After the
    // save, the caller must pass these grants to end_expectation().
    virtual std::vector<ExpectedRelease> expect_release(const LockProof& proof) = 0;
    virtual void end_expectation(const SessionId& session,
                                 const std::vector<ExpectedRelease>& expected) = 0;
    // Records that a request on another connection needs the daemon until the time `until`. Until
    // then, the daemon is started again if it is not running and RemoteOptions::restart is set.
    virtual void need_daemon(std::chrono::steady_clock::time_point until) = 0;
    // Waits until the daemon has decided all releases and closings of sessions that were sent
    // before the call, but for at most `patience`. Returns immediately if there are none.
    virtual void flush_endings() = 0;
    // Removes a grant from the state that this client keeps. Must be called after a save has
    // released the grant.
    virtual void forget_grant(const SessionId& session, GrantId grant) = 0;

    // Begins the closing. From now on, a new call fails if there is no connection, a pending call
    // fails when its connection is lost, and no call takes longer than 100 ms.
    virtual void begin_closing() = 0;
    // Waits until the daemon has decided all releases that were sent before the call, but for at
    // most 100 ms. Then completes pending calls with `closing` and stops the reader thread.
    // Sessions and their leases continue.
    virtual Result<void> close() = 0;
};

}  // namespace rocklock
