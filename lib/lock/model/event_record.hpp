// An event in the form in which the lock table makes it and the event log keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/lock.hpp>
#include <rocklock/watch.hpp>

namespace rocklock::lock_model {

// The texts of an event.
struct EventTexts {
    std::string_view resource;
    std::string_view principal;
    std::string_view by;
    std::string_view reason;
};

// A LockEvent with all of its texts in one string, so that an event needs at most one allocation.
struct EventRecord {
    EventRecord() = default;
    explicit EventRecord(const EventTexts& given)
        : resource(static_cast<std::uint16_t>(given.resource.size())),
          principal(static_cast<std::uint16_t>(given.principal.size())),
          by(static_cast<std::uint16_t>(given.by.size())) {
        texts.reserve(given.resource.size() + given.principal.size() + given.by.size() +
                      given.reason.size());
        texts.append(given.resource).append(given.principal).append(given.by).append(given.reason);
    }

    std::string_view name() const { return std::string_view(texts).substr(0, resource); }

    std::uint64_t sequence = 0;
    GrantId grant{};
    Token token{};
    WallTime at;
    std::string texts;
    // The sizes of the first three texts; the rest is the reason.
    std::uint16_t resource = 0;
    std::uint16_t principal = 0;
    std::uint16_t by = 0;
    EventType type = EventType::granted;
    Mode mode = Mode::write;
    std::uint32_t permits = 0;
};

}  // namespace rocklock::lock_model
