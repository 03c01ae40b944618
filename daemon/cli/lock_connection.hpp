// The lock manager that the command line uses: a daemon, or a store that the process opens itself.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>
#include <rocklock/session.hpp>

#include "client/lock_client.hpp"
#include "daemon/cli/manager_choice.hpp"
#include "wire/call.hpp"

namespace rocklock {

// Threads: thread-safe.
class LockConnection {
public:
    LockConnection() = default;
    LockConnection(const LockConnection&) = delete;
    LockConnection& operator=(const LockConnection&) = delete;
    virtual ~LockConnection() = default;

    // Makes a call and returns its reply.
    //
    // If the daemon has stopped, waits until the daemon runs again, or starts it. Then the call is
    // repeated. Therefore, a call must be safe to repeat. An Acquire is safe to repeat if it has a
    // request id.
    virtual Result<Reply> call(Call call, const CallLimits& limits) = 0;

    // Returns the path of the daemon's socket, or an empty string for an embedded store.
    virtual std::string socket() const = 0;

    // Returns a new connection to the same daemon, for a child process that was forked, or null for
    // an embedded store.
    virtual std::unique_ptr<LockConnection> reconnected() const = 0;

    // Returns the lock manager of an embedded store, or null for a daemon.
    virtual LockService* service() = 0;

    // As call(), but returns the reply as a T. Returns io_error if the reply has another type.
    template <typename T>
    Result<T> ask(Call request, const CallLimits& limits = {}) {
        auto reply = call(std::move(request), limits);
        if (!reply) return std::move(reply).error();
        if (auto* value = std::get_if<T>(&*reply)) return std::move(*value);
        return Error(ErrorCode::io_error, "the daemon sent a reply of the wrong type");
    }
};

// `released` is the reply to a Release of a grant that had already ended. Returns how the grant had
// ended.
Ending ending_in(const Released& released);

// Returns how a grant of an ended session has ended, or nullopt if it has not ended or is no longer
// recorded. Sends a Release, which has no effect if the grant has ended.
std::optional<Ending> find_ending(LockConnection& manager, const SessionCredentials& credentials,
                                  GrantId grant, const CallLimits& limits = {});

struct DaemonManagerOptions {
    ManagerChoice choice;
    // Starts the private daemon of this user if no process listens on its socket.
    bool may_start = false;
    // If true, does not print that a private daemon was started.
    bool quiet = false;
    // A daemon that this object has started exits after it has had neither sessions nor requests
    // for this time.
    std::chrono::milliseconds idle_exit{0};
};
std::unique_ptr<LockConnection> make_daemon_manager(DaemonManagerOptions options);

// Opens the store. If another process has the store open, retries for up to `patience`.
//
// Errors: as Database::open; invalid_argument if the store does not exist and `may_create` is false
Result<std::unique_ptr<LockConnection>> make_embedded_manager(const std::string& directory,
                                                              std::chrono::milliseconds patience,
                                                              bool may_create);

}  // namespace rocklock
