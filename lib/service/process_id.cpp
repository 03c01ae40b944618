#include "service/process_id.hpp"

#include <pwd.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/read_file.hpp"

namespace rocklock {
namespace {

// The maximum size of /proc/<pid>/stat: a name, and 52 numbers.
constexpr std::size_t max_status = 2048;

struct Status {
    char state = '?';
    std::uint64_t start_time = 0;
};

// Reads the fields 3 and 22 of /proc/<pid>/stat. The process name before them may contain any
// characters, so the fields are counted from the last parenthesis.
std::optional<Status> read_status(pid_t pid) {
    if (pid <= 0) return std::nullopt;
    const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", max_status);
    if (!text) return std::nullopt;
    const auto name_end = text->rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::string_view rest = std::string_view(*text).substr(name_end + 1);
    Status status;
    for (int field = 3; field <= 22; ++field) {
        const auto start = rest.find_first_not_of(' ');
        if (start == std::string_view::npos) return std::nullopt;
        rest.remove_prefix(start);
        const auto word = rest.substr(0, rest.find(' '));
        if (field == 3) status.state = word.front();
        if (field == 22) {
            const auto parsed =
                std::from_chars(word.data(), word.data() + word.size(), status.start_time);
            if (parsed.ec != std::errc()) return std::nullopt;
        }
        rest.remove_prefix(word.size());
    }
    return status;
}

}  // namespace

std::optional<ProcessId> find_process(pid_t pid) {
    const auto status = read_status(pid);
    if (!status) return std::nullopt;
    return ProcessId{pid, status->start_time};
}

bool is_running(const ProcessId& process) {
    errno = 0;
    const auto status = read_status(process.pid);
    // Without a free descriptor the state is unknown. The process counts as running, so that no
    // session is ended by mistake.
    if (!status && (errno == EMFILE || errno == ENFILE)) return true;
    return status && status->start_time == process.start_time && status->state != 'Z' &&
           status->state != 'X';
}

std::optional<uid_t> owner_of(pid_t pid) {
    struct stat facts {};
    if (::stat(("/proc/" + std::to_string(pid)).c_str(), &facts) != 0) return std::nullopt;
    return facts.st_uid;
}

std::optional<std::string> find_user_name(uid_t uid) {
    std::array<char, 4096> memory{};
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(uid, &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr) {
        return found->pw_name;
    }
    return std::nullopt;
}

std::string user_name_without_entry(uid_t uid) { return "uid " + std::to_string(uid); }

std::string user_name(uid_t uid) {
    return find_user_name(uid).value_or(user_name_without_entry(uid));
}

}  // namespace rocklock
