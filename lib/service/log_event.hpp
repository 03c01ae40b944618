// An event for the log of a server: a name for programs, a message for people, and facts.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocklock {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

struct LogFact {
    std::string_view name;
    std::string value;
    // The value as a number, if it is one. JSON then contains the number instead of `value`.
    std::optional<std::int64_t> number;

    LogFact(std::string_view fact, std::string text) : name(fact), value(std::move(text)) {}
    template <std::integral Number>
    LogFact(std::string_view fact, Number count)
        : name(fact), value(std::to_string(count)), number(static_cast<std::int64_t>(count)) {}
};

struct LogEvent {
    LogLevel level = LogLevel::info;
    // One word that identifies the event for programs. The word of an event never changes.
    std::string_view event;
    // A text for people. It contains no text from clients; only `facts` can contain such text.
    std::string message;
    std::vector<LogFact> facts;
};

}  // namespace rocklock
