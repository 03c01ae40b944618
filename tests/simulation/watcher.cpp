#include "simulation/watcher.hpp"

#include <algorithm>

namespace rocklock::simulation {
namespace {

std::string name_of(const LockEvent& event) {
    return "event " + std::to_string(event.sequence) + ", " + std::string(to_string(event.type)) +
           " " + std::to_string(number(event.grant)) + " on " + event.resource;
}

bool is_end(EventType type) { return type >= EventType::transferred; }

}  // namespace

Watcher::Wrong Watcher::hear(const EventPage& page) {
    if (page.gap) return "P5: a gap, and everything was heard until now";
    for (const LockEvent& event : page.events) {
        if (auto wrong = hear(event)) return wrong;
    }
    if (page.after < after_) return "P5: the cursor has moved backwards";
    after_ = page.after;
    return std::nullopt;
}

Watcher::Wrong Watcher::hear(const LockEvent& event) {
    // Sequence numbers rise across restarts, too.
    if (event.sequence <= last_) return "P5: a number twice, or out of order: " + name_of(event);
    last_ = event.sequence;
    const Key key{event.grant, event.resource};
    const auto known = held_.find(key);
    if (event.type == EventType::granted) {
        if (known != held_.end()) return "P5: reported twice: " + name_of(event);
        if (!first_) first_ = event.grant;
        held_[key] = {event.mode, event.token, event.principal};
        return std::nullopt;
    }
    if (known == held_.end()) {
        if (had_run_out(event)) return std::nullopt;
        return "P5: not held by then: " + name_of(event);
    }
    if (known->second.principal != event.principal) return "P5: whose is it? " + name_of(event);
    if (event.type == EventType::converted) {
        if (event.token < known->second.token) return "P5: the token fell: " + name_of(event);
        known->second.mode = event.mode;
        known->second.token = event.token;
    }
    if (is_end(event.type)) {
        const bool as_known =
            known->second.mode == event.mode && known->second.token == event.token;
        if (!as_known) return "P5: it was held otherwise: " + name_of(event);
        held_.erase(known);
        if (event.type != EventType::released) over_.insert(key);
    }
    return std::nullopt;
}

// Returns whether the event is the first report of the end of a grant that had already expired at
// the last restart.
bool Watcher::had_run_out(const LockEvent& event) {
    const bool older = restarted_ && (!first_ || event.grant < *first_);
    return older && event.type == EventType::expired &&
           over_.insert({event.grant, event.resource}).second;
}

std::map<Watcher::Key, Watcher::Held> Watcher::table_of(const LockPage& page) {
    std::map<Key, Held> table;
    for (const Holder& holder : page.locks) {
        table[{holder.grant, holder.resource}] = {holder.mode, holder.token, holder.principal};
    }
    return table;
}

Watcher::Wrong Watcher::same(const LockPage& page) const {
    const auto table = table_of(page);
    for (const auto& [key, held] : table) {
        const auto heard = held_.find(key);
        const std::string what = std::to_string(number(key.first)) + " on " + key.second;
        if (heard == held_.end()) return "P5: no event reported " + what;
        if (!(heard->second == held)) return "P5: the events make something else of " + what;
    }
    for (const auto& [key, held] : held_) {
        if (table.contains(key)) continue;
        return "P5: no event reported the end of " + std::to_string(number(key.first)) + " on " +
               key.second;
    }
    return std::nullopt;
}

Watcher::Wrong Watcher::restart(const EventPage& first, const LockPage& page,
                                const History& history) {
    if (after_ != 0 && !first.gap) return "P5: no gap after a restart";
    const auto table = table_of(page);
    for (const Key& key : over_) {
        if (table.contains(key)) {
            return "P5: an event reported the end of " + std::to_string(number(key.first)) +
                   ", and it is held again";
        }
    }
    for (const auto& entry : held_) {
        const Key& key = entry.first;
        if (table.contains(key)) continue;
        const auto rows = history(key.second);
        if (!rows) return "P5: the history: " + rows.error().message;
        const bool known = std::any_of(
            rows->rows.begin(), rows->rows.end(),
            [&](const HistoryRow& row) { return row.holder.grant == key.first && row.ended; });
        if (!known) {
            return "P5: an event reported " + std::to_string(number(key.first)) + " on " +
                   key.second + ", which never existed";
        }
    }
    over_.clear();
    first_.reset();
    restarted_ = true;
    held_ = table;
    after_ = first.after;
    for (const LockEvent& event : first.events) last_ = std::max(last_, event.sequence);
    return std::nullopt;
}

}  // namespace rocklock::simulation
