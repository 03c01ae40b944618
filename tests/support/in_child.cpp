#include "support/in_child.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock::testing {
namespace {

using std::chrono::steady_clock;

// Returns whether every other thread of the process sleeps. A running thread could hold a lock, and
// the child would get a copy of it that is never released. This has been observed: a thread of
// RocksDB was allocating memory, so the address sanitizer's allocator stayed locked in the child.
bool others_wait() {
    namespace fs = std::filesystem;
    const std::string own = std::to_string(gettid());
    std::error_code ended;
    for (const auto& task : fs::directory_iterator("/proc/self/task", ended)) {
        if (task.path().filename() == own) continue;
        std::ifstream file(task.path() / "stat");
        const std::string stat{std::istreambuf_iterator<char>(file), {}};
        // The state follows the name in parentheses, which can contain any character.
        const auto state = stat.rfind(") ");
        if (state != std::string::npos && stat[state + 2] != 'S') return false;
    }
    return !ended;
}

void await_others() {
    const auto give_up = steady_clock::now() + std::chrono::seconds{5};
    while (!others_wait() && steady_clock::now() < give_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

}  // namespace

int in_new_process(const std::function<int()>& body) {
    constexpr const char* marker = "ROCKLOCK_TEST_NEW_PROCESS";
    if (std::getenv(marker) != nullptr) return body();
    std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::string test = "--run_test=" + boost::unit_test::framework::current_test_case().full_name();
    std::string variable = std::string(marker) + "=1";
    std::vector<char*> variables{variable.data()};
    for (char** each = environ; *each != nullptr; ++each) variables.push_back(*each);
    variables.push_back(nullptr);
    char* const arguments[] = {program.data(), test.data(), nullptr};
    pid_t process = 0;
    if (posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, variables.data()) !=
        0) {
        return -1;
    }
    int status = 0;
    if (waitpid(process, &status, 0) != process || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

pid_t start_child(const std::function<int()>& body) {
    await_others();
    const pid_t child = fork();
    if (child != 0) return child;
    // An exception must not leave this block, since the child would then run the remaining tests.
    try {
        _exit(body());
    } catch (const std::exception& error) {
        std::cerr << "in a child: " << error.what() << std::endl;
    } catch (...) {
        std::cerr << "in a child: something else than an exception" << std::endl;
    }
    _exit(97);
}

int in_child(const std::function<int()>& body) {
    const pid_t child = start_child(body);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace rocklock::testing
