// The rights of the clients of another host (RemoteNode).
#pragma once

#include <optional>

#include <rocklock/error.hpp>

#include "service/remote_users.hpp"
#include "wire/call.hpp"

namespace rocklock {

// Returns true if the clients of the node may name every resource.
bool may_name_all(const RemoteNode& node);

// Returns access_denied if a client of the node may not make the call: because the node may not use
// locks, or because the call names, or could return, resources that the node may not name.
std::optional<Error> check_rights(const RemoteNode& node, const CallBody& body);

}  // namespace rocklock
