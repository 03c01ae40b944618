// A client that follows the events of a manager and reconstructs the table of locks from these
// events (P5).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <rocklock/lock.hpp>

namespace rocklock::simulation {

// Each function returns a description of the first violation, or nullopt if there is none.
class Watcher {
public:
    using Wrong = std::optional<std::string>;
    using History = std::function<Result<HistoryPage>(const std::string& resource)>;

    std::uint64_t after() const { return after_; }

    // Applies the next events of the manager.
    Wrong hear(const EventPage& page);
    // Compares the reconstructed table with the real one, after all events have been delivered.
    Wrong same(const LockPage& page) const;
    // Continues with a restarted manager. All changes that were reported must still exist there,
    // except those that a crash may revoke.
    Wrong restart(const EventPage& first, const LockPage& page, const History& history);

private:
    using Key = std::pair<GrantId, std::string>;
    struct Held {
        Mode mode = Mode::read;
        Token token{};
        std::string principal;
        friend bool operator==(const Held&, const Held&) = default;
    };
    Wrong hear(const LockEvent& event);
    bool had_run_out(const LockEvent& event);
    static std::map<Key, Held> table_of(const LockPage& page);

    std::uint64_t after_ = 0;
    std::uint64_t last_ = 0;
    std::map<Key, Held> held_;
    // The first grant since the last restart. If the table does not show an older grant, that grant
    // had expired before the restart, and its end may still be reported.
    std::optional<GrantId> first_;
    bool restarted_ = false;
    // The grants that have ended permanently. Released grants are not contained, because a crash
    // may revoke a release.
    std::set<Key> over_;
};

}  // namespace rocklock::simulation
