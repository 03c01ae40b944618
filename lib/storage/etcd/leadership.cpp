#include "storage/etcd/leadership.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace rocklock::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The pause before a watch is started again after an error.
constexpr milliseconds watch_pause{100};

// The smallest part of the lease that does not confirm answers.
constexpr milliseconds lease_margin{200};

}  // namespace

Leadership::Leadership(Client& client, Layout layout, Clock& clock, Settings settings)
    : client_(client), layout_(std::move(layout)), clock_(clock), settings_(std::move(settings)) {}

Leadership::~Leadership() { end_renewal(); }

LeadRecord Leadership::record(bool ready) const {
    return {settings_.node, settings_.address, getpid(), ready, since_};
}

Result<std::variant<Leadership::Won, Leadership::Lost>> Leadership::campaign() {
    // Usually another node is the manager, and no lease is needed.
    const auto current = client_.range({.key = layout_.lead()}, settings_.request_timeout);
    if (!current) return current.error();
    if (const auto* const lead = current->first()) {
        return std::variant<Won, Lost>(Lost{decode_lead(lead->value), current->header.revision});
    }
    const auto ttl = std::chrono::ceil<seconds>(settings_.ttl);
    auto lease = client_.grant_lease(ttl, settings_.request_timeout);
    if (!lease) return std::move(lease).error();
    lease_ = *lease;
    renewed_ = steady_clock::now();
    since_ = clock_.now().wall;
    auto outcome = create_lead();
    // After a failure, the transaction may still be executed later. It then fails, or its key is
    // deleted, because the lease has ended.
    if (!outcome || std::holds_alternative<Lost>(*outcome)) {
        [[maybe_unused]] const auto revoked =
            client_.revoke_lease(lease_.id, settings_.request_timeout);
    }
    return outcome;
}

Result<std::variant<Leadership::Won, Leadership::Lost>> Leadership::create_lead() {
    Txn txn;
    txn.compares.push_back({layout_.lead(), Revision{0}});
    txn.success.emplace_back(Put{layout_.lead(), encode(record(false)), lease_.id});
    txn.success.emplace_back(Range{.key = layout_.commit()});
    txn.failure.emplace_back(Range{.key = layout_.lead()});
    const auto done = client_.txn(txn, settings_.request_timeout);
    if (!done) return find_outcome(done.error());
    ROCKLOCK_ASSERT(done->ranges.size() == 1);
    const auto* const found = done->ranges.front().first();
    if (!done->succeeded) {
        auto manager = found != nullptr ? decode_lead(found->value) : LeadRecord();
        return std::variant<Won, Lost>(Lost{std::move(manager), done->header.revision});
    }
    epoch_ = done->header.revision;
    Won won{done->header.cluster_id, done->header.revision, {}};
    if (found != nullptr) won.commit = found->value;
    return std::variant<Won, Lost>(std::move(won));
}

// Called if it is unknown whether the transaction has created the key. The lease of the key shows
// whether it has.
Result<std::variant<Leadership::Won, Leadership::Lost>> Leadership::find_outcome(
    const Error& unknown) {
    if (unknown.code != ErrorCode::indeterminate) return unknown;
    const auto lead = client_.range({.key = layout_.lead()}, settings_.request_timeout);
    if (!lead) return unknown;
    const auto* const found = lead->first();
    if (found == nullptr) return unknown;
    if (found->lease != lease_.id) {
        return std::variant<Won, Lost>(Lost{decode_lead(found->value), lead->header.revision});
    }
    epoch_ = found->create_revision;
    const auto commit = client_.range({.key = layout_.commit()}, settings_.request_timeout);
    if (!commit) return unknown;
    Won won{commit->header.cluster_id, commit->header.revision, {}};
    if (const auto* const value = commit->first()) won.commit = value->value;
    return std::variant<Won, Lost>(std::move(won));
}

void Leadership::await_vacancy(Revision after, milliseconds timeout) {
    const auto until = steady_clock::now() + timeout;
    const auto left = [&] {
        const auto rest = std::chrono::ceil<milliseconds>(until - steady_clock::now());
        return std::max(rest, milliseconds{0});
    };
    auto watch = client_.watch(layout_.lead(), {}, after + 1);
    while (watch && left() > milliseconds{0}) {
        auto changes = (*watch)->next(left());
        if (!changes) break;
        if (!*changes) return;
        const auto& events = (*changes)->events;
        if (std::any_of(events.begin(), events.end(),
                        [](const WatchEvent& event) { return event.deleted; })) {
            return;
        }
    }
    std::this_thread::sleep_for(std::min(left(), watch_pause));
}

void Leadership::start(std::function<void(const Error&)> lost) {
    ROCKLOCK_ASSERT(epoch_ != 0 && !thread_.joinable());
    lost_ = std::move(lost);
    thread_ = std::thread([this] { renew_until_stopped(); });
}

// Renews the lease three times within its duration.
void Leadership::renew_until_stopped() {
    const auto period = std::chrono::duration_cast<milliseconds>(lease_.ttl) / 3;
    MutexLock lock(mutex_);
    while (!stopped_) {
        lock.unlock();
        auto problem = renew();
        lock.lock();
        if (problem && !stopped_) {
            stopped_ = true;
            lock.unlock();
            lost_(*problem);
            return;
        }
        // The wait may end early; a renewal too many does no harm.
        if (!stopped_) stopping_.wait_for(mutex_, period);
    }
}

// Returns the reason for which this node must stop to be the manager, if there is one.
std::optional<Error> Leadership::renew() {
    const auto period = std::chrono::duration_cast<milliseconds>(lease_.ttl) / 3;
    const auto sent = steady_clock::now();
    const auto sent_boot = settings_.lease_reads ? clock_.now().boot : BootTime();
    const auto ttl = client_.keep_alive(lease_.id, period);
    if (ttl && *ttl > seconds{0}) {
        renewed_ = sent;
        const milliseconds renewed_for = std::min<milliseconds>(*ttl, lease_.ttl);
        leased_until_ = sent_boot + renewed_for - std::max(renewed_for / 5, lease_margin);
        return std::nullopt;
    }
    if (ttl || ttl.error().code == ErrorCode::resource_not_found) {
        return Error(ErrorCode::not_the_manager,
                     "this process is not the manager of the store any more: its lease in etcd has "
                     "ended");
    }
    if (steady_clock::now() - renewed_ < settings_.ttl + settings_.timeout) return std::nullopt;
    return Error(ErrorCode::indeterminate,
                 "etcd has not answered since " +
                     std::to_string((settings_.ttl + settings_.timeout).count()) +
                     " ms, so that another node can be the manager now: " + ttl.error().message);
}

Result<Revision> Leadership::set_ready() {
    Txn txn;
    txn.compares.push_back(is_manager());
    txn.success.emplace_back(Put{layout_.lead(), encode(record(true)), lease_.id});
    txn.failure.emplace_back(Range{.key = layout_.lead()});
    const auto done = client_.txn(txn, settings_.request_timeout);
    if (!done) return done.error();
    if (done->succeeded) return done->header.revision;
    const auto* const other = done->ranges.front().first();
    return other_manager(ErrorCode::not_the_manager,
                         other != nullptr ? decode_lead(other->value) : LeadRecord());
}

void Leadership::resign() {
    end_renewal();
    if (epoch_ == 0) return;
    Txn txn;
    txn.compares.push_back(is_manager());
    txn.success.emplace_back(DeleteRange{layout_.lead(), {}});
    // If this fails, the key is deleted when its lease ends.
    [[maybe_unused]] const auto deleted = client_.txn(txn, settings_.request_timeout);
    [[maybe_unused]] const auto revoked =
        client_.revoke_lease(lease_.id, settings_.request_timeout);
}

void Leadership::give_up() {
    MutexLock lock(mutex_);
    stopped_ = true;
    stopping_.notify_all();
}

void Leadership::end_renewal() {
    give_up();
    if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

}  // namespace rocklock::etcd
