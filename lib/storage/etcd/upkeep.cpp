#include "storage/etcd/upkeep.hpp"

#include <string>
#include <utility>

namespace rocklock::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds upkeep_step{1'000};
// Percentages of the quota.
constexpr std::uint64_t warning_percent = 60;
constexpr std::uint64_t full_percent = 85;
// Growth is accepted again below this, so that the state does not alternate.
constexpr std::uint64_t room_percent = 80;

std::string megabytes_of(std::uint64_t bytes) { return std::to_string(bytes / 1'000'000) + " MB"; }

}  // namespace

Error quota_exceeded() {
    return {ErrorCode::no_space,
            "the database of etcd has exceeded its quota, so that etcd accepts no commits: compact "
            "and defragment it, or increase --quota-backend-bytes of etcd, and then run `etcdctl "
            "alarm disarm`; no acknowledged change is lost"};
}

Upkeep::Upkeep(Client& client, Leadership& leadership, Settings settings)
    : client_(client), leadership_(leadership), settings_(std::move(settings)) {
    space_.quota_bytes = settings_.quota_bytes;
}

void Upkeep::start() {
    compacted_ = steady_clock::now();
    thread_ = std::thread([this] { run(); });
}

void Upkeep::stop() {
    {
        const MutexLock lock(mutex_);
        stopped_ = true;
        stopping_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void Upkeep::run() {
    MutexLock lock(mutex_);
    while (!stopped_) {
        lock.unlock();
        step(steady_clock::now());
        lock.lock();
        if (!stopped_) stopping_.wait_for(mutex_, upkeep_step);
    }
}

void Upkeep::step(steady_clock::time_point now) {
    if (!measured_ || now - *measured_ >= settings_.measure_period) {
        measured_ = now;
        measure();
    }
    if (settings_.compaction_period <= milliseconds{0}) return;
    const bool many = written_ - written_at_compaction_ >= settings_.compaction_bytes;
    if (now - compacted_ < settings_.compaction_period && !many) return;
    compacted_ = now;
    compact();
}

// The free pages of the database can be used again, so only the used ones count.
void Upkeep::measure() {
    client_.use_leader(settings_.leader_timeout);
    const auto status = client_.status(settings_.request_timeout);
    if (!status) return;
    EtcdSpace space;
    space.quota_bytes = settings_.quota_bytes;
    space.bytes = static_cast<std::uint64_t>(status->db_bytes);
    space.used_bytes = static_cast<std::uint64_t>(status->db_bytes_in_use);
    const auto percent =
        space.quota_bytes == 0 ? 0 : space.used_bytes / (space.quota_bytes / 100 + 1);
    if (percent >= (full_ ? room_percent : full_percent)) {
        space.level = EtcdSpace::Level::full;
    } else if (percent >= warning_percent) {
        space.level = EtcdSpace::Level::high;
    }
    bool changed = false;
    {
        const MutexLock lock(mutex_);
        changed = space.level != space_.level;
        space_ = space;
    }
    full_ = space.level == EtcdSpace::Level::full;
    if (changed && settings_.on_space_changed) settings_.on_space_changed(space);
}

void Upkeep::compact() {
    if (compact_at_) {
        const auto done = client_.compact(*compact_at_, settings_.request_timeout);
        // The history before that revision may already have been compacted by another program.
        if (!done && done.error().code != ErrorCode::precondition_failed) return;
        compact_at_.reset();
    }
    const std::uint64_t written = written_;
    if (written == written_at_compaction_) return;
    const auto revision = leadership_.set_ready();
    if (!revision) return;
    compact_at_ = *revision;
    written_at_compaction_ = written;
}

EtcdSpace Upkeep::space() const {
    const MutexLock lock(mutex_);
    return space_;
}

Error Upkeep::growth_refusal() const {
    const auto now = space();
    return {ErrorCode::no_space,
            "the database of etcd is almost full, so that new sessions, locks and data are "
            "refused; releases, renewals and deletions continue: delete data until less than " +
                megabytes_of(now.quota_bytes / 100 * room_percent) +
                " are used (now: " + megabytes_of(now.used_bytes) +
                "), or increase --quota-backend-bytes of etcd and etcd-quota of the nodes; then "
                "try again"};
}

}  // namespace rocklock::etcd
