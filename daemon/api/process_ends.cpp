#include "daemon/api/process_ends.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include <boost/system/error_code.hpp>

#include "service/process_id.hpp"

namespace rocklock {

void ProcessEnds::watch(const ProcessId& process) {
    {
        const MutexLock lock(mutex_);
        if (stopped_ || processes_.find(process) != processes_.end()) return;
        processes_.emplace(process, nullptr);
        if (open(process)) return;
    }
    end(process);
}

// Returns false if the process has ended.
bool ProcessEnds::open(const ProcessId& process) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    if (fd < 0) return errno != ESRCH && errno != EINVAL;
    auto pidfd = std::make_shared<Descriptor>(executor_);
    boost::system::error_code refused;
    pidfd->assign(fd, refused);
    if (refused) {
        ::close(fd);
        return true;
    }
    processes_[process] = pidfd;
    if (!is_running(process)) return false;
    await_end(process, pidfd);
    return true;
}

// A wait can complete because of a late event of a closed descriptor if the pidfd has reused its
// number. Therefore the pidfd itself is polled.
void ProcessEnds::await_end(const ProcessId& process, const std::shared_ptr<Descriptor>& pidfd) {
    // The handler holds no strong reference, so that forget() closes the descriptor.
    const std::weak_ptr<Descriptor> waits = pidfd;
    pidfd->async_wait(Descriptor::wait_read, [this, process, waits](const auto& error) {
        const auto watched = waits.lock();
        if (error || !watched) return;
        pollfd ended{watched->native_handle(), POLLIN, 0};
        if (::poll(&ended, 1, 0) == 0) return await_end(process, watched);
        end(process);
    });
}

void ProcessEnds::end(const ProcessId& process) {
    {
        const MutexLock lock(mutex_);
        if (processes_.erase(process) == 0) return;
    }
    ended_(process);
}

void ProcessEnds::forget(const ProcessId& process) {
    const MutexLock lock(mutex_);
    processes_.erase(process);
}

void ProcessEnds::stop() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    processes_.clear();
}

}  // namespace rocklock
