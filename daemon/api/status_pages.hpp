// The resources for GET: health checks, metrics, and a web page for people.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include <rocklock/database.hpp>

#include "daemon/api/traffic.hpp"
#include "daemon/http/http_reader.hpp"
#include "service/call_recorder.hpp"
#include "service/edit_endpoint.hpp"
#include "service/item_endpoint.hpp"
#include "service/metrics.hpp"
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
        UserLimits user_limits{};
        std::uint64_t max_user_connections = 0;
        std::uint64_t max_user_buffer_bytes = 0;
    };

    StatusPages(LockService& service, const CallRecorder& recorder, const Traffic& traffic,
                const std::atomic<bool>& stopping, Facts facts,
                const ItemEndpoint* tables = nullptr, const EditEndpoint* edits = nullptr);

    // Answers a request that is not a call. Returns 404 if the path is unknown, and 405 if the
    // resource does not support the method.
    ServiceAnswer get(const HttpRequest& request) const;

private:
    ServiceAnswer front(const HttpRequest& request) const;
    ServiceAnswer ready() const;
    ServiceAnswer metrics() const;
    std::map<std::uint32_t, UserUsageLine> usage_of(const LockStatistics& statistics) const;

    LockService& service_;
    const CallRecorder& recorder_;
    const Traffic& traffic_;
    const std::atomic<bool>& stopping_;
    const Facts facts_;
    const ItemEndpoint* const tables_;
    const EditEndpoint* const edits_;
    const std::string page_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace rocklock
