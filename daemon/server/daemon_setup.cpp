#include "daemon/server/daemon_setup.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <utility>

#include "daemon/api/traffic.hpp"
#include "daemon/support/admin_group.hpp"
#include "daemon/support/descriptors.hpp"
#include "daemon/support/log_file.hpp"

namespace rocklock {
namespace {

Result<std::unique_ptr<Log>> open_log(const ServerOptions& options) {
    std::unique_ptr<LogFile> file;
    if (!options.log_file.empty()) {
        auto opened = LogFile::open(options.log_file, options.max_log_bytes);
        if (!opened) return std::move(opened).error();
        file = *std::move(opened);
    }
    return std::make_unique<Log>(options.log_format, options.live.log_level, std::move(file));
}

// The first `unshared_descriptors` of the available descriptors are kept for connections without
// shared memory. One connection with shared memory is allowed for every
// `descriptors_per_shared_connection` of the other descriptors.
constexpr int unshared_descriptors = 512;
constexpr int descriptors_per_shared_connection = 8;

// Returns true if the kernel ends a process for which no memory is left, when the process uses a
// new page of shared memory (vm.overcommit_memory = 2).
bool memory_can_run_out() {
    std::ifstream setting("/proc/sys/vm/overcommit_memory");
    int value = 0;
    return setting >> value && value == 2;
}

void limit_connections(const ServerOptions& options, int descriptors, DaemonSetup& setup) {
    if (options.shared_memory && options.relay.empty() && !memory_can_run_out()) {
        const int beyond = std::max(descriptors - unshared_descriptors, 0);
        setup.max_shared_connections =
            std::min(options.max_connections, beyond / descriptors_per_shared_connection);
    }
    setup.max_connections = std::min(
        options.max_connections,
        descriptors - SharedConnections::descriptors_per_connection * setup.max_shared_connections);
}

}  // namespace

void prepare_process() {
    for (const int signal : {SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
    ::umask(077);
}

Result<DaemonSetup> set_up_daemon(const ServerOptions& options) {
    DaemonSetup setup;
    auto log = open_log(options);
    if (!log) return std::move(log).error();
    setup.log = *std::move(log);
    if (!options.admin_group.empty()) {
        auto group = find_group(options.admin_group);
        if (!group) return std::move(group).error();
        setup.admin_group = *group;
    }
    auto passed = setup.manager.take_sockets();
    if (!passed) return std::move(passed).error();
    auto listeners = open_listeners(*std::move(passed), options, setup.admin_group);
    if (!listeners) return std::move(listeners).error();
    setup.listeners.emplace(*std::move(listeners));
    const auto descriptors = raise_descriptor_limit();
    if (!descriptors) return descriptors.error();
    limit_connections(options, *descriptors, setup);
    return setup;
}

Error lost_socket_file(const SocketFile& file) {
    return {ErrorCode::io_error,
            "the socket file " + file.path() +
                " was removed or replaced, so that clients cannot find this daemon; start the "
                "daemon again, and do not remove or replace the file"};
}

}  // namespace rocklock
