#include "daemon/server/listeners.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "daemon/peer/tcp.hpp"
#include "daemon/support/http_listener.hpp"

namespace rocklock {
namespace {

// Creates the Unix socket. If another daemon listens there, retries for up to `patience`.
Result<SocketFile> make_socket(const ServerOptions& options, std::optional<gid_t> group) {
    using std::chrono::steady_clock;
    const auto deadline = steady_clock::now() + options.patience;
    while (true) {
        auto file = SocketFile::listen(options.socket_path, group);
        if (file || file.error().code != ErrorCode::store_in_use ||
            steady_clock::now() >= deadline) {
            return file;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
}

}  // namespace

Listeners Listeners::duplicate() const {
    Listeners copy;
    copy.original_file = watched_file();
    for (const auto& listener : all) copy.all.push_back(listener.duplicate());
    for (const auto& listener : peers) copy.peers.push_back(listener.duplicate());
    return copy;
}

void log_listeners(const Log& log, const Listeners& listeners) {
    for (const auto& listener : listeners.all) {
        log.write({LogLevel::info, "listening", "listening on " + listener.name(), {}});
    }
    for (const auto& listener : listeners.peers) {
        log.write({LogLevel::info, "listening", "listening for relays on " + listener.name(), {}});
    }
}

Result<Listeners> open_listeners(std::vector<Listener> passed, const ServerOptions& options,
                                 std::optional<gid_t> group) {
    // Check the addresses first, so that a wrong option is reported before any other problem.
    const auto reach = options.container ? HttpReach::other_hosts : HttpReach::this_host;
    for (const auto& address : options.http) {
        auto checked = check_http_address(address, reach);
        if (!checked) return std::move(checked).error();
    }
    Listeners listeners;
    const bool has_socket = std::any_of(passed.begin(), passed.end(),
                                        [](const Listener& listener) { return !listener.tcp(); });
    if (!has_socket) {
        auto file = make_socket(options, group);
        if (!file) return std::move(file).error();
        listeners.all.emplace_back(file->take_descriptor(), false, file->path());
        listeners.file.emplace(*std::move(file));
    }
    for (const bool tcp : {false, true}) {
        for (auto& listener : passed) {
            if (listener.tcp() == tcp) listeners.all.push_back(std::move(listener));
        }
    }
    for (const auto& address : options.http) {
        auto listener = listen_for_http(address, reach);
        if (!listener) return std::move(listener).error();
        listeners.all.push_back(*std::move(listener));
    }
    for (const auto& address : options.peer_listen) {
        auto parsed = parse_host_and_port("peer-listen", address);
        if (!parsed) return std::move(parsed).error();
        auto listener = listen_on_host("peer-listen", *parsed);
        if (!listener) return std::move(listener).error();
        listeners.peers.push_back(*std::move(listener));
    }
    return listeners;
}

}  // namespace rocklock
