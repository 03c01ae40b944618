// A frequent call that is decided without function objects, because it usually does not wait.
//
//     DirectCall::read_frame() or read_json()
//       └► ClientSession::decide_now() ──► DirectConnection::decided(): the reply
//            │         │                            │ release()
//            │         └► waits(): as other calls   ▼
//            └► false: the general path         may be sent
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <rocklock/lock.hpp>

#include "lock/manager/server_service.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {

// An Acquire of one lock by an existing session with Held::refuse or Held::join, or a Release.
//
// Threads: one at a time.
class DirectCall {
public:
    DirectCall();

    // Return the objects of the calling thread for calls in frames and for calls as JSON. Calls
    // reuse their memory.
    static DirectCall& frame_of_this_thread();
    static DirectCall& json_of_this_thread();

    // Reads the body of a call frame. Returns false if it is another call, or invalid: it must then
    // be passed to read_call_frame(). An object is used either for this function or for
    // read_json().
    bool read_frame(std::string_view body);
    // Returns whether a call with this verb can be a direct call.
    static bool has_verb(std::string_view verb) { return verb == "Acquire" || verb == "Release"; }
    // Reads the body of a call as JSON. Returns false if the call is not an Acquire or a Release
    // that read_usual_body() can read: it must then be passed to read_call().
    bool read_json(std::string_view verb, std::string_view body);

    const Event& event() const { return acquires_ ? acquire_event_ : release_event_; }
    const SessionId& session() const { return acquires_ ? *acquire_.session : release_.session; }
    const Secret& secret() const { return secret_; }
    // The index of the verb in CallBody.
    std::size_t verb() const;
    // Whether the client can get the grant again if it does not receive the reply. True for a
    // Release.
    bool may_ask_again() const { return !acquires_ || joins() || !acquire_.request_id.empty(); }
    // Whether the reply may contain a grant that the session had before the call.
    bool joins() const { return acquires_ && acquire_.held == Held::join; }

private:
    Event acquire_event_{Request(Acquire())};
    Event release_event_{Request(Release())};
    Acquire& acquire_;
    Release& release_;
    Secret secret_;
    bool acquires_ = false;
};

// The connection on which a direct call has arrived.
class DirectConnection : public ResponseReceiver {
public:
    // The call was decided. The reply must not be sent before release() is called with the number
    // of the call. `started` must be passed to ClientSession::released(). Called on the thread
    // that calls decide_now(), with mutexes held: must not call the ClientSession.
    virtual void decided(std::uint64_t number, const Result<Answer>& answer,
                         const CallObserver::Started& started) = 0;
    // The call waits. Returns the function that receives its reply. Called with mutexes held: must
    // not call the ClientSession.
    virtual Dispatcher::Done waits(std::uint64_t number) = 0;
};

}  // namespace rocklock
