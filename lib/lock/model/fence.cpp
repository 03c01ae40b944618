#include "lock/model/fence.hpp"

namespace rocklock {

bool lies_below(std::string_view resource, std::string_view above) {
    return resource.size() > above.size() && resource[above.size()] == '/' &&
           resource.starts_with(above);
}

void ExclusiveHolds::note(std::string_view resource, bool subtree) {
    ++state_.changes;
    if (kept_.size() == max_kept) kept_.pop_front();
    kept_.push_back({std::string(resource), subtree});
    ROCKLOCK_ASSERT(state_.holds <= state_.changes && kept_.size() <= state_.changes);
}

std::optional<bool> ExclusiveHolds::changed_since(std::uint64_t changes,
                                                  std::string_view resource) const {
    ROCKLOCK_ASSERT(changes <= state_.changes);
    const std::uint64_t count = state_.changes - changes;
    if (count > kept_.size()) return std::nullopt;
    for (auto change = kept_.end() - static_cast<std::ptrdiff_t>(count); change != kept_.end();
         ++change) {
        if (change->resource == resource) return true;
        if (change->subtree && lies_below(resource, change->resource)) return true;
    }
    return false;
}

}  // namespace rocklock
