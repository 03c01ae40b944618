#include "storage/etcd/copy/follower.hpp"

#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "storage/etcd/copy/apply_changes.hpp"
#include "storage/etcd/copy/load_copy.hpp"

namespace rocklock::etcd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds load_position_timeout{2'000};
// A stop cancels the watch, so the period only limits the consequences of a missed cancellation.
constexpr milliseconds next_timeout{1'000};
constexpr milliseconds follow_retry_pause{100};
// After the changes that are available, the thread sleeps for this time, so that one wake-up
// applies all changes of this time. With a wake-up for each commit, two standbys took processor
// time from the manager and etcd on a shared machine. A takeover does not wait for this pause to
// be current: it reads the last changes itself (see catch_up.hpp).
constexpr milliseconds gather_pause{10};

}  // namespace

Result<void> Follower::follow(const std::stop_token& stop) {
    current_ = false;
    while (!stop.stop_requested()) {
        auto done = copy_->position().revision == 0 ? load(stop) : apply(stop);
        if (auto failed = copy_->storage().failure()) return *std::move(failed);
        if (done || stop.stop_requested()) continue;
        report(false);
        const ErrorCode code = done.error().code;
        // The key `commit` was deleted, the store was replaced, or the history after the position
        // was compacted.
        const bool is_outdated =
            code == ErrorCode::precondition_failed || code == ErrorCode::corrupt;
        if (code == ErrorCode::corrupt && !copy_->position().commit) return done;
        auto again = is_outdated ? may_load_again() : Result<bool>(false);
        if (!again && again.error().code == ErrorCode::corrupt) return std::move(again).error();
        if (again && *again) {
            if (auto empty = copy_->reset(); !empty) return empty;
        } else {
            std::this_thread::sleep_for(follow_retry_pause);
        }
    }
    return {};
}

// A copy that shows a store is kept until etcd has one again. Otherwise, this node would not know
// that there was a store, and could begin with an empty one. Errors: corrupt if there is none
Result<bool> Follower::may_load_again() {
    if (!copy_->position().commit) return true;
    const auto last = last_commit();
    if (!last) return last.error();
    if (*last != 0) return true;
    return Error(ErrorCode::corrupt,
                 "the store below " + layout_.prefix() +
                     " is not in etcd any more, although this node has seen it");
}

void Follower::report(bool current) {
    if (std::exchange(current_, current) != current && on_current_) on_current_(current);
}

// Returns the number of the last commit in etcd, or 0 if there is no store. Returns the greatest
// number if the record of the commit cannot be decoded, so that no copy is current.
Result<std::uint64_t> Follower::last_commit() {
    const auto found = client_.range({.key = layout_.commit()}, load_position_timeout);
    if (!found) return found.error();
    const auto* const value = found->first();
    if (value == nullptr) return std::uint64_t{0};
    const auto commit = decode_commit(value->value);
    return commit ? commit->number : std::numeric_limits<std::uint64_t>::max();
}

// Loads the values at the current revision.
Result<void> Follower::load(const std::stop_token& stop) {
    const auto commit = client_.range({.key = layout_.commit()}, load_position_timeout);
    if (!commit) return commit.error();
    CopyPosition position{commit->header.cluster_id, layout_.prefix(), commit->header.revision, {}};
    if (const auto* const value = commit->first()) position.commit = value->value;
    ReadSettings settings;
    settings.stop = stop;
    return load_copy(client_, layout_, position, *copy_, settings);
}

// Applies changes until the watch ends.
Result<void> Follower::apply(const std::stop_token& stop) {
    auto watch = watch_changes(client_, layout_, *copy_);
    if (!watch) return std::move(watch).error();
    const std::stop_callback cancel(stop, [&] { (*watch)->cancel(); });
    const auto last = last_commit();
    if (!last) return last.error();
    bool applied_all = true;
    while (true) {
        if (copy_->commit_number() >= *last) report(true);
        auto changes = (*watch)->next(applied_all ? next_timeout : milliseconds::zero());
        if (!changes) return std::move(changes).error();
        if (!*changes) {
            if (!applied_all) std::this_thread::sleep_for(gather_pause);
            applied_all = true;
            continue;
        }
        applied_all = false;
        if (auto done = apply_changes(layout_, *std::move(*changes), *copy_); !done) return done;
    }
}

}  // namespace rocklock::etcd
