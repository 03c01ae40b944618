// Notices to the owner of a session about events that it has not caused itself.
//
// A notice is delivered by AwaitNotices as soon as the event is decided, and otherwise in the
// response to the next renewal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// Another session waits for a resource of a grant, or asks to take the grant over.
struct Wanted {
    GrantId grant{};
    std::string resource;
    // The principal that wants the resource, the mode, and since when.
    std::string by;
    Mode mode = Mode::write;
    WallTime since;
    // If the session asks to take the grant over: the time from which it can do so, unless
    // AnswerWanted answers it earlier. None if the session only waits.
    std::optional<WallTime> answer_by{};
    // If the session asks to take the grant over: the reason that it has given.
    std::string reason{};
    // The number of the notice. Increases from notice to notice of a session, also across restarts.
    std::uint64_t number = 0;
};

// A grant that has expired, or was stolen or broken.
struct LostGrant {
    GrantId grant{};
    Ending ending;
    // As in Wanted.
    std::uint64_t number = 0;
};

// The holder has answered this session's request to take a grant over.
struct TakeOverAnswer {
    GrantId grant{};
    // The resource for which the holder was asked.
    std::string resource;
    // The principal of the holder.
    std::string by;
    // True: Steal succeeds from now on, as long as the holder has the grant. False: the holder can
    // be asked again from `ask_again` on.
    bool allowed = false;
    std::optional<WallTime> ask_again{};
    // As in Wanted.
    std::uint64_t number = 0;
};

// The notices of a session, each list in the order of the events. At most the newest 100 of each.
struct Notices {
    std::vector<Wanted> wanted;
    std::vector<LostGrant> lost;
    std::vector<TakeOverAnswer> answers;
    // The `after` of the next AwaitNotices.
    std::uint64_t after = 0;

    bool empty() const { return wanted.empty() && lost.empty() && answers.empty(); }
};

// Waits until the session has notices with a number greater than `after`, and returns them. Does
// not renew the session. At most 4 requests of a session can wait; they all get the same notices.
//
// Errors: session_expired, with the reason, when the session ends; limit_exceeded; cancelled.
struct AwaitNotices {
    using Answer = Notices;
    SessionId session;
    // 0: also the notices that the session has at the time of the request.
    std::uint64_t after = 0;
    // After this time the response is empty. Zero: do not wait. no_limit: wait without a limit.
    std::chrono::milliseconds patience{0};
};

}  // namespace rocklock
