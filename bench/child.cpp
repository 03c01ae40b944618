#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "support.hpp"

namespace rocklock::bench {
namespace {

constexpr std::string_view child_mark = "--child";

}  // namespace

bool is_child(int argc, char** argv) { return argc >= 4 && argv[1] == child_mark; }

void send_to_parent(const std::vector<double>& numbers) {
    for (const double number : numbers) std::cout << number << ' ';
    std::cout << std::endl;
}

ChildProcess::ChildProcess(std::vector<std::string> arguments) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up("make a pipe", "it failed");
    arguments.insert(arguments.begin(), {"bench", std::string(child_mark)});
    pid_ = ::fork();
    if (pid_ < 0) give_up("fork", "it failed");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(ends[1], STDOUT_FILENO);
        std::vector<char*> words;
        for (std::string& argument : arguments) words.push_back(argument.data());
        words.push_back(nullptr);
        ::execv("/proc/self/exe", words.data());
        std::_Exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
}

ChildProcess::~ChildProcess() {
    if (output_ >= 0) ::close(output_);
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    wait();
}

std::vector<double> ChildProcess::read_numbers() {
    std::FILE* const said = ::fdopen(std::exchange(output_, -1), "r");
    char line[256] = "";
    std::vector<double> numbers;
    if (std::fgets(line, sizeof line, said) != nullptr) {
        std::istringstream text(line);
        for (double number = 0; text >> number;) numbers.push_back(number);
    }
    std::fclose(said);
    return numbers;
}

void ChildProcess::pause() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) {
        give_up("pause a child process", "it has ended");
    }
}

void ChildProcess::resume() const { ::kill(pid_, SIGCONT); }

int ChildProcess::wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
}

std::vector<double> run_child_process(std::vector<std::string> arguments, bool killed) {
    const std::string what = arguments.front();
    ChildProcess child(std::move(arguments));
    auto numbers = child.read_numbers();
    const int status = child.wait();
    const bool well = killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (numbers.empty() || !well) give_up("run " + what, "it failed");
    return numbers;
}

}  // namespace rocklock::bench
