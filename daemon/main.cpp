#include <string>
#include <vector>

#include "daemon/program.hpp"

int main(int argc, char** argv) {
    return rocklock::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
