// Runs a function in the background.
#pragma once

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rocklock {

// Calls `work` on a new thread and returns a future for its result. If no thread can be started,
// get() of the future calls `work` on the thread that calls get().
//
// The destructor of the future waits until a started `work` has returned. If no thread could be
// started and get() is never called, `work` never runs.
template <typename Work>
std::future<std::invoke_result_t<Work&>> start_background(Work work) {
    try {
        return std::async(std::launch::async, work);
    } catch (const std::system_error&) {
        return std::async(std::launch::deferred, std::move(work));
    }
}

}  // namespace rocklock
