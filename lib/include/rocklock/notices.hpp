// Notices to the owner of a session about events that other clients or an expiry have caused.
//
// If a request AwaitNotices of the session is waiting, it returns the notice as soon as the event
// is committed. If none is waiting, the notice is kept, and the session's next AwaitNotices or next
// renewal returns it.
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
    // The principal that wants the resource.
    std::string by;
    // The mode in which the other session requests the resource. If it asks to take the grant over:
    // the mode in which the grant holds the resource.
    Mode mode = Mode::write;
    // The time at which the other session began to wait, or asked.
    WallTime since;
    // If the other session asks to take the grant over: the time from which it can do so, unless
    // the holder answers earlier with AnswerWanted. None if the other session only waits.
    std::optional<WallTime> answer_by{};
    // If the other session asks to take the grant over: the reason that it has given.
    std::string reason{};
    // The number of the notice. Each notice of a session has a greater number than all earlier
    // ones, also after a restart.
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
    // The resource named in the request to take over.
    std::string resource;
    // The principal of the holder.
    std::string by;
    // If true, this session may steal the grant from now on until the grant ends. If false, it can
    // ask the holder again from the time `ask_again` on.
    bool allowed = false;
    std::optional<WallTime> ask_again{};
    // As in Wanted.
    std::uint64_t number = 0;
};

// The notices of a session. Each list contains the newest notices, at most 100, in the order of the
// events.
struct Notices {
    std::vector<Wanted> wanted;
    std::vector<LostGrant> lost;
    std::vector<TakeOverAnswer> answers;
    // The value to pass as `after` in the next AwaitNotices.
    std::uint64_t after = 0;

    bool empty() const { return wanted.empty() && lost.empty() && answers.empty(); }
};

// Waits until the session has notices with a number greater than `after`, and returns them. Does
// not renew the session. At most 4 requests AwaitNotices of one session can wait at the same time;
// a notice completes all of them.
//
// Errors: session_expired, with the reason, if the session has ended or ends during the wait;
//         limit_exceeded if 4 requests already wait; cancelled.
struct AwaitNotices {
    using Answer = Notices;
    SessionId session;
    // Confirms the notices with numbers up to this one, which are then deleted. 0 confirms none.
    std::uint64_t after = 0;
    // The maximum time to wait. If there is no notice within this time, the response is empty. Zero
    // means that the request does not wait. `no_limit` (<rocklock/lock.hpp>) means that it waits
    // without a limit.
    std::chrono::milliseconds patience{0};
};

}  // namespace rocklock
