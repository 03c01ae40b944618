#include "client/manager_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// The exit statuses of the program; see "Exit statuses" in docs/cli.md.
constexpr int usage_status = 64;
constexpr int unreachable_status = 69;
constexpr int not_allowed_status = 77;

// The time after which a stop request is noticed.
constexpr milliseconds max_poll{20};

// A pipe from the program. Closes both ends.
class Pipe {
public:
    Pipe() { opened_ = ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        for (const int end : ends_) {
            if (end >= 0) ::close(end);
        }
    }

    bool opened() const { return opened_; }
    int read_end() const { return ends_[0]; }
    int write_end() const { return ends_[1]; }
    void close_write_end() { ::close(std::exchange(ends_[1], -1)); }
    // Reads what is available. Returns false at the end of the output.
    bool read_some(std::string& text) const {
        std::array<char, 4096> buffer{};
        const auto size = ::read(ends_[0], buffer.data(), buffer.size());
        if (size < 0) return errno == EINTR;
        text.append(buffer.data(), static_cast<std::size_t>(size));
        return size > 0;
    }

private:
    std::array<int, 2> ends_{-1, -1};
    bool opened_ = false;
};

struct Output {
    std::string text;
    std::string errors;
    // None if the program was ended because of the timeout, or its status is unknown.
    std::optional<int> status;
    bool timed_out = false;
};

// Returns the exit status of the program, or none if another function of this process has already
// received it, or the program was ended by a signal.
std::optional<int> wait_for(pid_t child) {
    int status = 0;
    pid_t ended = 0;
    do {
        ended = ::waitpid(child, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended != child || !WIFEXITED(status)) return std::nullopt;
    return WEXITSTATUS(status);
}

// Reads both outputs until they end.
void read_output(const Pipe& out, const Pipe& errors, Steady::time_point deadline,
                 const std::stop_token& stop, Output& output) {
    std::array<pollfd, 2> sources{pollfd{out.read_end(), POLLIN, 0},
                                  pollfd{errors.read_end(), POLLIN, 0}};
    while (sources[0].fd >= 0 || sources[1].fd >= 0) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now()).count();
        output.timed_out = left <= 0 || stop.stop_requested();
        if (output.timed_out) return;
        const auto wait = static_cast<int>(std::min<std::int64_t>(left, max_poll.count()));
        if (::poll(sources.data(), sources.size(), wait) < 0 && errno != EINTR) return;
        if (sources[0].revents != 0 && !out.read_some(output.text)) sources[0].fd = -1;
        if (sources[1].revents != 0 && !errors.read_some(output.errors)) sources[1].fd = -1;
        sources[0].revents = sources[1].revents = 0;
    }
}

Result<Output> run(const std::string& program, std::vector<std::string> words,
                   const FindManager& limits) {
    Pipe out;
    Pipe errors;
    if (!out.opened() || !errors.opened()) {
        return Error(ErrorCode::unreachable,
                     std::string("cannot run ") + program + ": " + std::strerror(errno));
    }
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files{};
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, out.write_end(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, errors.write_end(), STDERR_FILENO);
    pid_t child = 0;
    const int failed =
        ::posix_spawnp(&child, program.c_str(), &files, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) {
        return Error(ErrorCode::unreachable,
                     "cannot run the program '" + program + "': " + std::strerror(failed) +
                         "; install it, or set ConnectOptions::program to its path");
    }
    out.close_write_end();
    errors.close_write_end();
    Output output;
    read_output(out, errors, Steady::now() + limits.timeout, limits.stop, output);
    if (output.timed_out) ::kill(child, SIGKILL);
    output.status = wait_for(child);
    return output;
}

// Returns the manager in the program's answer.
std::optional<FoundManager> manager_in(const std::string& text) {
    boost::json::error_code error;
    const auto json = boost::json::parse(text, error);
    const auto* object = error ? nullptr : json.if_object();
    const auto* socket = object == nullptr ? nullptr : object->if_contains("Socket");
    const auto* kind = object == nullptr ? nullptr : object->if_contains("Manager");
    if (socket == nullptr || !socket->is_string() || kind == nullptr) return std::nullopt;
    return FoundManager{std::string(socket->get_string()), *kind == "private"};
}

// Returns the text that the program has written, without its name at the beginning.
std::string message_in(const Output& output) {
    constexpr std::string_view name = "rocklock: ";
    std::string text = output.errors;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.starts_with(name)) text.erase(0, name.size());
    return text;
}

ErrorCode code_of(int status) {
    if (status == not_allowed_status) return ErrorCode::access_denied;
    return status == usage_status ? ErrorCode::invalid_argument : ErrorCode::unreachable;
}

}  // namespace

Result<FoundManager> find_manager(const FindManager& request) {
    std::vector<std::string> words = {request.program, "status", "--json"};
    if (request.start) words.emplace_back("--start");
    const auto output = run(request.program, std::move(words), request);
    if (!output) return Error(output.error());
    if (output->timed_out) {
        return Error(ErrorCode::unreachable, "the program '" + request.program +
                                                 "' has not named the lock manager in time");
    }
    const auto manager = manager_in(output->text);
    const int status = output->status.value_or(manager ? 0 : unreachable_status);
    const bool found = status == 0 || (!request.start && status == unreachable_status);
    if (manager && found) {
        if (status == 0) std::cerr << output->errors;
        return *manager;
    }
    const auto message = message_in(*output);
    return Error(code_of(status), !message.empty()
                                      ? message
                                      : "the program '" + request.program +
                                            "' has not named a lock manager: is it rocklock?");
}

}  // namespace rocklock
