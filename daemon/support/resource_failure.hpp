// Ends the process with a message and exit status 70 when the system has no memory or no thread
// left for it, instead of by SIGABRT.
//
// The daemon does not go on after a failed allocation: the lock table could be left half changed.
// All that it has answered is in the store, and the next start recovers it.
#pragma once

namespace rocklock {

// For the whole process. Call it once, before any thread is started.
void end_on_resource_failure();

}  // namespace rocklock
