// The words of a script: durations, locks, classes and members.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock::proof {

class BadScript : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

namespace script {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

milliseconds duration(const std::string& text);
// Decodes `%00` to a byte and `repeat(a*3)` to aaa.
std::string unescape(const std::string& text);
std::string trim(const std::string& text);
Words split(const std::string& text, const std::string& separator);
Words words_of(const std::string& text);
// Removes the word `name=value` and returns the value. Returns nullopt if there is no such word.
std::optional<std::string> take(Words& words, const std::string& name);
bool take_flag(Words& words, const std::string& name);
milliseconds patience_of(Words& words);
std::vector<LockRequest> locks_of(const Words& words);
LockClass class_of(Words words);

}  // namespace script
}  // namespace rocklock::proof
