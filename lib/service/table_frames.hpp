// Executes the requests for tables that the C++ client sends. A request is the bytes of a
// TableFrame (wire/table_frame.hpp), and the response contains the bytes of a frame too.
#pragma once

#include <functional>
#include <string_view>

#include <rocklock/error.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>

#include "service/service_answer.hpp"
#include "service/service_request.hpp"

namespace rocklock {

class PrincipalRule;

// Returns true if the request is a TableFrame, according to its X-Amz-Target.
bool is_table_frame_request(const ServiceRequest& request);

// Executes a request, and waits for the disk if necessary. Thread-safe. If the request contains
// proofs of locks, first checks the secret of each session in the proofs, as for the header
// X-Rocklock-Session. `failed` is called with errors that the request did not cause.
ServiceAnswer answer_table_frame(const ServiceRequest& request, TableService& tables,
                                 LockService* locks, PrincipalRule* rule,
                                 const std::function<void(const Error&)>& failed);

}  // namespace rocklock
