// The sessions of a lock table, which can be found by id, and a list of those sessions that have
// ended and still have grants.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <rocklock/identity.hpp>

#include "base/assert.hpp"
#include "lock/model/huge_pages.hpp"
#include "lock/model/nodes.hpp"

namespace rocklock {

class SessionTable {
public:
    using Session = lock_model::Session;

    // Returns null if there is no such session.
    Session* find(const SessionId& id) const {
        const auto found = by_id_.find(id);
        return found != by_id_.end() ? found->second.get() : nullptr;
    }
    bool empty() const { return by_id_.empty(); }
    std::size_t size() const { return by_id_.size(); }
    // Each element is a pair of the id and the session.
    auto begin() const { return by_id_.begin(); }
    auto end() const { return by_id_.end(); }

    // Adds a session that this run has opened.
    Session& add_new(std::unique_ptr<Session> made) {
        made->order = next_order_++;
        return insert(std::move(made));
    }
    // Adds a session from the records of an earlier run.
    Session& add_recovered(std::unique_ptr<Session> made) {
        next_order_ = std::max(next_order_, made->order + 1);
        return insert(std::move(made));
    }
    // Returns a host that is kept as long as this table, or null for the host of the manager.
    const ClientHost* keep_host(const ClientHost& host) {
        return host == ClientHost{} ? nullptr : &*hosts_.insert(host).first;
    }
    // Frees a session that has no grants and no waits.
    void remove(const Session& session) {
        ROCKLOCK_ASSERT(session.first == nullptr && session.waits.empty());
        ROCKLOCK_ASSERT(session.grants == 0 && session.followed == 0 && !session.timer.armed());
        const std::size_t erased = by_id_.erase(SessionId(session.id));
        ROCKLOCK_ASSERT(erased == 1);
    }

    // These functions count the records of ended sessions. A record exists until HistoryTrimmer
    // deletes it.
    void count_ended() { ++ended_records_; }
    void forget_ended(std::uint64_t count) { ended_records_ -= std::min(ended_records_, count); }
    std::uint64_t ended_records() const { return ended_records_; }

    // Adds a session that has ended and has grants that must be cleaned up.
    void add_ending(Session& session) {
        ROCKLOCK_ASSERT(session.ended.has_value());
        ending_.push_back(&session);
    }
    bool has_ending() const { return !ending_.empty(); }
    Session& last_ending() const {
        Session& last = *ending_.back();
        ROCKLOCK_ASSERT(last.ended.has_value());
        return last;
    }
    // Removes a session after its grants have been cleaned up.
    void finish_ending(const Session& session) {
        const std::size_t erased = std::erase(ending_, &session);
        ROCKLOCK_ASSERT(erased == 1);
    }

private:
    struct IdHash {
        using is_avalanching = void;
        // The ids are random, so eight bytes of an id suffice.
        std::size_t operator()(const SessionId& id) const {
            std::uint64_t word = 0;
            std::memcpy(&word, id.bytes.data(), sizeof word);
            return word * 0x9E3779B97F4A7C15U;
        }
    };

    Session& insert(std::unique_ptr<Session> made) {
        const SessionId id = made->id;
        const auto [it, added] = by_id_.emplace(id, std::move(made));
        ROCKLOCK_ASSERT(added);
        return *it->second;
    }

    // The hosts of all sessions, also of those that have ended. There are few.
    std::set<ClientHost> hosts_;
    using Entry = std::pair<const SessionId, std::unique_ptr<Session>>;
    boost::unordered_flat_map<SessionId, std::unique_ptr<Session>, IdHash, std::equal_to<>,
                              HugePageAllocator<Entry>>
        by_id_;
    std::vector<Session*> ending_;
    std::uint64_t next_order_ = 1;
    std::uint64_t ended_records_ = 0;
};

}  // namespace rocklock
