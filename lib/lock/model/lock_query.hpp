// Looking at single things in the lock table, and at what is held and what has happened in an order
// of the asker's own: for who shows the lock table as tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <rocklock/lock.hpp>

#include "lock/model/lock_search.hpp"

namespace rocklock {

// A class by its pattern.
struct ClassPlace {
    std::string pattern;
};

// A holder by its resource and grant, a session, a class.
using LookupKey = std::variant<LockPlace, SessionId, ClassPlace>;

struct LookupResult {
    std::variant<std::monostate, Holder, SessionView, LockClass> found;
    // Of a holder and of a session: it ends then, unless somebody does something about it.
    BootTime until = BootTime::max();
};

// first <= key < last, in order or the other way round, of which so many are wanted. An empty
// `last` is no limit.
struct KeyRange {
    std::string first;
    std::string last;
    bool forward = true;
    std::size_t most = 0;
};

// Keeps what comes first in a range, of all that it is offered.
template <typename Place>
class FirstInRange {
public:
    explicit FirstInRange(KeyRange range) : range_(std::move(range)) {}

    void offer(std::string key, Place place) {
        if (range_.most == 0 || key < range_.first) return;
        if (!range_.last.empty() && key >= range_.last) return;
        const auto comes_before = [this](const Kept& a, const Kept& b) {
            return range_.forward ? a.key < b.key : b.key < a.key;
        };
        Kept kept{std::move(key), std::move(place)};
        if (kept_.size() == range_.most) {
            if (!comes_before(kept, kept_.front())) return;
            std::pop_heap(kept_.begin(), kept_.end(), comes_before);
            kept_.pop_back();
        }
        kept_.push_back(std::move(kept));
        std::push_heap(kept_.begin(), kept_.end(), comes_before);
    }

    // In their order; nothing is left.
    std::vector<Place> take() {
        std::sort(kept_.begin(), kept_.end(), [this](const Kept& a, const Kept& b) {
            return range_.forward ? a.key < b.key : b.key < a.key;
        });
        std::vector<Place> places;
        places.reserve(kept_.size());
        for (Kept& kept : kept_) places.push_back(std::move(kept.place));
        kept_.clear();
        return places;
    }

private:
    struct Kept {
        std::string key;
        Place place;
    };

    KeyRange range_;
    // A heap with the last of them on top.
    std::vector<Kept> kept_;
};

// The key of a resource and a grant, or of a resource and an event. It is asked for while the table
// is closed to others, so it is quick and looks at nothing else.
using KeyOfPlace = std::function<std::string(std::string_view resource, std::uint64_t number)>;

// What a search came to.
template <typename Thing>
struct InRange {
    std::vector<Thing> things;
    // There may be more, behind this one. It need not be among the things: what ends between two
    // steps of a search is not told.
    std::optional<LockPlace> more;
};

// Holders in the order of their keys, while they are being found: as LockSearch.
class HeldSearch {
public:
    // `resource`: of that one alone.
    HeldSearch(std::optional<std::string> resource, KeyOfPlace key, KeyRange range)
        : resource_(std::move(resource)),
          key_(std::move(key)),
          max_(range.most),
          first_(std::move(range)) {}

private:
    friend class LockTable;

    std::optional<std::string> resource_;
    KeyOfPlace key_;
    std::size_t max_;
    FirstInRange<LockPlace> first_;
    // The part of the table that is next to be looked through.
    std::size_t part_ = 0;
    // All that were found; then they are shown.
    std::optional<std::vector<LockPlace>> places_;
    std::size_t shown_ = 0;
    InRange<Holder> found_;
};

// The same of events that have been told.
class EventSearch {
public:
    EventSearch(std::optional<std::string> resource, KeyOfPlace key, KeyRange range)
        : resource_(std::move(resource)),
          key_(std::move(key)),
          max_(range.most),
          first_(std::move(range)) {}

private:
    friend class EventLog;

    std::optional<std::string> resource_;
    KeyOfPlace key_;
    std::size_t max_;
    // Resource and sequence.
    FirstInRange<LockPlace> first_;
    // It has looked at all up to here, and will up to there: what was told as it began.
    std::uint64_t after_ = 0;
    std::optional<std::uint64_t> last_;
};

}  // namespace rocklock
