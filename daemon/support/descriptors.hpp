// The file descriptors of the daemon: each client takes one, and each process that is watched.
#pragma once

#include <rocklock/result.hpp>

namespace rocklock {

// Where the program was started with stdin, stdout or stderr closed, takes their numbers, so that
// no file of ours gets one and what is printed goes into it: to write there still fails. Before
// anything is opened. The commands that we run have them closed again.
void keep_standard_descriptors();

// Raises the limit of descriptors as far as the process may. Returns for how many connections they
// suffice, beside the store, processes that are watched, and refusals.
//
// Errors: io_error  there are too few for the store alone
Result<int> raise_descriptor_limit();

// One that is given up when there is no other, so that whoever comes can be told so.
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
