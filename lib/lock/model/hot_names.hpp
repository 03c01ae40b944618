// The names that are waited for most, counted in bounded memory.
//
// At most so many are counted. A new one takes the place of the least and goes on from its count,
// which is then how much too high its own may be ("space saving", Metwally et al. 2005): so a name
// that is really among the most waited for cannot be missing.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <rocklock/statistics.hpp>

namespace rocklock::lock_model {

class HotNames {
public:
    void count(std::string_view name);
    // Most first.
    std::vector<HotResource> most(std::size_t limit) const;

private:
    static constexpr std::size_t counted = 256;

    std::vector<HotResource> names_;
    // Where the last one was found: one name is often waited for again and again.
    std::size_t last_ = 0;
};

}  // namespace rocklock::lock_model
