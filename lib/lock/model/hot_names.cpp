#include "lock/model/hot_names.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace rocklock::lock_model {

void HotNames::count(std::string_view name) {
    if (last_ < names_.size() && names_[last_].resource == name) {
        ++names_[last_].waits;
        return;
    }
    auto found = std::find_if(names_.begin(), names_.end(),
                              [&](const HotResource& hot) { return hot.resource == name; });
    if (found == names_.end() && names_.size() < max_names) {
        names_.push_back({std::string(name), 0, 0});
        found = names_.end() - 1;
    } else if (found == names_.end()) {
        found = std::min_element(
            names_.begin(), names_.end(),
            [](const HotResource& a, const HotResource& b) { return a.waits < b.waits; });
        found->resource = name;
        found->error = found->waits;
    }
    ++found->waits;
    last_ = static_cast<std::size_t>(found - names_.begin());
    ROCKLOCK_ASSERT(last_ < names_.size() && names_.size() <= max_names);
    ROCKLOCK_ASSERT(found->waits > found->error);
}

std::vector<HotResource> HotNames::top(std::size_t limit) const {
    std::vector<HotResource> sorted = names_;
    std::sort(sorted.begin(), sorted.end(), [](const HotResource& a, const HotResource& b) {
        return a.waits != b.waits ? a.waits > b.waits : a.resource < b.resource;
    });
    if (sorted.size() > limit) sorted.resize(limit);
    return sorted;
}

}  // namespace rocklock::lock_model
