#include "base/user_limit.hpp"

namespace rocklock {

Error user_limit_exceeded(UserId uid, std::string_view what, std::uint64_t count, std::uint64_t max,
                          std::string_view option) {
    const bool over_tcp = uid_of(uid) == tcp_user;
    std::string text =
        over_tcp ? std::string("all clients over TCP") : "user " + std::to_string(uid_of(uid));
    if (node_number_of(uid) != 0) text += " of the client's host";
    text += over_tcp ? " together have " : " has ";
    text += std::to_string(count) + " " + std::string(what) + ", and the limit is " +
            std::to_string(max) + ": end some of them, or ask the operator to raise " +
            std::string(option);
    Error error(ErrorCode::limit_exceeded, std::move(text));
    error.limit = max;
    return error;
}

}  // namespace rocklock
