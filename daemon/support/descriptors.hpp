// The file descriptors of the daemon. Each client and each watched process needs one.
#pragma once

#include <rocklock/result.hpp>

namespace rocklock {

// If stdin, stdout or stderr is closed, opens /dev/null with the number of the closed descriptor.
// Without this call, the next file that the program opens would get this number, and printed text
// would overwrite the file. As with a closed descriptor, writes to the number fail, and programs
// that this process executes do not inherit it. Must be called before the program opens any file.
void keep_standard_descriptors();

// Raises the limit of descriptors to the hard limit. Returns the number of descriptors that remain
// for connections after those for the store, watched processes and refusals. If more than half of
// the limit is reserved for these other uses, returns half of the limit. Connections can then take
// descriptors that the other uses need.
//
// Errors: io_error   there are too few descriptors for the store
Result<int> raise_descriptor_limit();

// Returns the number of descriptors that are reserved for clients that are being refused. Must be
// called after raise_descriptor_limit().
int refusal_descriptors();

// A descriptor in reserve. If the process has no free descriptor, the reserved descriptor is
// closed, so that a client can be accepted and refused with a response. give() closes the
// descriptor. take() opens it again if it is closed and a descriptor is free.
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
