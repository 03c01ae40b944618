// Redis with a large number of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>

#include "daemon/client.hpp"

namespace rocklock::bench {

// A connection to the server.
class RedisStore final : public Client {
public:
    using Client::Client;

    // Creates `count` keys. Each key is the name of a lock, and its value is an owner. If `end` is
    // given, all keys expire at the time `end`.
    void fill(std::size_t count, std::optional<WallTime> end = {});
    // Returns the number of keys that Redis reports.
    std::uint64_t keys();
    // Writes all keys to the RDB file, which Redis loads when it starts.
    void save();
    // Returns whether Redis answers a lock request. Returns false while Redis is loading its file.
    bool answers();

private:
    void ask(const std::vector<std::string>& words);
    std::string await_answer();
    bool take_answer() override;

    std::string answer_;
};

}  // namespace rocklock::bench
