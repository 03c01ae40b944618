// The end of coroutines that must run as long as the daemon.
#pragma once

#include <exception>

namespace rocklock {

// The completion handler for co_spawn() of such a coroutine. If the coroutine has ended with an
// exception, the exception leaves io_context::run() and ends the process. With asio::detached, the
// exception would be dropped, and the daemon would continue without the coroutine.
inline void rethrow(const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
}

}  // namespace rocklock
