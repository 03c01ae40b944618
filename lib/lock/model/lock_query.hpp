// Lookups of single objects of the lock table, and searches over held locks and events in an order
// that the caller defines. The system tables, such as rocklock.locks, use them to present the lock
// table as DynamoDB tables.
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

// Identifies a class by its pattern.
struct ClassKey {
    std::string pattern;
};

// Identifies a held lock (by its resource and grant), a session, or a class.
using LookupKey = std::variant<LockPosition, SessionId, ClassKey>;

struct LookupResult {
    std::variant<std::monostate, Holder, SessionView, LockClass> found;
    // If `found` is a holder or a session: the time at which it expires if it is not renewed.
    BootTime until = BootTime::max();
};

// A range of keys, first <= key < last, with the order and the maximum number of the results. The
// order is ascending if `forward` is true. If `last` is empty, the range has no upper limit.
struct KeyRange {
    std::string first;
    std::string last;
    bool forward = true;
    std::size_t max_rows = 0;
};

// Collects the first KeyRange::max_rows elements of a range. The caller offers all elements, in any
// order.
template <typename Value>
class FirstInRange {
public:
    explicit FirstInRange(KeyRange range) : range_(std::move(range)) {}

    void offer(std::string key, Value value) {
        if (range_.max_rows == 0 || key < range_.first) return;
        if (!range_.last.empty() && key >= range_.last) return;
        const auto comes_before = [this](const Kept& a, const Kept& b) {
            return range_.forward ? a.key < b.key : b.key < a.key;
        };
        Kept kept{std::move(key), std::move(value)};
        if (kept_.size() == range_.max_rows) {
            if (!comes_before(kept, kept_.front())) return;
            std::pop_heap(kept_.begin(), kept_.end(), comes_before);
            kept_.pop_back();
        }
        kept_.push_back(std::move(kept));
        std::push_heap(kept_.begin(), kept_.end(), comes_before);
    }

    // Returns the collected elements in the order of the range, and empties the collection.
    std::vector<Value> take() {
        std::sort(kept_.begin(), kept_.end(), [this](const Kept& a, const Kept& b) {
            return range_.forward ? a.key < b.key : b.key < a.key;
        });
        std::vector<Value> values;
        values.reserve(kept_.size());
        for (Kept& kept : kept_) values.push_back(std::move(kept.value));
        kept_.clear();
        return values;
    }

private:
    struct Kept {
        std::string key;
        Value value;
    };

    KeyRange range_;
    // A heap whose top is the last element in the order of the range.
    std::vector<Kept> kept_;
};

// Returns the key of a lock (its resource and the number of its grant) or of an event (its resource
// and its sequence). The function is called while the mutex of the lock table is held, so it must
// be fast and must not access other state.
using KeyOfPosition = std::function<std::string(std::string_view resource, std::uint64_t number)>;

// The results of a search.
template <typename Thing>
struct InRange {
    std::vector<Thing> things;
    // If set, there may be more results after this position. `things` need not contain the object
    // at this position, because objects that end between two steps of a search are not returned.
    std::optional<LockPosition> more;
};

// A search over held locks in the order of their keys. The search is executed in steps; see
// LockSearch.
class HeldSearch {
public:
    // If `resource` is set, only the locks of that resource are searched.
    HeldSearch(std::optional<std::string> resource, KeyOfPosition key, KeyRange range)
        : resource_(std::move(resource)),
          key_(std::move(key)),
          max_(range.max_rows),
          first_(std::move(range)) {}

private:
    friend class LockTable;

    std::optional<std::string> resource_;
    KeyOfPosition key_;
    std::size_t max_;
    FirstInRange<LockPosition> first_;
    // The part of ResourceIndex that is searched next.
    std::size_t part_ = 0;
    // The positions of the locks that were found. Set after all parts have been searched. The later
    // steps add the holders at these positions to `found_`.
    std::optional<std::vector<LockPosition>> positions_;
    // The number of elements of `positions_` that the later steps have processed.
    std::size_t shown_ = 0;
    InRange<Holder> found_;
};

// A search over published events in the order of their keys, executed in steps.
class EventSearch {
public:
    EventSearch(std::optional<std::string> resource, KeyOfPosition key, KeyRange range)
        : resource_(std::move(resource)),
          key_(std::move(key)),
          max_(range.max_rows),
          first_(std::move(range)) {}

private:
    friend class EventLog;

    std::optional<std::string> resource_;
    KeyOfPosition key_;
    std::size_t max_;
    // The positions of events: a resource and a sequence.
    FirstInRange<LockPosition> first_;
    // The events up to the sequence `after_` have been searched. The search ends with the event
    // `last_`, which was the last published event when the search began.
    std::uint64_t after_ = 0;
    std::optional<std::uint64_t> last_;
};

}  // namespace rocklock
