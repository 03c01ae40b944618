// If no memory can be allocated or no thread can be created, ends the process with a message and
// exit status 70 instead of SIGABRT.
//
// The daemon does not continue after a failed allocation, because the lock table could be
// inconsistent. All acknowledged changes are in the store, and the next start recovers them.
#pragma once

namespace rocklock {

// Applies to the whole process. Must be called once, before threads are started.
void end_on_resource_failure();

}  // namespace rocklock
