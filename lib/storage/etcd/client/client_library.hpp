// The interface between this library and librocklock_etcd, which is loaded at run time.
#pragma once

#include <rocklock/error.hpp>

#include "storage/etcd/client/client.hpp"

namespace rocklock::etcd {

// The type of the only function that librocklock_etcd exports. `version` is the version of the
// caller. If it is not the version of the library, the function returns null and does not access
// the other arguments, because their types may differ.
//
// Otherwise returns a new client, or null after setting `error` (invalid_argument). Does not
// connect.
using MakeClient = Client*(const char* version, const ClientOptions& options, Error& error);

// The name of that function.
inline constexpr const char* make_client_name = "rocklock_make_etcd_client";

}  // namespace rocklock::etcd
