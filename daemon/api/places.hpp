// What there is to GET, beside the calls: how the daemon is, its figures, and a page for people.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include <rocklock/database.hpp>

#include "daemon/api/call_book.hpp"
#include "daemon/api/edit_site.hpp"
#include "daemon/api/table_site.hpp"
#include "daemon/http/http_answer.hpp"
#include "daemon/http/http_reader.hpp"

namespace rocklock {

// What all connections of a server add up to.
struct Traffic {
    std::atomic<int> connections{0};
    // Requests that are not answered, or answers that are not sent.
    std::atomic<int> busy{0};
    // When a request came last, in milliseconds of the steady clock.
    std::atomic<std::int64_t> last_request{0};
    // Connections that were accepted, and those of them that were too many.
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> refused{0};
    // Connections that made room, since they had asked nothing.
    std::atomic<std::uint64_t> dropped{0};
};

// Threads:  thread-safe.
// Lifetime: borrows all it is given; tables there may be none.
class Places {
public:
    struct Facts {
        // The path of the Unix socket.
        std::string socket;
        std::string durability;
    };

    Places(LockService& service, const CallBook& book, const Traffic& traffic,
           const std::atomic<bool>& stopping, Facts facts, const TableSite* tables = nullptr,
           const EditSite* edits = nullptr);

    // Answers everything but a call: 404 where there is nothing, 405 for a method that is not for
    // the place.
    HttpAnswer get(const HttpRequest& request) const;

private:
    HttpAnswer front(const HttpRequest& request) const;
    HttpAnswer ready() const;
    HttpAnswer metrics() const;

    LockService& service_;
    const CallBook& book_;
    const Traffic& traffic_;
    const std::atomic<bool>& stopping_;
    const Facts facts_;
    const TableSite* const tables_;
    const EditSite* const edits_;
    const std::string page_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace rocklock
