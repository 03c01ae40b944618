// Writes the deferred commits that no other write has taken along.
//
// A write of a store on etcd takes long, so its leader returns when its own commit is done, even if
// deferred commits were queued meanwhile (Engine::leaves_deferred()). Usually, the next write
// contains them. Otherwise, this thread writes them after a few milliseconds.
#pragma once

#include <functional>
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
    // Ends the thread, and waits for it.
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
