#include "child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>

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

std::vector<double> run_child_process(std::vector<std::string> arguments, bool killed) {
    int ends[2];
    if (::pipe(ends) != 0) give_up("make a pipe", "it failed");
    arguments.insert(arguments.begin(), {"bench", std::string(child_mark)});
    const pid_t child = ::fork();
    if (child < 0) give_up("fork", "it failed");
    if (child == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        std::vector<char*> words;
        for (std::string& argument : arguments) words.push_back(argument.data());
        words.push_back(nullptr);
        ::execv("/proc/self/exe", words.data());
        std::_Exit(127);
    }
    ::close(ends[1]);
    std::FILE* const said = ::fdopen(ends[0], "r");
    char line[256] = "";
    const bool spoke = std::fgets(line, sizeof line, said) != nullptr;
    std::fclose(said);
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool well = killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!spoke || !well) give_up("run " + arguments[2], "it failed");
    std::istringstream text(line);
    std::vector<double> numbers;
    for (double number = 0; text >> number;) numbers.push_back(number);
    return numbers;
}

}  // namespace rocklock::bench
