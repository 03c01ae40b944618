#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/serve/serve_options.hpp"
#include "daemon/cli/verbs.hpp"
#include "daemon/node/node.hpp"
#include "daemon/relay/relay.hpp"
#include "daemon/server/server.hpp"

namespace rocklock {
namespace {

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos || slash == 0 ? "" : path.substr(0, slash);
}

// Prints the settings and their origins for --print-config.
void print_settings(const ServeSettings& settings) {
    for (const auto& name : settings.order) {
        const Setting& setting = settings.texts.at(name);
        print(name + " = " + setting.value + "    # " + setting.source);
    }
}

// Keeps stderr until the daemon has started. With --log-file, a file replaces stderr before the
// store is opened, but the user who starts the daemon looks at the earlier one.
class EarlierStderr {
public:
    explicit EarlierStderr(bool needed)
        : fd_(needed ? ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1) {}
    EarlierStderr(const EarlierStderr&) = delete;
    EarlierStderr& operator=(const EarlierStderr&) = delete;
    ~EarlierStderr() { close(); }

    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    // Prints the error, unless stderr is still the same file.
    void print(const Error& error) const {
        struct stat earlier {};
        struct stat now {};
        if (fd_ < 0 || ::fstat(fd_, &earlier) != 0 || ::fstat(STDERR_FILENO, &now) != 0) return;
        if (earlier.st_dev == now.st_dev && earlier.st_ino == now.st_ino) return;
        const std::string line = "rocklock: " + printable(error.message) + "\n";
        std::ignore = ::write(fd_, line.data(), line.size());
    }

private:
    int fd_;
};

// The options of `serve` that a relay uses. `peer-listen` is refused with its own message.
constexpr std::array<std::string_view, 17> relay_options = {
    "relay",    "relay-timeout", "node",         "peer-cert",       "peer-key",     "peer-ca",
    "socket",   "http",          "admin-group",  "max-connections", "log-format",   "log-level",
    "log-file", "max-log-bytes", "print-config", "peer-listen",     "status-listen"};

// Returns an option on the command line that a relay does not use, or an empty text. In the
// configuration file, settings of a manager are permitted.
std::string option_without_effect(const Arguments& arguments) {
    for (const auto& [name, value] : arguments.options) {
        if (std::find(relay_options.begin(), relay_options.end(), name) == relay_options.end()) {
            return name;
        }
    }
    return "";
}

// A relay passes requests on without reading them. If it ignored these settings, its TCP port would
// be less protected than an administrator expects.
Result<void> check_relay(const ServerOptions& options) {
    if (options.relay.empty() || options.http.empty()) return {};
    if (options.http_secret_file.empty() && options.accept_hosts.empty()) return {};
    return Error(ErrorCode::invalid_argument,
                 "a relay does not check requests over TCP: remove http-secret-file and "
                 "accept-host, and set them for the manager, which checks the requests of all "
                 "relays as well");
}

}  // namespace

int serve_verb(const Arguments& arguments) {
    auto settings = read_serve_settings(arguments);
    if (!settings) return fail(settings.error());
    if (arguments.has("store") && (arguments.has("memory") || arguments.has("db"))) {
        return fail({ErrorCode::invalid_argument,
                     "--store keeps the store on etcd, and --db and --memory keep it on this "
                     "machine: give only one of them"});
    }
    if (arguments.has("memory") && arguments.has("db")) {
        return fail({ErrorCode::invalid_argument,
                     "--memory keeps the store in memory, and --db names its directory: give only "
                     "one of them"});
    }
    if (!settings->options.relay.empty()) {
        if (const auto unused = option_without_effect(arguments); !unused.empty()) {
            return fail({ErrorCode::invalid_argument,
                         "a relay has no store, and --" + unused +
                             " has no effect on it: give this option to the manager"});
        }
    }
    if (auto checked = check_relay(settings->options); !checked) return fail(checked.error());
    if (arguments.has("print-config")) {
        print_settings(*settings);
        return exit_status::done;
    }

    ServerOptions options = std::move(settings->options);
    options.reload = [&arguments, texts = std::move(settings->texts)]() mutable {
        return reload_serve_settings(arguments, texts);
    };
    if (const auto fd = arguments.get("ready-fd")) {
        std::from_chars(fd->data(), fd->data() + fd->size(), options.ready_fd);
        // If the daemon is started automatically, the previous one may still be shutting down.
        options.patience = std::chrono::seconds{20};
    }
    // Checked before any directory is created.
    if (auto checked = check_socket_path(options.socket_path); !checked) {
        return fail(checked.error());
    }
    const auto store_parent =
        is_etcd_url(options.store) ? std::string() : directory_of(options.store);
    for (const auto& directory : {directory_of(options.socket_path), store_parent}) {
        if (directory.empty()) continue;
        if (auto made = make_directories(directory); !made) return fail(made.error());
    }
    EarlierStderr earlier(!options.log_file.empty());
    options.on_started = [&earlier] { earlier.close(); };
    const auto run = is_etcd_url(options.store) ? serve_node
                     : options.relay.empty()    ? serve
                                                : serve_relay;
    const auto served = run(options);
    if (served) return exit_status::done;
    const Error error = about_store(served.error(), options.store);
    earlier.print(error);
    return fail(error);
}

}  // namespace rocklock
