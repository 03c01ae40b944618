// The DynamoDB API: from a request for tables to its response.
//
//     decompress ──► parse JSON ──► find operation ──► check signature ──► check locks
//                                                  ──► read typed request ──► tables
//
// Because tables may wait for the disk, requests run on threads of the endpoint. Two kinds of
// requests are handled on the connection's thread instead, because passing them to another thread
// would take longer than handling them: a GetItem of a small cached item is answered there, and
// writes of single items are decided and queued there. One thread commits all queued writes
// together. Errors are reported in the order of the steps above, as in DynamoDB.
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

// Returns true if the request is for tables rather than for locks.
bool is_table_request(const ServiceRequest& request);

// Executes a request. Thread-safe. Waits for the disk if necessary. `locks` authenticates the
// sessions of the request and may be null. `failed` is called with errors that the request did not
// cause.
ServiceAnswer answer_table_request(ServiceRequest request, TableService& tables, LockService* locks,
                                   const std::function<void(const Error&)>& failed);

ServiceAnswer answer_table_request(ItemCall& call, TableService& tables, LockService* locks,
                                   const std::function<void(const Error&)>& failed);

// As above, for a call that can be answered within a few microseconds. Returns nullopt if the
// answer may take longer or may have to wait, or if the call presents or may require locks.
std::optional<ServiceAnswer> answer_from_cache(ItemCall& call, TableService& tables);

// Threads:  thread-safe.
// Lifetime: borrows the tables and the locks. The destructor waits until all calls are answered.
class ItemEndpoint {
public:
    // `flush_soon` is used if commits do not wait for the disk. It must cause a call of flush()
    // soon, on any thread. If it is empty, a thread of the endpoint commits the queued writes.
    ItemEndpoint(TableService& tables, LockService& locks, std::function<void(const Error&)> failed,
                 std::function<void()> flush_soon = {});

    using Done = std::function<void(ServiceAnswer)>;

    // Returns the answer of answer_from_cache(), and counts it. If it returns nullopt, the caller
    // must call ask().
    std::optional<ServiceAnswer> ask_cache(ItemCall& call);

    // Executes a call that ask_cache() did not answer. Takes some microseconds at most. Calls
    // `done` once, on a thread of the endpoint or from flush(). Thread-safe.
    void ask(std::unique_ptr<ItemCall> call, Done done);

    // Commits the queued writes together and answers them, if `flush_soon` was passed.
    void flush();

    std::vector<UserTableUsage> user_usage() const { return tables_.user_usage(); }
    // Counters of all answered requests by operation. Requests without a known operation count as
    // `other`.
    const CallCounters& counters() const { return counters_; }

private:
    // A write of one item after TableCall::begin_write(). The pending write borrows the call.
    struct BegunWrite {
        std::unique_ptr<ItemCall> call;
        std::unique_ptr<PendingWrite> pending;
        Done done;
    };

    std::size_t index_of(const ItemCall& call) const;
    void count(std::size_t operation, const ServiceAnswer& answer,
               std::chrono::steady_clock::time_point start);
    void hand_over(std::unique_ptr<ItemCall> call, Done done);
    void hand_over(BegunWrite write);
    void queue(BegunWrite write) ROCKLOCK_EXCLUDES(mutex_);
    void finish_queued() ROCKLOCK_EXCLUDES(mutex_);
    // Returns false if no writes were queued.
    bool finish_those_queued() ROCKLOCK_EXCLUDES(mutex_);
    void finish(BegunWrite write);
    void answer(const BegunWrite& write, Result<WriteAnswer> written) const;

    // The number of threads, which is also the maximum number of writes that wait for the same
    // sync.
    static constexpr std::size_t max_concurrent = 32;

    TableService& tables_;
    LockService& locks_;
    const std::function<void(const Error&)> failed_;
    const std::function<void()> flush_soon_;
    const std::vector<std::string_view> operations_;
    CallCounters counters_;
    Mutex mutex_;
    std::vector<BegunWrite> queued_ ROCKLOCK_GUARDED_BY(mutex_);
    // Set while a thread, or the next flush(), is going to finish the writes in `queued_`.
    bool finishing_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    WorkThreads threads_;
};

}  // namespace rocklock
