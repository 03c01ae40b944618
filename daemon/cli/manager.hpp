// Whom the command line asks for locks: a daemon, or a store that it opens itself.
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
#include "wire/call.hpp"

namespace rocklock {

// Threads: thread-safe.
class Manager {
public:
    Manager() = default;
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;
    virtual ~Manager() = default;

    // Calls, and calls again for as long as it makes sense: a daemon that has gone away is awaited
    // or started. So a call must be safe to repeat, an Acquire by its request id.
    virtual Result<Reply> call(Call call, const CallLimits& limits) = 0;

    // The socket to talk to; empty for a store of its own.
    virtual std::string socket() const = 0;

    // call(), with the reply of that verb.
    template <typename T>
    Result<T> ask(Call request, const CallLimits& limits = {}) {
        auto reply = call(std::move(request), limits);
        if (!reply) return std::move(reply).error();
        if (auto* value = std::get_if<T>(&*reply)) return std::move(*value);
        return Error(ErrorCode::io_error, "the daemon answered another question");
    }
};

// How a grant had ended that was to be released.
Ending ending_in(const Released& released);

// How a grant ended whose session is no more: asked for by releasing it, which changes nothing any
// more. Nothing when it has not ended, or nobody remembers.
std::optional<Ending> find_ending(Manager& manager, const SessionCredentials& credentials,
                                  GrantId grant, const CallLimits& limits = {});

struct DaemonManagerOptions {
    std::string socket;
    // Starts a daemon for this user where none listens.
    bool may_start = false;
    // What a daemon that was started by itself waits for before it leaves again.
    std::chrono::milliseconds idle_exit{0};
};
std::unique_ptr<Manager> make_daemon_manager(DaemonManagerOptions options);

// Opens the store; one that another process has open is awaited for `patience`.
//
// Errors: as Database::open; invalid_argument when there is no such store and none may be made.
Result<std::unique_ptr<Manager>> make_embedded_manager(const std::string& directory,
                                                       std::chrono::milliseconds patience,
                                                       bool may_create);

}  // namespace rocklock
