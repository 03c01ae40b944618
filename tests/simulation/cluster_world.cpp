#include "simulation/cluster_world.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "etcd/chain.hpp"
#include "lock/records/records.hpp"

namespace rocklock::simulation {

using namespace std::chrono_literals;
using testing::EtcdChange;

namespace {

// The number of writes of a batch that exceeds a transaction.
constexpr std::size_t large_batch_writes = 135;

struct NamedFault {
    EtcdFault fault;
    const char* name;
};
constexpr NamedFault named_faults[] = {
    {EtcdFault::request_lost, "etcd: a request was lost"},
    {EtcdFault::answer_lost, "etcd: an answer was lost"},
    {EtcdFault::applied_late, "etcd: a request was executed late"},
    {EtcdFault::duplicated, "etcd: a request was executed twice"},
    {EtcdFault::unreachable, "etcd: not reachable"},
    {EtcdFault::keep_alive_ignored, "etcd: a renewal of the lease had no effect"},
    {EtcdFault::io_error, "etcd: an error"},
};

std::string value_of(std::uint64_t version) {
    std::string value;
    append_u64(value, version);
    return value;
}

}  // namespace

ClusterWorld::ClusterWorld(std::uint64_t seed, bool trace, Counts& counts)
    : World(seed, trace, counts), cluster_(clock_) {
    setup_.may_have_closures = false;
    for (const char* name : {"n1", "n2"}) {
        const std::chrono::hours ahead{random_.percent(50) ? 24 * random_.below(300) : 0};
        const std::chrono::minutes behind{random_.below(59)};
        const milliseconds wall{random_.between(-5000, 5000)};
        nodes_.emplace_back(clock_, name, ahead - behind, wall);
    }
}

void ClusterWorld::finish() {
    bury_replaced();
    check_chain();
    check_writes();
    for (const auto& [fault, name] : named_faults) {
        for (const Node& node : nodes_) counts_[name] += cluster_.node(node.name).occurred(fault);
    }
    const etcd::Layout layout(etcd_prefix);
    counts_["etcd: commits"] += cluster_.history_of(layout.commit()).size();
    for (const EtcdChange& change : cluster_.history_of(layout.lead())) {
        if (change.deleted || change.kv.create_revision != change.kv.mod_revision) continue;
        count_kind("cluster: elections");
    }
}

// ---- Steps ----

void ClusterWorld::step() {
    if (replaced_ && random_.percent(25)) return step_replaced();
    const auto dice = random_.below(1000);
    if (manager_->failure() || storage_->failure()) return crash();
    if (dice < 20) return plan_failure();
    if (dice < 24) return end_lead();
    if (dice < 34) return apply_late();
    if (dice < 39) return compact();
    if (dice < 47) return replace_during_commit();
    if (dice < 120) return write_item(*manager_, *storage_);
    if (dice < 125) return write_large_batch();
    World::step();
}

// Plans the faults of the next transaction. After a second fault, its outcome is unknown.
void ClusterWorld::plan_failure() {
    auto& node = cluster_.node(nodes_[current_].name);
    if (node.planned() > 0) return;
    const auto fault = random_.pick(std::vector{EtcdFault::request_lost, EtcdFault::answer_lost,
                                                EtcdFault::applied_late, EtcdFault::duplicated,
                                                EtcdFault::unreachable});
    node.fail_next({fault, EtcdRequest::txn});
    const bool unknown = fault != EtcdFault::duplicated && random_.percent(25);
    if (unknown) node.fail_next({EtcdFault::io_error, EtcdRequest::txn});
    say("fault " + std::to_string(static_cast<int>(fault)) + (unknown ? ", unknown outcome" : ""));
}

void ClusterWorld::quiet() {
    cluster_.node(nodes_[current_].name).plan_none();
    World::quiet();
    if (verdict_.wrong || storage_->failure()) return;
    check_copy();
    check_large_batches();
}

void ClusterWorld::advance(std::chrono::nanoseconds by) {
    for (const std::chrono::nanoseconds period = 1s; by > period; by -= period) {
        World::advance(period);
        renew_lead();
    }
    World::advance(by);
    renew_lead();
}

// Does what the storage does on a thread of its own.
void ClusterWorld::renew_lead() {
    const auto lead = cluster_.find(etcd::Layout(etcd_prefix).lead());
    if (!lead || lead->kv.create_revision != etcd().epoch()) return;
    if (random_.percent(3)) return count_kind("cluster: a renewal of the lease was lost");
    if (random_.percent(3)) {
        cluster_.node(nodes_[current_].name)
            .fail_next({EtcdFault::keep_alive_ignored, EtcdRequest::keep_alive});
    }
    [[maybe_unused]] const auto renewed =
        cluster_.connect(nodes_[current_].name)->keep_alive(lead->kv.lease, 1s);
}

void ClusterWorld::end_lead() {
    const auto lead = cluster_.find(etcd::Layout(etcd_prefix).lead());
    if (!lead) return;
    say("the lease of the manager ends");
    count_kind("cluster: a lease ended early");
    cluster_.end_lease(lead->kv.lease).value();
}

void ClusterWorld::apply_late() {
    if (cluster_.late_requests() == 0) return;
    say("a late request is executed");
    count_kind("cluster: a late request was executed");
    cluster_.apply_late(random_.below(cluster_.late_requests()));
}

void ClusterWorld::compact() {
    if (cluster_.revision() <= cluster_.compacted()) return;
    count_kind("cluster: compacted");
    cluster_.compact(random_.between(cluster_.compacted() + 1, cluster_.revision())).value();
}

void ClusterWorld::replace_during_commit() {
    if (cluster_.late_requests() > 4) return;
    auto& node = cluster_.node(nodes_[current_].name);
    node.plan_none();
    const auto fault = random_.pick(
        std::vector{EtcdFault::request_lost, EtcdFault::answer_lost, EtcdFault::applied_late});
    node.fail_next({fault, EtcdRequest::txn});
    bool replaced = false;
    SteppedStorage& old = *storage_;
    etcd().before_retry([&] {
        replaced = true;
        take_over(Leaving::paused);
    });
    say("write, and replace the manager meanwhile");
    const bool written = old.write_next(1 + random_.below(3)).has_value();
    if (!replaced) {
        node.plan_none();
        etcd().before_retry(nullptr);
        return;
    }
    count_kind("cluster: replaced during a commit");
    // The successor has committed, so the old manager cannot know the outcome.
    if (written && !verdict_.wrong) fail("C1: a commit succeeded after the replacement");
}

void ClusterWorld::write_item(LockManager& manager, SteppedStorage& storage) {
    auto& client = random_.pick(clients_);
    if (!client.session || client.believed.empty()) return;
    auto chosen = client.believed.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(client.believed.size())));
    const Grant& grant = chosen->second;
    const std::string& resource = random_.pick(grant.locks).resource;
    FenceRequest request;
    request.session = *client.session;
    request.token = grant.token;
    request.resource = resource;
    const auto fence = manager.fence(request);
    if (!fence) return count_kind("write: refused by the manager");
    if (&manager == manager_.get()) {
        Happened active;
        active.kind = Happened::Kind::active;
        active.fresh = *client.session;
        active.now = manager_now();
        active.commit = storage_->last();
        mirror_.model().seen_active(active.fresh, active.now.boot);
        log_.push_back(active);
    }
    const auto version = writes_.size();
    auto& write = writes_.emplace_back(Guarded{resource, *client.session, grant.token});
    Batch batch;
    batch.preconditions.push_back(
        {Family::locks, records::grant_key(fence->grant), fence->version});
    batch.not_after = fence->until;
    batch.writes.push_back({Family::items, "written/" + resource, value_of(version)});
    say(client.principal + " writes " + resource + " with token " +
        std::to_string(number(grant.token)));
    storage.enqueue(std::move(batch), Durability::durable, &write.verdict);
    count_kind("write: guarded");
}

void ClusterWorld::write_large_batch() {
    // A batch with large values is stored in several parts.
    const bool in_parts = random_.percent(10);
    const std::string padding(in_parts ? 9'000 : 0, 'x');
    say(in_parts ? "a large batch in parts" : "a large batch");
    count_kind(in_parts ? "write: a large batch in parts" : "write: a large batch");
    ++large_version_;
    Batch batch;
    for (std::size_t i = 0; i < large_batch_writes; ++i) {
        batch.writes.push_back(
            {Family::items, "large/" + std::to_string(i), value_of(large_version_) + padding});
    }
    storage_->enqueue(std::move(batch), Durability::durable, nullptr);
    if (random_.percent(50)) return;
    // The manager fails at one of the transactions of the batch.
    auto& node = cluster_.node(nodes_[current_].name);
    node.plan_none();
    node.fail_next({EtcdFault::none, EtcdRequest::txn}, static_cast<unsigned>(random_.below(5)));
    node.fail_next({random_.pick(std::vector{EtcdFault::request_lost, EtcdFault::answer_lost}),
                    EtcdRequest::txn});
    node.fail_next({EtcdFault::io_error, EtcdRequest::txn});
    if (!storage_->pump()) count_kind("write: a large batch was interrupted");
    node.plan_none();
}

// ---- The replaced manager ----

void ClusterWorld::step_replaced() {
    auto& storage = *replaced_->storage;
    const auto dice = random_.below(100);
    if (dice < 25) return send_to_replaced();
    if (dice < 35) return ask_replaced();
    if (dice < 45) {
        if (storage.failure()) return;
        say("the replaced manager decides what is due");
        [[maybe_unused]] const auto next = replaced_->manager->decide_due();
        return;
    }
    if (dice < 55) {
        if (!storage.failure()) write_item(*replaced_->manager, storage);
        return;
    }
    if (dice < 75) {
        say("the replaced manager writes");
        if (!storage.write_next(1 + random_.below(4))) count_kind("replaced: learned it");
        return;
    }
    if (dice < 97) {
        say("the replaced manager delivers");
        return replaced_->manager->deliver_done();
    }
    bury_replaced();
}

// A client that is still connected to the replaced manager sends a request.
void ClusterWorld::send_to_replaced() {
    if (network_.waiting.empty()) act();
    if (network_.waiting.empty()) return;
    const auto index = random_.below(network_.waiting.size());
    Call call = network_.waiting[index];
    network_.waiting.erase(network_.waiting.begin() + static_cast<std::ptrdiff_t>(index));
    const Ticket own{++life_.tickets};
    next_session();
    say("#" + std::to_string(static_cast<std::uint64_t>(own)) + " to the replaced manager, " +
        clients_[call.client].principal + ": " + proof::describe(call.event));
    count_kind("replaced: a request");
    // The client sends it again if it gets no answer.
    if (random_.percent(50)) network_.waiting.push_back(call);
    network_.calls.emplace(own, call);
    replaced_->manager->submit(
        std::get<Request>(call.event), [this, own, life = replaced_->life](const auto& answer) {
            life == life_.number ? answered(own, answer) : answered_late(life, own, answer);
        });
}

// C2: reads of the replaced manager.
void ClusterWorld::ask_replaced() {
    count_kind("replaced: a read");
    ListLocks all;
    if (replaced_->manager->list(all)) return fail("C2: a replaced manager lists its locks");
    if (replaced_->manager->sessions({})) fail("C2: a replaced manager lists its sessions");
    if (replaced_->storage->confirm()) fail("C2: a replaced manager confirms a read");
    for (const auto& client : clients_) {
        for (const auto& [id, grant] : client.believed) {
            const auto& resource = grant.locks.front().resource;
            if (replaced_->manager->holds(grant.session, resource, Mode::read)) {
                fail("C2: a replaced manager says that " + resource + " is held");
            }
        }
    }
}

void ClusterWorld::answered_late(std::uint64_t life, Ticket own, const Result<Answer>& answer) {
    if (!replaced_ || replaced_->life != life || verdict_.wrong) return;
    say("   #" + std::to_string(static_cast<std::uint64_t>(own)) + " <- (replaced manager) " +
        proof::describe(answer));
    if (!answer && is_failure_of_storage(answer.error().code)) {
        count_kind("replaced: a request failed");
        if (!replaced_->storage->failure()) fail("an error of the storage without one");
        return;
    }
    // The clocks of the answer are those of the replaced manager.
    const auto ahead = std::exchange(ahead_, replaced_->ahead);
    judge_late_answer(own, answer);
    ahead_ = ahead;
}

// A release is answered before its commit, so a client can get an answer that has no effect.
bool answers_without_commit(const Request& request) {
    return std::holds_alternative<Release>(request) ||
           std::holds_alternative<AnswerWanted>(request) ||
           std::holds_alternative<CloseSession>(request);
}

void ClusterWorld::judge_late_answer(Ticket own, const Result<Answer>& answer) {
    const auto call = network_.calls.at(own);
    const bool unconfirmed = answer && answers_without_commit(std::get<Request>(call.event));
    if (own > replaced_->last) {
        if (unconfirmed) return count_kind("replaced: answered a release");
        return fail("C2: a replaced manager answers request " +
                    std::to_string(static_cast<std::uint64_t>(own)));
    }
    count_kind("replaced: answered an earlier request");
    complain(replaced_->mirror.got(own, answer));
    if (!answer || unconfirmed) return;
    const auto decided = replaced_->decided.find(own);
    if (decided != replaced_->decided.end() && decided->second > replaced_->through) {
        return fail("C3: an answer is based on a commit that was not made");
    }
    if (const auto* grant = std::get_if<Grant>(&*answer)) {
        complain(mirror_.learn(replaced_->mirror, *grant));
        if (mirror_.model().grant(mirror_.to_model(grant->id)) == nullptr) {
            return fail("C3: an acknowledged grant is lost");
        }
    }
    send_answer(call, answer);
}

void ClusterWorld::heard_late(std::uint64_t life, const LostNotice& notice) {
    if (!replaced_ || replaced_->life != life || verdict_.wrong) return;
    say("   (replaced manager) " + to_string(notice.session).substr(0, 6) + " lost " +
        std::to_string(number(notice.grant.id)));
    const auto* grant = mirror_.model().grant(mirror_.to_model(notice.grant.id));
    if (grant != nullptr && grant->outcome == Outcome::held) {
        return fail("C2: a replaced manager reports the loss of a grant that is held");
    }
    count_kind("replaced: a notice");
    oracle_.reported_lost.insert(notice.grant.id);
    for (auto& client : clients_) client.believed.erase(notice.grant.id);
}

// ---- Checks ----

void ClusterWorld::promised(const Grant& grant) {
    World::promised(grant);
    if (grant.ended) return;
    for (const GrantedLock& lock : grant.locks) {
        if (lock.permits > 0 || lock.mode < Mode::write) continue;
        known_grants_.push_back({lock.resource, grant.session, grant.token, cluster_.revision()});
    }
}

void ClusterWorld::check_chain() {
    if (const auto problem = testing::chain_problem(cluster_, etcd_prefix)) fail("C1: " + *problem);
}

// C7: compares the copy of the manager with etcd. All commits must have been written.
void ClusterWorld::check_copy() {
    const etcd::Layout layout(etcd_prefix);
    const auto snapshot = storage_->snapshot();
    for (int i = 0; i < family_count; ++i) {
        const auto family = static_cast<Family>(i);
        etcd::Range range{.key = layout.family(family),
                          .end = etcd::end_of_prefix(layout.family(family))};
        const auto stored = cluster_.connect("check")->range(range, 1s).value();
        auto at = snapshot->scan(family, "", "");
        for (const etcd::KeyValue& kv : stored.kvs) {
            const auto key = layout.parse(kv.key);
            if (!at->valid() || !key || at->key() != key->second || at->value() != kv.value) {
                return fail("C7: the copy differs from etcd at " + kv.key);
            }
            at->next();
        }
        if (at->valid()) return fail("C7: etcd has no " + std::string(at->key()));
    }
}

// A large batch is either complete or absent.
void ClusterWorld::check_large_batches() {
    const auto snapshot = storage_->snapshot();
    std::optional<std::uint64_t> version;
    std::size_t count = 0;
    for (auto at = snapshot->scan(Family::items, "large/", "large0"); at->valid(); at->next()) {
        ++count;
        if (version.value_or(version_of(at->value())) != version_of(at->value())) {
            return fail("C3: a large batch is torn");
        }
        version = version_of(at->value());
    }
    if (count != 0 && count != large_batch_writes) fail("C3: a part of a large batch is missing");
}

// C4: after a newer grant of a resource was acknowledged, no write of an older one is committed.
void ClusterWorld::check_writes() {
    const etcd::Layout layout(etcd_prefix);
    for (const EtcdChange& change : cluster_.history()) {
        const auto key = layout.parse(change.kv.key);
        if (!key || key->first != Family::items || !key->second.starts_with("written/")) continue;
        count_kind("write: committed");
        const Guarded& write = writes_.at(version_of(change.kv.value));
        for (const KnownGrant& known : known_grants_) {
            if (known.resource != write.resource || known.session == write.session) continue;
            if (known.token > write.token && known.at < change.kv.mod_revision) {
                return fail("C4: a write of " + write.resource + " with token " +
                            std::to_string(number(write.token)) + " was committed after token " +
                            std::to_string(number(known.token)) + " was acknowledged");
            }
        }
    }
}

}  // namespace rocklock::simulation
