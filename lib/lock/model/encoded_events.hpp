// Events in encoded form, one after another in one buffer. The lock table encodes the events of a
// decision, and the event log stores them in the same form, so no event is allocated separately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <rocklock/lock.hpp>
#include <rocklock/watch.hpp>

#include "base/assert.hpp"

namespace rocklock::lock_model {

// The members of a LockEvent that are not texts.
struct EventFacts {
    std::uint64_t sequence = 0;
    GrantId grant{};
    Token token{};
    WallTime at;
    std::uint32_t permits = 0;
    EventType type = EventType::granted;
    Mode mode = Mode::write;
};

struct EventTexts {
    std::string_view resource;
    std::string_view principal;
    std::string_view by;
    std::string_view reason;
};

// A view of an encoded event. `texts` refers to the encoded bytes.
struct EventView {
    EventFacts facts;
    EventTexts texts;
    // The number of encoded bytes.
    std::size_t size = 0;
};

class EncodedEvents {
public:
    bool empty() const { return bytes_.empty(); }
    void clear() { bytes_.clear(); }
    std::string_view bytes() const { return bytes_; }
    void add(const EventFacts& facts, const EventTexts& texts) {
        const Head head{facts,
                        {static_cast<std::uint32_t>(texts.resource.size()),
                         static_cast<std::uint32_t>(texts.principal.size()),
                         static_cast<std::uint32_t>(texts.by.size()),
                         static_cast<std::uint32_t>(texts.reason.size())}};
        bytes_.append(reinterpret_cast<const char*>(&head), sizeof head);
        bytes_.append(texts.resource).append(texts.principal);
        bytes_.append(texts.by).append(texts.reason);
    }

    // Returns a view of the event at the beginning of `bytes`, which add() must have encoded.
    static EventView front(std::string_view bytes) {
        ROCKLOCK_ASSERT(bytes.size() >= sizeof(Head));
        Head head;
        std::memcpy(&head, bytes.data(), sizeof head);
        std::string_view left = bytes.substr(sizeof head);
        const auto cut = [&left](std::uint32_t size) {
            const std::string_view text = left.substr(0, size);
            left.remove_prefix(size);
            return text;
        };
        EventView event{head.facts, {}, 0};
        event.texts.resource = cut(head.sizes.resource);
        event.texts.principal = cut(head.sizes.principal);
        event.texts.by = cut(head.sizes.by);
        event.texts.reason = cut(head.sizes.reason);
        event.size = bytes.size() - left.size();
        return event;
    }

private:
    // The beginning of an encoded event. Events are not aligned, so a Head is copied before it is
    // used.
    struct Head {
        EventFacts facts;
        struct {
            std::uint32_t resource;
            std::uint32_t principal;
            std::uint32_t by;
            std::uint32_t reason;
        } sizes;
    };
    static_assert(std::is_trivially_copyable_v<Head>);

    std::string bytes_;
};

}  // namespace rocklock::lock_model
