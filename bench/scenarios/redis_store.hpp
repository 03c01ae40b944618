// Redis with very many keys.
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

// A connection to it.
class RedisStore final : public Client {
public:
    using Client::Client;

    // So many keys with the names of locks and their owner, which all end then, where that is
    // given.
    void fill(std::size_t count, std::optional<WallTime> end = {});
    // How many there are now, in its own words.
    std::uint64_t keys();
    // Writes all of them to its file, which it loads when it starts.
    void save();
    // Whether it answers who wants a lock, and does not say that it is still loading.
    bool answers();

private:
    void ask(const std::vector<std::string>& words);
    std::string await_answer();
    bool take_answer() override;

    std::string answer_;
};

}  // namespace rocklock::bench
