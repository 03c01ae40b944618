#include "support/in_child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

namespace rocklock::testing {
namespace {

using std::chrono::steady_clock;

// Whether each thread but this one waits for something. Others may hold locks, of which a child has
// copies that nobody ever frees: a thread that RocksDB began was seen to allocate just then, and
// the address sanitizer's allocator was locked in the child for ever.
bool others_wait() {
    namespace fs = std::filesystem;
    const std::string own = std::to_string(gettid());
    std::error_code ended;
    for (const auto& task : fs::directory_iterator("/proc/self/task", ended)) {
        if (task.path().filename() == own) continue;
        std::ifstream file(task.path() / "stat");
        const std::string stat{std::istreambuf_iterator<char>(file), {}};
        // Behind the name in brackets, which may have anything in it.
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

pid_t start_child(const std::function<int()>& body) {
    await_others();
    const pid_t child = fork();
    if (child != 0) return child;
    // Nothing may go beyond this: the child would run the rest of the tests besides.
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
