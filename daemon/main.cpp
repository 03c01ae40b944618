#include <string>
#include <vector>

#include "daemon/cli/program.hpp"
#include "daemon/support/descriptors.hpp"

int main(int argc, char** argv) {
    rocklock::keep_standard_descriptors();
    return rocklock::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
