// The lock API's verbs about items: a call over HTTP, to its answer.
//
//     read ──► locks of its items ──► asked as the client's own call ──► items read behind the
//     grant
//
// It runs in threads of its own, since the tables may wait for the disk; while a BeginEdit waits
// for its locks it has none.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <rocklock/error.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>

#include "base/work_threads.hpp"
#include "service/dispatcher.hpp"
#include "service/metrics.hpp"
#include "service/service_answer.hpp"
#include "wire/edit_json.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows the tables and the locks. The destructor waits for what it has begun.
class EditEndpoint {
public:
    // `failed` is told of what is no fault of a request.
    EditEndpoint(TableService& tables, LockService& locks,
                 std::function<void(const Error&)> failed);

    // Has the client ask for a call of its own, so that what it leaves behind is seen to.
    using AskClient = std::function<void(Call call, Dispatcher::Done done)>;
    using Done = std::function<void(ServiceAnswer)>;

    // What a client sent, and its uid.
    struct Sent {
        std::string body;
        std::uint32_t uid = 0;
    };

    // Calls `done` once, from one of its threads or from where the client was answered.
    void ask(EditBody verb, Sent sent, AskClient ask_client, Done answered);

    const CallCounters& counters() const { return counters_; }

private:
    void begin(EditCall edit, const AskClient& ask_client, Done done);
    void take_over(EditCall edit, const AskClient& ask_client, Done done);
    void lock_and_read(Call call, std::vector<ItemToLock> items, const AskClient& ask_client,
                       Done done);
    Result<std::string> read(const Grant& grant, const std::vector<ItemToLock>& items);
    Result<std::string> show(const ShowEdit& edit);
    ServiceAnswer save(SaveEdit save, const Secret& secret, std::uint32_t uid);
    ServiceAnswer response_of(Result<std::string> answer) const;

    // Waits of a disk are short, and those of one sync are shared.
    static constexpr std::size_t max_concurrent = 16;

    TableService& tables_;
    LockService& locks_;
    const std::function<void(const Error&)> failed_;
    CallCounters counters_;
    WorkThreads threads_{max_concurrent};
};

}  // namespace rocklock
