// DynamoDB's API: a request for tables over HTTP, to its answer.
//
//     packed ──► body ──► JSON ──► operation known? ──► signed? ──► proven? ──► typed request
//                                                                                    ──► the tables
//
// It runs in threads of its own, since the tables may wait for the disk: a connection's thread
// hands requests over. It answers itself what it can tell at once, a GetItem of a small item that
// lies in memory, since to hand that over would take longer. Writes of such items it decides and
// queues; one thread waits for the commits of all. Faults are answered in the order above, which is
// the service's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>

#include "base/mutex.hpp"
#include "base/work_threads.hpp"
#include "service/item_call.hpp"
#include "service/metrics.hpp"
#include "service/service_answer.hpp"
#include "service/service_request.hpp"

namespace rocklock {

// Whether it asks for tables, rather than for locks.
bool is_table_request(const ServiceRequest& request);

// Any thread. Waits as long as the tables do. `locks` knows the sessions that requests show, and
// may be none. `failed` is told of what is no fault of the request.
ServiceAnswer answer_table_request(ServiceRequest request, TableService& tables, LockService* locks,
                                   const std::function<void(const Error&)>& failed);

ServiceAnswer answer_table_request(ItemCall& call, TableService& tables, LockService* locks,
                                   const std::function<void(const Error&)>& failed);

// The same if it takes only some microseconds. None if it may take longer or wait, and if the call
// presents or may need locks.
std::optional<ServiceAnswer> answer_from_cache(ItemCall& call, TableService& tables);

// Threads:  thread-safe.
// Lifetime: borrows the tables and the locks. The destructor waits until all is answered.
class ItemEndpoint {
public:
    // `flush_soon`, where writes wait for no device: has flush() called soon, on any thread.
    // Without it one of the site's own threads waits for them.
    ItemEndpoint(TableService& tables, LockService& locks, std::function<void(const Error&)> failed,
                 std::function<void()> flush_soon = {});

    // Any thread. Takes some microseconds at most. If it returns none, ask() answers the call.
    std::optional<ServiceAnswer> ask_cache(ItemCall& call);
    using Done = std::function<void(ServiceAnswer)>;

    // Calls `done` once, from one of its threads or from flush().
    void ask(std::unique_ptr<ItemCall> call, Done done);

    // Commits the writes that were asked for meanwhile, together, and answers them.
    void flush();

    // Of all that was answered, by operation; what names none that is known counts as `other`.
    std::vector<UserTableUsage> user_usage() const { return tables_.user_usage(); }
    const CallCounters& counters() const { return counters_; }

private:
    // A write that is on its way to the disk.
    struct Queued {
        std::unique_ptr<PendingWrite> pending;
        std::unique_ptr<ItemCall> call;
        Done done;
    };

    std::size_t index_of(const ItemCall& call) const;
    void count(std::size_t operation, const ServiceAnswer& answer,
               std::chrono::steady_clock::time_point start);
    void hand_over(std::unique_ptr<ItemCall> call, Done done);
    void queue(Queued write) ROCKLOCK_EXCLUDES(mutex_);
    void finish_queued() ROCKLOCK_EXCLUDES(mutex_);
    // False: none.
    bool finish_those_queued() ROCKLOCK_EXCLUDES(mutex_);
    void finish(Queued& write);

    // Writes that wait for one sync share it: as many as there are threads.
    static constexpr std::size_t max_concurrent = 32;

    TableService& tables_;
    LockService& locks_;
    const std::function<void(const Error&)> failed_;
    const std::function<void()> flush_soon_;
    const std::vector<std::string_view> operations_;
    CallCounters counters_;
    Mutex mutex_;
    std::vector<Queued> queued_ ROCKLOCK_GUARDED_BY(mutex_);
    // Whether one of the threads, or the next flush(), sees to those.
    bool finishing_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    WorkThreads threads_;
};

}  // namespace rocklock
