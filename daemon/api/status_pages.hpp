// The resources for GET: health checks, metrics, and a web page for people.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <rocklock/database.hpp>
#include <rocklock/identity.hpp>

#include "base/mutex.hpp"
#include "daemon/api/traffic.hpp"
#include "daemon/http/http_reader.hpp"
#include "service/call_recorder.hpp"
#include "service/edit_endpoint.hpp"
#include "service/item_endpoint.hpp"
#include "service/metrics.hpp"
#include "service/remote_users.hpp"
#include "service/service_answer.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows all arguments. `tables` and `edits` may be null.
class StatusPages {
public:
    struct Facts {
        // The path of the Unix socket.
        std::string socket;
        std::string durability;
        // Returns the statistics of the storage. Empty if there is no storage.
        std::function<StorageStatistics()> storage{};
        // The names of users of other hosts. May be null.
        const RemoteUsers* remote_users = nullptr;
        // Appends further metrics. May be empty.
        std::function<void(std::string& text)> more_metrics{};
    };

    StatusPages(LockService& service, const CallRecorder& recorder, const Traffic& traffic,
                const std::atomic<bool>& stopping, Facts facts,
                const ItemEndpoint* tables = nullptr, const EditEndpoint* edits = nullptr);

    // Sets the limits of users, which the metrics report.
    void set_user_limits(const UserLimits& limits, const UserConnectionLimits& connections);

    // Answers a request that is not a call. Returns 404 if the path is unknown, and 405 if the
    // resource does not support the method.
    ServiceAnswer get(const HttpRequest& request) const;

private:
    ServiceAnswer front(const HttpRequest& request) const;
    ServiceAnswer ready() const;
    ServiceAnswer metrics() const;
    std::map<UserId, UserUsageLine> usage_of(const LockStatistics& statistics) const;

    LockService& service_;
    const CallRecorder& recorder_;
    const Traffic& traffic_;
    const std::atomic<bool>& stopping_;
    const Facts facts_;
    const ItemEndpoint* const tables_;
    const EditEndpoint* const edits_;
    const std::string page_;
    mutable Mutex mutex_;
    UserLimits user_limits_ ROCKLOCK_GUARDED_BY(mutex_);
    UserConnectionLimits connection_limits_ ROCKLOCK_GUARDED_BY(mutex_);
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace rocklock
