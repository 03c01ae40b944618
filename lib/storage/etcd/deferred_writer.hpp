// Writes the deferred commits that no other write has included.
//
// A write to etcd takes a long time. The leader of the group commit therefore returns when its own
// commit is done, even if deferred commits were queued meanwhile (Engine::leaves_deferred()).
// Usually, the next write contains them. Otherwise, this thread writes them 5 ms after request().
#pragma once

#include <functional>
#include <stop_token>
#include <thread>

#include "base/mutex.hpp"

namespace rocklock::etcd {

// Threads: thread-safe, except for stop().
class DeferredWriter {
public:
    // `write` writes the deferred commits that are queued. It is called by the thread of this
    // object.
    explicit DeferredWriter(std::function<void()> write);
    DeferredWriter(const DeferredWriter&) = delete;
    DeferredWriter& operator=(const DeferredWriter&) = delete;
    ~DeferredWriter() { stop(); }

    // Requests a call of `write` soon.
    void request();
    // Ends the thread, and waits for it. A request that was not yet executed is discarded: close
    // the group commit before, which writes the queue.
    void stop();

private:
    void run(const std::stop_token& stop);

    const std::function<void()> write_;
    Mutex mutex_;
    CondVar changed_;
    bool requested_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace rocklock::etcd
