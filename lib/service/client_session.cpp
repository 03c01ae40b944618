#include "service/client_session.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "base/assert.hpp"
#include "base/mutant.hpp"

namespace rocklock {
namespace {

// Returns true if a grant is not released when its response is lost: the client can retry the call
// with the same request id, or its session may have held the grant before and can join it again.
bool may_ask_again(const Call& call) {
    const auto* acquire = std::get_if<Acquire>(&call.body);
    if (acquire == nullptr || !acquire->request_id.empty()) return true;
    return acquire->held == Held::join && acquire->session.has_value();
}

std::optional<SessionId> to_rebind(const Call& call) {
    const auto* renewal = std::get_if<RenewSession>(&call.body);
    if (renewal == nullptr || !call.rebind) return std::nullopt;
    return renewal->session;
}

std::optional<SessionId> session_of(const Result<Reply>& reply) {
    if (!reply) return std::nullopt;
    if (const auto* session = std::get_if<SessionInfo>(&*reply)) return session->id;
    const auto* grant = std::get_if<Grant>(&*reply);
    if (grant == nullptr || !grant->own_session) return std::nullopt;
    return grant->own_session->id;
}

UndeliveredGrant undelivered_grant(const Grant& grant) {
    return {grant.session, grant.id, grant.own_session.has_value()};
}

Error client_gone() {
    return {ErrorCode::cancelled,
            "the client disconnected before the response, so its request was undone"};
}

}  // namespace

void ClientSession::ask(Call&& call, std::uint64_t number, Dispatcher::Done done) {
    {
        MutexLock lock(mutex_);
        asked_[number] = {std::nullopt, opens_with_connection(call.body), may_ask_again(call),
                          to_rebind(call)};
    }
    std::function<void(Ticket)> late_ticket;
    if (Dispatcher::searches_for_process(call, caller_)) {
        late_ticket = [self = shared_from_this(), number](Ticket ticket) {
            self->keep_ticket(number, ticket);
        };
    }
    const auto ticket = dispatcher_.submit(
        std::move(call), caller_,
        [self = shared_from_this(), number, done = std::move(done)](Result<Reply>&& reply) {
            self->answered(number, std::move(reply), done);
        },
        &proven_, std::move(late_ticket));
    if (ticket) keep_ticket(number, *ticket);
}

class ClientSession::Deciding final : public DirectRequest {
public:
    Deciding(ClientSession& session, const DirectCall& call,
             const std::shared_ptr<DirectConnection>& connection)
        : session_(session),
          call_(call),
          connection_(connection),
          number_(session.next_number()),
          started_(session.dispatcher_.begin(call)) {}

    std::shared_ptr<ResponseReceiver> receiver() override { return connection_; }
    std::uint64_t id() const override { return number_; }

    void decided(const Result<Answer>& answer) override {
        session_.decided(call_, number_, answer);
        connection_->decided(number_, answer, started_);
    }

    LockService::Completion waits(Ticket ticket) override {
        ticket_ = ticket;
        {
            MutexLock lock(session_.mutex_);
            session_.asked_[number_].may_ask_again = call_.may_ask_again();
        }
        return session_.dispatcher_.completion_of(
            started_, [self = session_.shared_from_this(), number = number_,
                       done = connection_->waits(number_)](Result<Reply>&& reply) {
                self->answered(number, std::move(reply), done);
            });
    }

    // After the call was decided, or has begun to wait.
    void finish() {
        if (ticket_) session_.keep_ticket(number_, *ticket_);
    }

private:
    ClientSession& session_;
    const DirectCall& call_;
    const std::shared_ptr<DirectConnection>& connection_;
    const std::uint64_t number_;
    const CallObserver::Started started_;
    std::optional<Ticket> ticket_;
};

bool ClientSession::decide_now(const DirectCall& call,
                               const std::shared_ptr<DirectConnection>& connection) {
    Deciding deciding(*this, call, connection);
    if (!dispatcher_.decide_now(call, caller_, proven_, deciding)) return false;
    deciding.finish();
    return true;
}

// Until the response was placed in the output and confirmed, hang_up() returns the grant to the
// lock manager.
void ClientSession::decided(const DirectCall& call, std::uint64_t number,
                            const Result<Answer>& answer) {
    if (!answer || call.may_ask_again()) return;
    MutexLock lock(mutex_);
    unconfirmed_.push_back({number, std::nullopt, undelivered_grant(std::get<Grant>(*answer))});
    unconfirmed_count_ = unconfirmed_.size();
}

void ClientSession::released(std::uint64_t number, const CallObserver::Started& started,
                             const Error* error, std::chrono::steady_clock::time_point now) {
    if (error != nullptr) take_back(number);
    dispatcher_.end(started, error, now);
}

void ClientSession::keep_ticket(std::uint64_t number, Ticket ticket) {
    MutexLock lock(mutex_);
    const auto asked = asked_.find(number);
    if (asked == asked_.end()) return;
    if (!gone_ && !waits_no_more_ && !asked->second.withdrawn) {
        asked->second.ticket = ticket;
        return;
    }
    lock.unlock();
    dispatcher_.cancel(ticket);
}

void ClientSession::cancel(std::uint64_t number) {
    std::optional<Ticket> ticket;
    {
        MutexLock lock(mutex_);
        const auto asked = asked_.find(number);
        if (asked == asked_.end()) return;
        asked->second.withdrawn = true;
        ticket = asked->second.ticket;
    }
    if (ticket) dispatcher_.cancel(*ticket);
}

void ClientSession::answered(std::uint64_t number, Result<Reply>&& reply,
                             const Dispatcher::Done& done) {
    bool gone = false;
    Asked asked;
    const auto session = session_of(reply);
    const auto* grant = reply ? std::get_if<Grant>(&*reply) : nullptr;
    {
        MutexLock lock(mutex_);
        gone = gone_;
        asked = asked_[number];
        asked_.erase(number);
        if (!gone && asked.opens_with_connection && session) sessions_.push_back(*session);
        if (!gone && reply && asked.rebinds && dispatcher_.rebind(*asked.rebinds)) {
            sessions_.push_back(*asked.rebinds);
        }
        if (!gone && grant != nullptr && !asked.may_ask_again) {
            unconfirmed_.push_back({number, std::nullopt, undelivered_grant(*grant)});
            unconfirmed_count_ = unconfirmed_.size();
        }
    }
    if (gone && asked.opens_with_connection && session) {
        dispatcher_.close_session(*session, connection_gone);
        return done(client_gone());
    }
    if (gone && grant != nullptr && !asked.may_ask_again) {
        dispatcher_.disconnect({{}, {}, {undelivered_grant(*grant)}});
        return done(client_gone());
    }
    done(std::move(reply));
}

void ClientSession::stop_waiting() {
    std::vector<Ticket> waits;
    {
        MutexLock lock(mutex_);
        waits_no_more_ = true;
        waits = tickets();
    }
    dispatcher_.disconnect({std::move(waits), {}});
}

std::vector<Ticket> ClientSession::tickets() const {
    std::vector<Ticket> waits;
    for (const auto& [number, asked] : asked_) {
        if (asked.ticket) waits.push_back(*asked.ticket);
    }
    return waits;
}

// Returns the waits and sessions that end with the client's input.
Disconnect ClientSession::leave() {
    Disconnect disconnected;
    if (std::exchange(gone_, true)) return disconnected;
    disconnected.waits = tickets();
    ROCKLOCK_ASSERT(disconnected.waits.size() <= asked_.size());
    for (const auto& session : sessions_) {
        disconnected.sessions.push_back({session, std::string(connection_gone)});
    }
    sessions_.clear();
    return disconnected;
}

void ClientSession::placed(std::uint64_t number, std::uint64_t position) {
    MutexLock lock(mutex_);
    for (Unconfirmed& each : unconfirmed_) {
        if (each.number == number) each.end = position;
    }
}

void ClientSession::confirm(std::uint64_t sent) {
    MutexLock lock(mutex_);
    std::erase_if(unconfirmed_,
                  [&](const Unconfirmed& each) { return each.end && *each.end <= sent; });
    unconfirmed_count_ = unconfirmed_.size();
}

bool ClientSession::take_back(std::uint64_t number) {
    MutexLock lock(mutex_);
    std::erase_if(unconfirmed_, [&](const Unconfirmed& each) { return each.number == number; });
    unconfirmed_count_ = unconfirmed_.size();
    return std::find(given_back_.begin(), given_back_.end(), number) == given_back_.end();
}

void ClientSession::end_of_input() {
    Disconnect disconnected;
    {
        MutexLock lock(mutex_);
        disconnected = leave();
    }
    dispatcher_.disconnect(std::move(disconnected));
}

// The sessions of the connection continue, like the sessions of a previous daemon process. The
// client can bind a session to its next connection. If it does not, the session ends with its
// lease.
void ClientSession::lose_relay(std::uint64_t sent) {
    std::vector<SessionId> sessions;
    {
        MutexLock lock(mutex_);
        sessions.swap(sessions_);
    }
    for (const auto& session : sessions) dispatcher_.unbind(session);
    hang_up(sent);
}

void ClientSession::hang_up(std::uint64_t read) {
    Disconnect disconnected;
    {
        MutexLock lock(mutex_);
        disconnected = leave();
        for (const Unconfirmed& each : unconfirmed_) {
            const bool delivered =
                each.end && *each.end <= read && !mutated(Mutant::hang_up_revokes);
            if (delivered) continue;
            disconnected.undelivered.push_back(each.grant);
            given_back_.push_back(each.number);
        }
        unconfirmed_.clear();
        unconfirmed_count_ = 0;
    }
    const auto& [waits, sessions, undelivered] = disconnected;
    if (waits.empty() && sessions.empty() && undelivered.empty()) return;
    dispatcher_.disconnect(std::move(disconnected));
}

}  // namespace rocklock
