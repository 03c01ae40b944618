// Executes the verbs of the lock API that lock items and read or write them, such as BeginEdit.
//
//     parse ──► determine the locks of the items ──► acquire them for the client (AskClient)
//         ──► read the items under the grant
//
// Because the functions of tables may wait for the disk, the steps run on threads of the endpoint.
// A BeginEdit that waits for its locks does not occupy a thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <rocklock/error.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>

#include "base/work_threads.hpp"
#include "service/dispatcher.hpp"
#include "service/metrics.hpp"
#include "service/service_answer.hpp"
#include "wire/edit_json.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: borrows the tables and the locks. The destructor waits until all started work has
// ended.
class EditEndpoint {
public:
    // `failed` is called with errors that the request did not cause.
    EditEndpoint(TableService& tables, LockService& locks,
                 std::function<void(const Error&)> failed);

    // If the items of a granted request cannot be read, the endpoint calls this function before it
    // releases the grant. Returns false if the endpoint must not release the grant, because the
    // client has disconnected and the grant was already returned to the lock manager
    // (ClientSession::take_back).
    using TakeBack = std::function<bool()>;
    using Replied = std::function<void(Result<Reply> reply, TakeBack take_back)>;
    // Executes a call as the client. If the client disconnects, the call is cancelled, or its grant
    // is released.
    using AskClient = std::function<void(Call call, Replied replied)>;
    using Done = std::function<void(ServiceAnswer)>;

    // The body of a request, the uid of its client, and the function that reserves memory for the
    // items in its response.
    struct Sent {
        std::string body;
        UserId uid = 0;
        AnswerRoom room{};
    };

    // Executes a request. Calls `answered` once, on a thread of the endpoint or on the thread that
    // completes the client's call.
    void ask(EditBody verb, Sent sent, AskClient ask_client, Done answered);

    const CallCounters& counters() const { return counters_; }

private:
    // The client of a request, and the function that gets its answer.
    struct Client {
        AskClient ask;
        AnswerRoom room;
        Done done;
    };

    void begin(EditCall edit, Client client);
    void take_over(EditCall edit, Client client);
    void lock_and_read(Call call, std::vector<ItemToLock> items, Client client);
    Result<std::string> read(const Grant& grant, const std::vector<ItemToLock>& items,
                             const AnswerRoom& room);
    Result<std::string> show(const ShowEdit& edit);
    ServiceAnswer save(SaveEdit save, const Secret& secret, UserId uid);
    ServiceAnswer response_of(Result<std::string> answer) const;

    // The maximum number of threads. They mainly wait for the disk, and share syncs.
    static constexpr std::size_t max_concurrent = 16;

    TableService& tables_;
    LockService& locks_;
    const std::function<void(const Error&)> failed_;
    CallCounters counters_;
    WorkThreads threads_{max_concurrent};
};

}  // namespace rocklock
