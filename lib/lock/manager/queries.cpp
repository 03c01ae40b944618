// Looks up single objects in the lock table, and searches the kept events.
#include <algorithm>
#include <thread>
#include <utility>

#include "lock/manager/core.hpp"
#include "lock/model/lock_query.hpp"

namespace rocklock {

namespace {

// The pause before a lookup is repeated. While a server reads its sockets after a stall, it may
// still find a renewal of an object that seems to have expired.
constexpr std::chrono::milliseconds lookup_pause{1};

}  // namespace

Result<std::vector<LookupResult>> LockManager::lookup(const std::vector<LookupKey>& keys) {
    if (auto error = core_->not_ours()) return *std::move(error);
    for (;;) {
        Core::DeferredActions after;
        std::vector<LookupResult> all;
        Core::CommitDependency dependency;
        Core::CommitDependency written;
        bool stalled = false;
        {
            MutexLock lock(core_->mutex);
            if (core_->failed) return *core_->failed;
            core_->check_time(core_->clock.now().boot, after);
            all = core_->table.lookup(keys, core_->view_time());
            dependency = core_->commits.current();
            written = core_->commits.all_written();
            const BootTime now = core_->clock.now().boot;
            stalled =
                core_->stalls.stalled() &&
                std::any_of(all.begin(), all.end(), [&](auto& one) { return one.until <= now; });
        }
        core_->finish(after);
        if (!stalled) {
            if (auto done = core_->await_dependency(dependency); !done)
                return std::move(done).error();
            if (auto done = core_->await_dependency(written); !done) return std::move(done).error();
            return all;
        }
        std::this_thread::sleep_for(lookup_pause);
    }
}

// Waits until the commits of all earlier decisions are done, so that their events can be published.
Result<void> LockManager::Core::await_events() {
    if (auto error = not_ours()) return *std::move(error);
    CommitDependency dependency;
    CommitDependency written;
    {
        MutexLock lock(mutex);
        if (failed) return *failed;
        dependency = commits.current();
        written = commits.all_written();
    }
    if (auto done = await_dependency(dependency); !done) return done;
    return await_dependency(written);
}

Result<std::vector<std::optional<LockEvent>>> LockManager::events_at(
    const std::vector<std::uint64_t>& sequences) {
    if (auto done = core_->await_events(); !done) return std::move(done).error();
    return core_->events.find(sequences);
}

Result<InRange<LockEvent>> LockManager::events(EventSearch search) {
    if (auto done = core_->await_events(); !done) return std::move(done).error();
    for (;;) {
        if (auto found = core_->events.search(search)) return *std::move(found);
        std::this_thread::sleep_for(manager::step_pause);
    }
}

}  // namespace rocklock
