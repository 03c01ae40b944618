#include "storage/memory_image.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.hpp"

namespace rocklock {
namespace {

enum class Direction : std::uint8_t { forwards, backwards };

// Reads a block of rows at a time. The blocks grow, so that a short scan reads little and a long
// scan locks the mutex rarely.
class MemoryCursor final : public Snapshot::Cursor {
public:
    struct Range {
        Family family{};
        std::string first;
        std::string last;
    };

    MemoryCursor(const MemoryImage& image, MemoryImage::Moment moment, Range range,
                 Direction direction)
        : image_(image), moment_(moment), direction_(direction), range_(std::move(range)) {
        // The range contains no key.
        empty_ = !range_.last.empty() && range_.last <= range_.first;
        fetch();
    }

    bool valid() const override { return at_ < rows_.size(); }
    std::string_view key() const override {
        ROCKLOCK_ASSERT(valid());
        return rows_[at_].first;
    }
    std::string_view value() const override {
        ROCKLOCK_ASSERT(valid());
        return rows_[at_].second;
    }
    void next() override {
        ROCKLOCK_ASSERT(valid());
        if (++at_ < rows_.size() || rows_.size() < limit_) return;
        std::string seen = std::move(rows_.back().first);
        if (direction_ == Direction::forwards) {
            // The first key after the last row.
            range_.first = std::move(seen);
            range_.first.push_back('\0');
        } else {
            range_.last = std::move(seen);
            // No key is smaller than the empty key; as an upper limit, it would mean that there is
            // none.
            empty_ = range_.last.empty();
        }
        limit_ = std::min<std::size_t>(2 * limit_, 256);
        fetch();
    }
    Result<void> status() const override { return {}; }

private:
    void fetch() {
        at_ = 0;
        rows_.clear();
        if (empty_) return;
        const auto& [family, first, last] = range_;
        rows_ = direction_ == Direction::forwards
                    ? image_.rows(family, first, last, limit_, moment_)
                    : image_.rows_back(family, first, last, limit_, moment_);
        ROCKLOCK_ASSERT(rows_.size() <= limit_);
    }

    const MemoryImage& image_;
    const MemoryImage::Moment moment_;
    const Direction direction_;
    // The part of the range that is not yet read.
    Range range_;
    bool empty_ = false;
    std::size_t limit_ = 8;
    std::size_t at_ = 0;
    std::vector<MemoryImage::Row> rows_;
};

class MemorySnapshot final : public Snapshot {
public:
    explicit MemorySnapshot(MemoryImage& image) : image_(image), moment_(image.open_snapshot()) {}
    ~MemorySnapshot() override { image_.close_snapshot(moment_); }

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return image_.get(family, key, moment_);
    }
    std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                 std::string_view last) const override {
        return walk(family, first, last, Direction::forwards);
    }
    std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                      std::string_view last) const override {
        return walk(family, first, last, Direction::backwards);
    }

private:
    std::unique_ptr<Cursor> walk(Family family, std::string_view first, std::string_view last,
                                 Direction direction) const {
        MemoryCursor::Range range{family, std::string(first), std::string(last)};
        return std::make_unique<MemoryCursor>(image_, moment_, std::move(range), direction);
    }

    MemoryImage& image_;
    const MemoryImage::Moment moment_;
};

}  // namespace

std::unique_ptr<Snapshot> MemoryImage::snapshot() {
    return std::make_unique<MemorySnapshot>(*this);
}

const std::string* MemoryImage::value_at(const State& state, Moment moment) {
    const State* seen = &state;
    while (seen != nullptr && seen->since > moment) seen = seen->older.get();
    return seen != nullptr && seen->value ? &*seen->value : nullptr;
}

std::optional<std::string> MemoryImage::get(Family family, std::string_view key,
                                            Moment moment) const {
    MutexLock lock(mutex_);
    const auto found = map(family).find(key);
    if (found == map(family).end()) return std::nullopt;
    const std::string* const value = value_at(found->second, moment);
    return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::uint64_t> MemoryImage::version(Family family, std::string_view key) const {
    MutexLock lock(mutex_);
    const auto found = map(family).find(key);
    if (found == map(family).end() || !found->second.value) return std::nullopt;
    return version_of(*found->second.value);
}

void MemoryImage::apply(Batch& batch) {
    MutexLock lock(mutex_);
    ++now_;
    for (Write& write : batch.writes) put(map(write.family), write.family, write);
}

// Returns the first position whose key is not less than `key`. Keys are usually inserted in
// ascending order. The records of grants are replaced in about the order in which they were
// inserted, so the key is also searched among the next keys after the last replaced one.
MemoryImage::Map::iterator MemoryImage::position_of(Map& map, Family family,
                                                    const std::string& key) const {
    constexpr int max_steps = 4;
    const Near& near = near_[static_cast<std::size_t>(family)];
    if (near.inserted) {
        const int order = key.compare((*near.inserted)->first);
        if (order == 0) return *near.inserted;
        if (order > 0) {
            const auto next = std::next(*near.inserted);
            return next == map.end() || key <= next->first ? next : map.lower_bound(key);
        }
    }
    if (near.replaced) {
        auto at = *near.replaced;
        for (int step = 0; step < max_steps && at != map.end() && at->first <= key; ++step, ++at) {
            if (at->first == key) return at;
        }
    }
    return map.lower_bound(key);
}

void MemoryImage::erase(Family family, Map::iterator position) {
    Near& near = near_[static_cast<std::size_t>(family)];
    if (near.inserted == position) near.inserted.reset();
    if (near.replaced == position) near.replaced.reset();
    map(family).erase(position);
}

void MemoryImage::put(Map& map, Family family, Write& write) {
    const auto found = position_of(map, family, write.key);
    const bool known = found != map.end() && found->first == write.key;
    if (!known) {
        if (!write.value) return;
        const auto made = map.emplace_hint(found, std::move(write.key), State{});
        made->second.since = now_;
        made->second.value = std::move(write.value);
        near_[static_cast<std::size_t>(family)].inserted = made;
        return;
    }
    State& state = found->second;
    // Only a snapshot that is not older than the current state can see it.
    const bool seen = !snapshots_.empty() && *snapshots_.rbegin() >= state.since;
    if (seen) {
        ROCKLOCK_ASSERT(state.since < now_);
        auto older = std::make_unique<State>(std::exchange(state, State{}));
        state.older = std::move(older);
        keys_to_prune_.emplace(family, found->first);
    } else if (!write.value && state.older == nullptr) {
        return erase(family, found);
    }
    state.since = now_;
    state.value = std::move(write.value);
    near_[static_cast<std::size_t>(family)].replaced = found;
}

MemoryImage::Moment MemoryImage::open_snapshot() {
    MutexLock lock(mutex_);
    snapshots_.insert(now_);
    return now_;
}

void MemoryImage::close_snapshot(Moment moment) {
    MutexLock lock(mutex_);
    const auto closed = snapshots_.find(moment);
    ROCKLOCK_ASSERT(closed != snapshots_.end());
    snapshots_.erase(closed);
    if (snapshots_.empty() || keys_to_prune_.size() >= prune_at_) prune();
}

void MemoryImage::prune() {
    for (auto entry = keys_to_prune_.begin(); entry != keys_to_prune_.end();) {
        Map& keys = map(entry->first);
        const auto found = keys.find(entry->second);
        const bool left = found != keys.end() && prune_state(found->second);
        if (!left && found != keys.end()) erase(entry->first, found);
        const bool light = !left || (found->second.older == nullptr && found->second.value);
        entry = light ? keys_to_prune_.erase(entry) : std::next(entry);
    }
    prune_at_ = std::max<std::size_t>(64, 2 * keys_to_prune_.size());
}

bool MemoryImage::prune_state(State& state) const {
    // Keeps each state that is the newest one that a snapshot, or the present, can see.
    State* kept = &state;
    while (kept->older != nullptr) {
        State& older = *kept->older;
        ROCKLOCK_ASSERT(older.since < kept->since);
        const auto viewer = snapshots_.lower_bound(older.since);
        const bool seen = viewer != snapshots_.end() && *viewer < kept->since;
        if (seen) {
            kept = &older;
        } else {
            kept->older = std::move(older.older);
        }
    }
    return state.value || state.older != nullptr;
}

std::vector<MemoryImage::Row> MemoryImage::rows(Family family, std::string_view first,
                                                std::string_view last, std::size_t limit,
                                                Moment moment) const {
    std::vector<Row> rows;
    MutexLock lock(mutex_);
    const Map& keys = map(family);
    for (auto key = keys.lower_bound(first); key != keys.end() && rows.size() < limit; ++key) {
        if (!last.empty() && key->first >= last) break;
        if (const std::string* value = value_at(key->second, moment)) {
            rows.emplace_back(key->first, *value);
        }
    }
    return rows;
}

std::vector<MemoryImage::Row> MemoryImage::rows_back(Family family, std::string_view first,
                                                     std::string_view last, std::size_t limit,
                                                     Moment moment) const {
    std::vector<Row> rows;
    MutexLock lock(mutex_);
    const Map& keys = map(family);
    auto key = last.empty() ? keys.end() : keys.lower_bound(last);
    while (key != keys.begin() && rows.size() < limit) {
        --key;
        if (key->first < first) break;
        if (const std::string* value = value_at(key->second, moment)) {
            rows.emplace_back(key->first, *value);
        }
    }
    return rows;
}

}  // namespace rocklock
