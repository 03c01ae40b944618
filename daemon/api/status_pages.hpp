// What there is to GET, beside the calls: how the daemon is, its figures, and a page for people.
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
// Lifetime: borrows all it is given; tables there may be none.
class StatusPages {
public:
    struct Facts {
        // The path of the Unix socket.
        std::string socket;
        std::string durability;
        UserLimits user_limits{};
        std::uint64_t max_user_connections = 0;
    };

    StatusPages(LockService& service, const CallRecorder& book, const Traffic& traffic,
                const std::atomic<bool>& stopping, Facts facts,
                const ItemEndpoint* tables = nullptr, const EditEndpoint* edits = nullptr);

    // Answers everything but a call: 404 where there is nothing, 405 for a method that is not for
    // the place.
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
