#include "daemon/server/daemon_setup.hpp"

#include <sys/stat.h>

#include <csignal>
#include <utility>

#include "daemon/support/admin_group.hpp"
#include "daemon/support/log_file.hpp"

namespace rocklock {
void prepare_process() {
    for (const int signal : {SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
    ::umask(077);
}

Result<std::unique_ptr<Log>> open_log(const ServerOptions& options) {
    std::unique_ptr<LogFile> file;
    if (!options.log_file.empty()) {
        auto opened = LogFile::open(options.log_file, options.max_log_bytes);
        if (!opened) return std::move(opened).error();
        file = *std::move(opened);
    }
    return std::make_unique<Log>(options.log_format, options.live.log_level, std::move(file));
}

Result<std::optional<gid_t>> admin_group_of(const ServerOptions& options) {
    if (options.admin_group.empty()) return std::optional<gid_t>();
    auto found = find_group(options.admin_group);
    if (!found) return std::move(found).error();
    return std::optional<gid_t>(*found);
}

Error lost_socket_file(const SocketFile& file) {
    return {ErrorCode::io_error,
            "the socket file " + file.path() +
                " was removed or replaced, so that clients cannot find this daemon; start the "
                "daemon again, and do not remove or replace the file"};
}

}  // namespace rocklock
