// The names for which most requests have waited, counted in bounded memory.
//
// At most `counted` names are counted. A new name replaces the one with the smallest count and
// continues from that count, which is therefore the maximum error of its own count ("space saving",
// Metwally et al. 2005). A name that received more than 1/`counted` of all counts is always among
// the counted names.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <rocklock/statistics.hpp>

namespace rocklock::lock_model {

class HotNames {
public:
    void count(std::string_view name);
    // Returns at most `limit` names, most frequent first.
    std::vector<HotResource> top(std::size_t limit) const;

private:
    static constexpr std::size_t counted = 256;

    std::vector<HotResource> names_;
    // The index of the name that was counted last. Often the same name is counted many times in a
    // row.
    std::size_t last_ = 0;
};

}  // namespace rocklock::lock_model
