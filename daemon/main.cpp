#include <cstdio>
#include <string>
#include <vector>

#include "daemon/exit_status.hpp"
#include "daemon/program.hpp"

int main(int argc, char** argv) {
    int status =
        rocklock::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    // What could not be printed was not done.
    if (std::fflush(stdout) != 0 && status == rocklock::exit_status::done) {
        std::perror("rocklock: standard output");
        status = rocklock::exit_status::internal;
    }
    return status;
}
