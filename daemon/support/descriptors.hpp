// The file descriptors of the daemon. Each client needs one, and each watched process.
#pragma once

#include <rocklock/result.hpp>

namespace rocklock {

// If stdin, stdout or stderr is closed, occupies its number, so that no file of the program gets it
// and is overwritten by printed text; writing to it still fails. Call it before anything is opened.
// Child processes get the descriptors closed, as before.
void keep_standard_descriptors();

// Raises the limit of descriptors as far as the process may. Returns the number of connections for
// which they suffice, besides the store, watched processes and refusals.
//
// Errors: io_error   there are too few descriptors for the store
Result<int> raise_descriptor_limit();

// Returns the number of descriptors that are reserved for clients that are being refused. Call it
// after raise_descriptor_limit().
int refusal_descriptors();

// A descriptor in reserve. If none is left, it is given up so that a client can be accepted and
// refused with a response.
class SpareDescriptor {
public:
    SpareDescriptor() { take(); }
    SpareDescriptor(const SpareDescriptor&) = delete;
    SpareDescriptor& operator=(const SpareDescriptor&) = delete;
    ~SpareDescriptor() { give(); }
    void take();
    void give();

private:
    int fd_ = -1;
};

}  // namespace rocklock
