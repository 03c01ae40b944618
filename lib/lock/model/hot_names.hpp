// The names for which requests have waited most often, counted in bounded memory.
//
// At most `max_names` names have a count. If they are all used, a new name replaces the name with
// the smallest count and takes over its count. This value is the maximum error of the new name's
// count ("space saving", Metwally et al. 2005). A name with more than 1/`max_names` of all waits
// always has a count.
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
    static constexpr std::size_t max_names = 256;

    std::vector<HotResource> names_;
    // The index of the name that was counted last, because one name is often counted many times in
    // a row.
    std::size_t last_ = 0;
};

}  // namespace rocklock::lock_model
