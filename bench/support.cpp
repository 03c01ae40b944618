#include "support.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

namespace rocklock::bench {

void give_up(const std::string& what, const std::string& why) {
    std::cerr << "bench: " << what << ": " << why << std::endl;
    std::_Exit(1);
}

Folder::Folder(const std::string& under) : path_(under + "/rocklock-bench-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) give_up("make a folder under " + under, "it failed");
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0;
    std::size_t resident = 0;
    file >> total >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace rocklock::bench
