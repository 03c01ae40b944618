// The requests that the clients of a simulated world send.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "simulation/world_state.hpp"

namespace rocklock::simulation {

using namespace std::chrono_literals;

void World::act() {
    if (oracle_.refused_steal != GrantId{} && random_.percent(40)) return come_again();
    const std::size_t index = random_.below(clients_.size());
    auto& client = clients_[index];
    if (!client.session || random_.percent(3)) {
        OpenSession open;
        open.principal = client.principal;
        open.uid = client.uid;
        open.lease = milliseconds{100 + random_.below(random_.percent(20) ? 1000 : 20'000)};
        if (random_.percent(4)) open.lease = no_expiry;
        if (client.opening.empty() || random_.percent(20)) {
            client.opening = setup_.run_together ? std::string(1 + random_.below(3), '1')
                                                 : "open" + std::to_string(++client.requests);
        }
        open.request_id = client.opening;
        return send(index, Request(open));
    }
    const auto dice = random_.below(100);
    if (dice < 44) return acquire(index);
    if (dice < 62) return release(index);
    if (dice < 74) return renew(index);
    if (dice < 85) return convert(index);
    if (dice < 88)
        return send(index,
                    Request(Transfer{*client.session, any_grant(index, 85), any_session(index)}));
    if (dice < 92) return steal(index);
    if (dice < 93) return answer_wanted(index);
    if (dice < 94) return send(index, Request(Break{any_grant(index, 30), "broken", "root"}));
    if (dice < 96) {
        return send(index, Request(Reacquire{*client.session, any_grant(index, 70)}));
    }
    if (dice < 97) {
        if (random_.below(4) > 0) return send(index, Request(CloseSession{*client.session}));
        return send(index, Request(EndSession{any_session(index), "ended", "root"}));
    }
    return repeat(index);
}

void World::acquire(std::size_t index) {
    auto& client = clients_[index];
    Acquire request;
    if (random_.percent(8)) {
        OpenSession own;
        own.principal = client.principal;
        own.uid = client.uid;
        if (random_.percent(50)) own.lease = milliseconds{100 + random_.below(1000)};
        if (random_.percent(4)) own.lease = no_expiry;
        request.opens = own;
    } else {
        request.session = random_.percent(95) ? *client.session : any_session(index);
    }
    const std::size_t wanted = random_.percent(70) ? 1 : 2 + random_.below(2);
    for (std::size_t i = 0; i < wanted; ++i) {
        LockRequest lock;
        if (!setup_.counting.empty() && random_.percent(30)) {
            lock.resource = random_.pick(setup_.counting);
            lock.permits = static_cast<std::uint32_t>(random_.below(3));
        } else {
            lock.resource = random_.pick(setup_.names);
            const auto kind = random_.below(10);
            if (kind < 4) lock.mode = Mode::read;
            if (kind >= 4 && kind < 7) lock.mode = Mode::write;
            if (kind == 7) lock.mode = Mode::exclusive;
            if (kind == 8) lock.to = Intent::read;
            lock.subtree = random_.percent(15);
        }
        // A repeated name could be refused with one of several errors if the request is invalid
        // otherwise, so names are not repeated.
        const bool twice = std::any_of(request.locks.begin(), request.locks.end(),
                                       [&](const auto& l) { return l.resource == lock.resource; });
        if (!twice) request.locks.push_back(lock);
    }
    if (random_.percent(65)) request.patience = milliseconds{1 + random_.below(3000)};
    if (random_.percent(8)) request.patience = no_limit;
    request.any = request.locks.size() > 1 && random_.percent(50);
    if (random_.percent(40)) {
        // Mostly a priority that the classes allow.
        std::uint32_t most = limits::max_priority;
        for (const auto& lock : request.locks)
            most = std::min(most, mirror_.model().class_of(lock.resource).max_priority);
        if (random_.percent(10)) ++most;
        request.priority = static_cast<std::uint32_t>(random_.below(most + 1));
    }
    if (random_.percent(10)) request.held = Held::join;
    if (random_.percent(10)) request.held = Held::count;
    if (random_.percent(8)) request.max_hold = milliseconds{50 + random_.below(2000)};
    if (random_.percent(70)) request.request_id = "r" + std::to_string(++client.requests);
    send(index, Request(request));
}

void World::release(std::size_t index) {
    auto& client = clients_[index];
    const auto grant = any_grant(index, 90);
    client.given_up.insert(grant);
    send(index, Request(Release{*client.session, grant}));
}

void World::renew(std::size_t index) {
    auto& client = clients_[index];
    RenewSession request;
    request.session = random_.percent(97) ? *client.session : any_session(index);
    if (random_.percent(20)) request.lease = milliseconds{100 + random_.below(8000)};
    request.active = random_.percent(30);
    if (request.lease) {
        // The lease may be shorter from now on, because the time at which the request arrives is
        // unknown.
        auto& shortest =
            oracle_.min_lease.try_emplace(request.session, *request.lease).first->second;
        shortest = std::min(shortest, *request.lease);
        for (auto& other : clients_) {
            if (other.session != request.session) continue;
            other.valid_until = std::min(other.valid_until, clock_.now().boot + shortest);
        }
    }
    send(index, Request(request));
}

void World::convert(std::size_t index) {
    auto& client = clients_[index];
    Convert request;
    request.session = *client.session;
    request.grant = any_grant(index, 92);
    const auto known = oracle_.grants.find(request.grant);
    const auto mode = static_cast<Mode>(random_.below(3));
    if (known != oracle_.grants.end() && known->second.locks.size() > 1 && random_.percent(40)) {
        LockRequest lock;
        lock.resource = random_.pick(known->second.locks).resource;
        lock.mode = mode;
        request.locks.push_back(lock);
    } else {
        request.mode = mode;
    }
    if (random_.percent(60)) request.patience = milliseconds{1 + random_.below(2000)};
    client.given_up.insert(request.grant);
    send(index, Request(request));
}

// In most cases tries a grant again that could not be stolen before.
void World::steal(std::size_t index) {
    auto& client = clients_[index];
    Steal request{*client.session, any_grant(index, 10), "wanted"};
    if (oracle_.refused_steal != GrantId{} && random_.percent(60))
        request.grant = oracle_.refused_steal;
    request.administrator = random_.percent(30);
    request.force = random_.percent(10);
    send(index, Request(request));
}

// Repeats a steal that was refused, or lets the holder answer first.
void World::come_again() {
    const auto* grant = mirror_.model().grant(mirror_.to_model(oracle_.refused_steal));
    const auto& thief = clients_[oracle_.refused_thief];
    if (grant == nullptr || grant->outcome != Outcome::held || !thief.session) {
        oracle_.refused_steal = {};
    } else if (random_.percent(30)) {
        answer_wanted(oracle_.refused_thief);
    } else {
        send(oracle_.refused_thief,
             Request(Steal{*thief.session, oracle_.refused_steal, "wanted"}));
    }
}

// In most cases the client that was asked sends the answer, if the holder is one of the clients.
void World::answer_wanted(std::size_t index) {
    AnswerWanted request{*clients_[index].session, any_grant(index, 90), random_.percent(60)};
    if (random_.percent(60)) {
        const auto wanted = random_.percent(50) ? oracle_.refused_steal : oracle_.waited_for;
        const auto known = oracle_.grants.find(wanted);
        if (known != oracle_.grants.end()) {
            request.grant = wanted;
            request.session = known->second.session;
        }
    }
    clients_[index].given_up.insert(request.grant);
    send(index, Request(request));
}

// Sends an earlier request again, unchanged.
void World::repeat(std::size_t index) {
    std::vector<const Call*> own;
    for (const auto& [ticket, call] : network_.calls) {
        const auto* request = std::get_if<Request>(&call.event);
        if (call.client != index || request == nullptr) continue;
        const auto* renewal = std::get_if<RenewSession>(request);
        if (renewal != nullptr && renewal->as_of) continue;
        own.push_back(&call);
    }
    if (own.empty()) return;
    const Event event = random_.pick(own)->event;
    count_kind("network: an old message again");
    send(index, event);
}

GrantId World::any_grant(std::size_t index, std::uint64_t own_percent) {
    std::vector<GrantId> own;
    std::vector<GrantId> others;
    for (const auto& [id, promise] : oracle_.grants) {
        const auto* grant = mirror_.model().grant(mirror_.to_model(id));
        const bool alive = grant != nullptr && grant->outcome == Outcome::held;
        if (!alive && !random_.percent(15)) continue;
        (promise.session == clients_[index].session ? own : others).push_back(id);
    }
    if (!own.empty() && random_.percent(own_percent)) return random_.pick(own);
    if (!others.empty()) return random_.pick(others);
    return own.empty() ? GrantId{1 + random_.below(5)} : random_.pick(own);
}

SessionId World::any_session(std::size_t index) {
    std::vector<SessionId> others;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        if (i != index && clients_[i].session) others.push_back(*clients_[i].session);
    }
    if (others.empty() || random_.percent(5)) return SessionId{};
    return random_.pick(others);
}

}  // namespace rocklock::simulation
