// What the benchmarks of an embedded store have in common.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <rocklock/result.hpp>

namespace rocklock::bench {

// Says what failed, and ends the program.
[[noreturn]] void give_up(const std::string& what, const std::string& why);

template <typename T>
T must(Result<T> result, const char* what) {
    if (!result) give_up(what, result.error().message);
    return *std::move(result);
}
inline void must(const Result<void>& result, const char* what) {
    if (!result) give_up(what, result.error().message);
}

// A folder of its own, removed with all that is in it.
class Folder {
public:
    explicit Folder(const std::string& under);
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Of this process.
std::size_t resident_bytes();

}  // namespace rocklock::bench
