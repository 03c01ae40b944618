// The messages of a simulated world, and their answers.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "simulation/world_state.hpp"

namespace rocklock::simulation {

using namespace std::chrono_literals;

void World::send(std::size_t client, Event event, std::optional<BootTime> sent) {
    Call call;
    call.event = std::move(event);
    call.client = client;
    call.sent = sent.value_or(clock_.now().boot);
    network_.waiting.push_back(call);
    // Some messages are sent twice.
    if (random_.percent(3)) {
        count_kind("network: a message twice");
        network_.waiting.push_back(call);
    }
}

// Delivers any pending message, not necessarily the oldest.
void World::deliver_to_manager() {
    if (network_.waiting.empty()) return;
    const auto index = random_.percent(60) ? 0 : random_.below(network_.waiting.size());
    if (index > 0) count_kind("network: messages reordered");
    deliver_to_manager(index, true);
}

void World::deliver_to_manager(std::size_t index, bool on_time) {
    if (manager_->failure() || storage_->failure()) return;
    Call call = network_.waiting[index];
    network_.waiting.erase(network_.waiting.begin() + static_cast<std::ptrdiff_t>(index));
    if (random_.percent(2)) return count_kind("network: a message lost");
    if (on_time) tick();
    const auto& request = std::get<Request>(call.event);
    if (waits_for_it_already(request)) return;
    const bool reacquires = std::holds_alternative<Reacquire>(request);
    // The second half of a reacquire is decided after the history has been read. Both halves run in
    // one step here, so that the time of the decision is known.
    if (reacquires && !finish_storage()) return;
    Happened happened;
    happened.event = call.event;
    happened.ticket = Ticket{++life_.tickets};
    happened.now = manager_now();
    next_session();
    happened.fresh = life_.fresh;
    const Ticket own = happened.ticket;
    say("#" + std::to_string(static_cast<std::uint64_t>(own)) + " " +
        clients_[call.client].principal + ": " + proof::describe(call.event));
    expect(happened);
    network_.calls.emplace(own, call);
    const Ticket real =
        manager_->submit(request, [this, own, life = life_.number](const Result<Answer>& answer) {
            life == life_.number ? answered(own, answer) : answered_late(life, own, answer);
        });
    log_.back().commit = storage_->last();
    const auto* acquire = std::get_if<Acquire>(&request);
    const auto* converting = std::get_if<Convert>(&request);
    if ((acquire != nullptr && acquire->patience > 0ms) ||
        (converting != nullptr && converting->patience > 0ms)) {
        if (network_.calls.contains(own)) network_.in_flight[own] = real;
    }
    if (reacquires) {
        finish_storage();
        log_.back().commit = storage_->last();
    }
}

// Returns whether the session already waits for a resource of the request. The rules do not say
// which of the two requests would be served first.
bool World::waits_for_it_already(const Request& request) const {
    const auto* acquire = std::get_if<Acquire>(&request);
    if (acquire == nullptr || !acquire->session) return false;
    for (const auto& waiter : mirror_.model().waiters()) {
        if (waiter.session != *acquire->session || waiter.converting) continue;
        const auto& id = waiter.acquire.request_id;
        if (!id.empty() && id == acquire->request_id) continue;
        for (const auto& wanted : waiter.wanted) {
            for (const auto& lock : acquire->locks) {
                if (wanted.resource == lock.resource) return true;
            }
        }
    }
    return false;
}

bool World::finish_storage() {
    for (int rounds = 0; rounds < 3; ++rounds) {
        if (!storage_->pump()) return false;
        manager_->deliver_done();
    }
    return true;
}

void World::next_session() {
    ++life_.sessions_made;
    life_.fresh = {};
    for (int i = 0; i < 4; ++i)
        life_.fresh.bytes[static_cast<std::size_t>(i)] =
            static_cast<std::uint8_t>(life_.sessions_made >> (8 * i));
    life_.fresh.bytes[8] = 1;
}

void World::expect(const Happened& happened) {
    mirror_.expect(happened.event, happened.ticket, happened.fresh, happened.now);
    log_.push_back(happened);
}

void World::answered(Ticket own, const Result<Answer>& answer) {
    network_.in_flight.erase(own);
    const auto call = network_.calls.at(own);
    say("   #" + std::to_string(static_cast<std::uint64_t>(own)) + " <- " +
        proof::describe(answer));
    if (!answer && is_failure_of_storage(answer.error().code)) {
        count_kind("answer: " + std::string(to_string(answer.error().code)));
        if (!storage_->failure())
            fail("an error of the storage without one: " + answer.error().message);
        return;
    }
    if (answer && life_.failed_closed && std::holds_alternative<Grant>(*answer)) {
        fail("S13: granted after the storage had failed");
    }
    complain(mirror_.got(own, answer));
    count_answer(call, answer);
    send_answer(call, answer);
}

// The client may never receive the answer, but the promise counts.
void World::send_answer(const Call& call, const Result<Answer>& answer) {
    if (!answer) return;
    if (const auto* grant = std::get_if<Grant>(&*answer)) promised(*grant);
    auto& client = clients_[call.client];
    if (random_.percent(15)) {
        count_kind("network: an answer lost");
        if (random_.percent(80) && std::holds_alternative<Request>(call.event)) {
            const auto* renewal = std::get_if<RenewSession>(&std::get<Request>(call.event));
            if (renewal == nullptr || !renewal->as_of) send(call.client, call.event);
        }
        return;
    }
    seen(client, call, *answer);
}

void World::promised(const Grant& grant) {
    if (grant.ended) return;
    if (number(grant.token) > oracle_.highest_token) oracle_.highest_token = number(grant.token);
    oracle_.grants[grant.id] = Promise{grant.session, grant.locks};
    oracle_.acknowledged.insert(grant.id);
}

void World::seen(Client& client, const Call& call, const Answer& answer) {
    const auto& request = std::get<Request>(call.event);
    if (const auto* session = std::get_if<SessionInfo>(&answer)) {
        auto& shortest = oracle_.min_lease.try_emplace(session->id, session->lease).first->second;
        shortest = std::min(shortest, session->lease);
        if (std::holds_alternative<OpenSession>(request)) {
            if (client.session != session->id) {
                client.session = session->id;
                client.believed.clear();
                // A repeated opening does not renew the session: its answer contains the current
                // deadline. The answer may arrive after a renewal that made the lease shorter.
                client.valid_until = std::min(to_client(session->deadline), call.sent + shortest);
            }
        }
        if (client.session == session->id && std::holds_alternative<RenewSession>(request))
            renewed(client, call);
        return;
    }
    const auto* grant = std::get_if<Grant>(&answer);
    if (grant == nullptr || grant->ended || grant->session != client.session) return;
    // Only the first answer to a request of this session sets the lease. A repeated answer does
    // not.
    client.believed[grant->id] = *grant;
}

// T6: the client's deadline counts from the time at which the request was sent, with the shortest
// lease that may be in force.
void World::renewed(Client& client, const Call& call) {
    const auto shortest = oracle_.min_lease.at(*client.session);
    client.valid_until = std::max(client.valid_until, call.sent + shortest);
    client.valid_until = std::min({client.valid_until, clock_.now().boot + shortest, no_deadline});
}

void World::heard(const LostNotice& notice) {
    say("   " + to_string(notice.session).substr(0, 6) + " lost " +
        std::to_string(number(notice.grant.id)) + " " +
        std::string(to_string(notice.ending.outcome)));
    complain(mirror_.got(notice));
    count_kind("ended: " + std::string(to_string(notice.ending.outcome)));
    if (!oracle_.reported_lost.insert(notice.grant.id).second)
        fail("L9: reported twice that a grant was lost");
    for (auto& client : clients_) client.believed.erase(notice.grant.id);
}

void World::count_answer(const Call& call, const Result<Answer>& answer) {
    const auto& request = std::get<Request>(call.event);
    if (!answer) {
        if (answer.error().policy) {
            if (answer.error().policy != StealPolicy::never) {
                oracle_.refused_steal = std::get<Steal>(request).grant;
                oracle_.refused_thief = call.client;
            }
            count_kind("refused: steal, " + std::string(to_string(*answer.error().policy)));
        }
        return count_kind("refused: " + std::string(to_string(answer.error().code)));
    }
    if (const auto* grant = std::get_if<Grant>(&*answer)) {
        std::string kind = "granted";
        if (std::holds_alternative<Convert>(request)) kind = "converted";
        if (const auto* steal = std::get_if<Steal>(&request)) {
            kind = "stolen";
            if (!steal->administrator && steal->grant == oracle_.refused_steal)
                count_kind("stolen: what was refused before");
        }
        if (std::holds_alternative<Transfer>(request)) kind = "transferred";
        if (std::holds_alternative<Reacquire>(request)) kind = "reacquired";
        if (grant->ended) return count_kind(kind + ": again, ended since");
        if (const auto* acquire = std::get_if<Acquire>(&request)) {
            if (acquire->held == Held::count && grant->count > 0) count_kind("granted: counted");
            if (grant->own_session) count_kind("granted: with its own session");
            if (grant->locks.size() > 1) count_kind("granted: a set");
            const std::string when = grant->waited ? ", after a wait" : ", at once";
            if (acquire->any) count_kind("granted: any" + when);
            if (acquire->priority > 0) count_kind("granted: with a priority" + when);
            for (const auto& lock : grant->locks) {
                if (!lock.cause.empty()) count_kind("granted: a dependant");
                if (lock.permits > 0) count_kind("granted: permits");
                if (lock.subtree) count_kind("granted: a subtree");
            }
        }
        return count_kind(kind + (grant->waited ? ": after a wait" : ": at once"));
    }
    if (const auto* released = std::get_if<Released>(&*answer)) {
        const bool answered = std::holds_alternative<AnswerWanted>(request);
        return count_kind((answered ? "answered: " : "released: ") +
                          std::string(to_string(released->outcome)));
    }
    if (std::holds_alternative<ClosedSession>(*answer)) return count_kind("session: closed");
    if (std::holds_alternative<RenewSession>(request)) return count_kind("session: renewed");
    if (const auto* open = std::get_if<OpenSession>(&request)) {
        return count_kind(open->lease == no_expiry ? "session: without expiry" : "session: opened");
    }
}

}  // namespace rocklock::simulation
