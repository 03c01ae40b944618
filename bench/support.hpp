// Common functions for benchmarks that use embedded stores.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <rocklock/result.hpp>

namespace rocklock::bench {

// Prints a message and ends the program.
[[noreturn]] void give_up(const std::string& what, const std::string& why);

template <typename T>
T must(Result<T> result, const char* what) {
    if (!result) give_up(what, result.error().message);
    return *std::move(result);
}
inline void must(const Result<void>& result, const char* what) {
    if (!result) give_up(what, result.error().message);
}

// A new folder. The destructor removes the folder and its contents.
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

// Returns the resident memory of this process.
std::size_t resident_bytes();

}  // namespace rocklock::bench
