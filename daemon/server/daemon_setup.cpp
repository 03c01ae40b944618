#include "daemon/server/daemon_setup.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <string>
#include <utility>

#include "daemon/support/admin_group.hpp"
#include "daemon/support/log_file.hpp"

namespace rocklock {
namespace {

constexpr std::size_t min_secret = 16;
// Also limits what is read from a file that was named by mistake.
constexpr std::size_t max_secret = 512;

Error invalid_secret(const std::string& path, const std::string& problem) {
    return {ErrorCode::invalid_argument,
            "http-secret-file: the secret in " + path + " " + problem +
                "; write one line of 16 to 512 letters, digits and other printable ASCII "
                "characters without spaces, as `openssl rand -hex 32` prints"};
}

Result<std::string> read_secret(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    char byte = 0;
    while (text.size() <= max_secret + 2 && file.get(byte)) text += byte;
    if (!file.is_open() || file.bad()) {
        return Error(ErrorCode::invalid_argument,
                     "http-secret-file: the file " + path + " cannot be read");
    }
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    if (text.size() < min_secret) return invalid_secret(path, "is too short");
    if (text.size() > max_secret) return invalid_secret(path, "is too long");
    const auto is_allowed = [](char letter) { return letter > ' ' && letter <= '~'; };
    if (!std::all_of(text.begin(), text.end(), is_allowed)) {
        return invalid_secret(path, "contains a character that is not allowed");
    }
    return text;
}

}  // namespace

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

Result<HttpAccess> http_access_of(const ServerOptions& options) {
    HttpAccess access;
    access.from_other_hosts = options.container;
    for (std::string name : options.accept_hosts) {
        std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
            return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
        access.hosts.push_back(std::move(name));
    }
    if (options.http_secret_file.empty()) return access;
    auto secret = read_secret(options.http_secret_file);
    if (!secret) return std::move(secret).error();
    access.secret = *std::move(secret);
    return access;
}

Error lost_socket_file(const SocketFile& file) {
    return {ErrorCode::io_error,
            "the socket file " + file.path() +
                " was removed or replaced, so that clients cannot find this daemon; start the "
                "daemon again, and do not remove or replace the file"};
}

}  // namespace rocklock
