// Work that is done meanwhile.
#pragma once

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rocklock {

// Does `work` on a thread of its own; where none is to be had, on the caller's, when what comes of
// it is asked for. The future waits for it before it goes.
template <typename Work>
std::future<std::invoke_result_t<Work&>> start_background(Work work) {
    try {
        return std::async(std::launch::async, work);
    } catch (const std::system_error&) {
        return std::async(std::launch::deferred, std::move(work));
    }
}

}  // namespace rocklock
