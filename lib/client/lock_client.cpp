#include "client/lock_client.hpp"

#include <utility>

#include "wire/call_json.hpp"

namespace rocklock {

Result<Reply> LockClient::call(const Call& call, const CallLimits& limits) {
    const auto target = std::string(target_prefix).append(verb_name(call.body));
    auto answer =
        connections_.post({target, "application/x-amz-json-1.0", write_call(call)}, limits);
    if (!answer) return std::move(answer).error();
    if (auto overload = overload_error(*answer)) return *std::move(overload);
    if (answer->status != 200) return read_error(answer->body);
    return read_reply(call.body, answer->body);
}

}  // namespace rocklock
