// One who follows the events of a manager and keeps the table from them alone (P5).
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

// Each step returns what is wrong; nothing while all is well.
class Watcher {
public:
    using Wrong = std::optional<std::string>;
    using History = std::function<Result<HistoryPage>(const std::string& resource)>;

    std::uint64_t after() const { return after_; }

    // What the manager says came next.
    Wrong hear(const EventPage& page);
    // The table as it is, when all that was decided has been told.
    Wrong same(const LockPage& page) const;
    // The manager is another one: what was told must be so there, but for what may be lost.
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
    // The first grant since the last restart: what is not shown after one, and older, had run out
    // by then, and its end may be told yet.
    std::optional<GrantId> first_;
    bool restarted_ = false;
    // Ended for good: not by a release, which a crash may take back.
    std::set<Key> over_;
};

}  // namespace rocklock::simulation
