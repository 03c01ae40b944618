// Loads the client of etcd, which is in a shared library of its own.
#pragma once

#include <memory>

#include "storage/etcd/client/client.hpp"

namespace rocklock::etcd {

// Loads librocklock_etcd if it is not loaded yet, and returns a new client. Does not connect.
//
// The library is searched in the folder of this code (the program, or librocklock), in the folder
// of libraries next to that folder, and in the search path of the system. If the environment
// variable ROCKLOCK_ETCD_LIBRARY is set, its value is the path of the library.
//
// Never call it in a process that forks later without executing another program: gRPC, which starts
// threads, does not work in the child.
//
// Threads: thread-safe.
// Errors:  invalid_argument  the library is not installed, has another version, or cannot be
//                            loaded; or an option is invalid
Result<std::unique_ptr<Client>> load_client(const ClientOptions& options);

}  // namespace rocklock::etcd
