// Executes the requests of the DynamoDB API, in these steps:
//
//     decompress ──► parse JSON ──► find operation ──► check signature ──► check locks
//         ──► read typed request ──► tables
//
// Because the functions of tables may wait for the disk, requests run on threads of the endpoint.
// Two kinds of requests are handled on the thread of the connection, because passing them to
// another thread would take longer than handling them: a GetItem of a small cached item is answered
// on that thread, and a write of a single item is decided and queued on it. One thread commits all
// queued writes together.
//
// If several of these steps would fail, the error of the first of them is reported, as in DynamoDB.
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

class PrincipalRule;

// Returns true if the request is for tables rather than for locks.
bool is_table_request(const ServiceRequest& request);

// Executes a request, and waits for the disk if necessary. Thread-safe. `locks` authenticates the
// sessions that the request presents; it may be null. `failed` is called with errors that the
// request did not cause.
ServiceAnswer answer_table_request(ServiceRequest request, TableService& tables, LockService* locks,
                                   const std::function<void(const Error&)>& failed);

ServiceAnswer answer_table_request(ItemCall& call, TableService& tables, LockService* locks,
                                   const std::function<void(const Error&)>& failed,
                                   PrincipalRule* rule = nullptr);

// As above, but only for a call that can be answered within a few microseconds. Returns nullopt if
// answering the call may take longer or may have to wait, or if the call presents or may require
// locks.
std::optional<ServiceAnswer> answer_from_cache(ItemCall& call, TableService& tables);

// Threads:  thread-safe.
// Lifetime: borrows the tables and the locks. The destructor waits until all calls are answered.
class ItemEndpoint {
public:
    // `flush_soon` is for stores whose commits do not wait for the disk. It must cause a call of
    // flush() soon, on any thread. If it is empty, a thread of the endpoint commits the queued
    // writes. `rule` applies to the principals that writes of the C++ client name; it may be null,
    // and must outlive the endpoint.
    ItemEndpoint(TableService& tables, LockService& locks, std::function<void(const Error&)> failed,
                 std::function<void()> flush_soon = {}, PrincipalRule* rule = nullptr);

    using Done = std::function<void(ServiceAnswer)>;

    // As answer_from_cache(), and counts the response. If ask_cache() returns nullopt, the caller
    // must call ask().
    std::optional<ServiceAnswer> ask_cache(ItemCall& call);

    // Starts a call that ask_cache() did not answer, and returns within some microseconds. Calls
    // `done` once, on a thread of the endpoint or within flush(). Thread-safe.
    void ask(std::unique_ptr<ItemCall> call, Done done);

    // If `flush_soon` was passed: commits the queued writes together and answers them.
    void flush();

    std::vector<UserTableUsage> user_usage() const { return tables_.user_usage(); }
    std::uint64_t draft_count() const { return tables_.draft_count(); }
    // Returns the counters of all answered requests by operation. Requests without a known
    // operation count as `other`.
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

    // The maximum number of threads. A request that is not a queued write occupies a thread while
    // it waits for a sync, so at most this number of such requests wait at the same time.
    static constexpr std::size_t max_concurrent = 32;

    TableService& tables_;
    LockService& locks_;
    const std::function<void(const Error&)> failed_;
    const std::function<void()> flush_soon_;
    PrincipalRule* const rule_;
    const std::vector<std::string_view> operations_;
    CallCounters counters_;
    Mutex mutex_;
    std::vector<BegunWrite> queued_ ROCKLOCK_GUARDED_BY(mutex_);
    // Set while a thread, or the next flush(), is going to finish the writes in `queued_`.
    bool finishing_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    WorkThreads threads_;
};

}  // namespace rocklock
