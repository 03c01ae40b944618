#include "storage/etcd/engine.hpp"

#include <algorithm>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "storage/etcd/fold.hpp"
#include "storage/etcd/lead_record.hpp"

namespace rocklock::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The pause between two attempts of a request.
constexpr milliseconds retry_pause{50};

// Returns whether a request that failed with this error is repeated.
bool is_temporary(ErrorCode code) {
    return code == ErrorCode::unreachable || code == ErrorCode::indeterminate;
}

// Returns the approximate number of bytes that the transaction adds to the database.
std::uint64_t written_bytes(const Txn& txn) {
    // The database also stores the revisions of each change.
    constexpr std::uint64_t overhead = 100;
    std::uint64_t bytes = 0;
    for (const Operation& operation : txn.success) {
        bytes += overhead;
        if (const auto* const put = std::get_if<Put>(&operation)) {
            bytes += put->key.size() + put->value.size();
        }
    }
    return bytes;
}

Error replaced(const KeyValue* lead) {
    return other_manager(ErrorCode::not_the_manager,
                         lead != nullptr ? decode_lead(lead->value) : LeadRecord());
}

}  // namespace

Result<void> EtcdEngine::continue_after(const std::optional<std::string>& commit) {
    last_value_ = commit;
    last_ = {};
    if (!commit) return {};
    const auto record = decode_commit(*commit);
    if (!record) {
        return Error(ErrorCode::corrupt, "the key " + layout_.commit() +
                                             " in etcd does not contain a commit: was it changed "
                                             "by another program?");
    }
    last_ = *record;
    if (last_.kind == CommitRecord::Kind::plain) return {};
    if (last_.kind == CommitRecord::Kind::applying && mutated(Mutant::batch_not_resumed)) return {};
    return resume_parts();
}

Result<std::optional<std::uint64_t>> EtcdEngine::version(Family family, std::string_view key) {
    if (const auto* const known = known_.find(family, key)) return *known;
    const auto value = copy_.storage().get(family, key);
    if (!value) return value.error();
    std::optional<std::uint64_t> version;
    if (*value) version = version_of(**value);
    known_.keep(family, key, version);
    return version;
}

Result<void> EtcdEngine::write(std::span<Batch* const> batches, bool /*sync*/) {
    auto operations = fold(layout_, batches);
    auto done = fits(operations) ? commit(std::move(operations), next_record())
                                 : write_in_parts(operations);
    if (!done && mutated(Mutant::unknown_commit_applied)) std::ignore = apply(batches);
    return done ? apply(batches) : done;
}

CommitRecord EtcdEngine::next_record() const {
    CommitRecord next;
    next.number = last_.number + 1;
    next.epoch = leadership_.epoch();
    return next;
}

// Writes the operations and the commit record in one transaction.
Result<void> EtcdEngine::commit(std::vector<Operation> operations, const CommitRecord& next) {
    Txn txn;
    if (!mutated(Mutant::epoch_not_compared)) txn.compares.push_back(leadership_.is_manager());
    if (last_value_) {
        txn.compares.push_back({layout_.commit(), *last_value_});
    } else {
        txn.compares.push_back({layout_.commit(), Revision{0}});
    }
    if (mutated(Mutant::commit_number_not_compared)) txn.compares.pop_back();
    const std::string written = encode(next);
    txn.success = std::move(operations);
    txn.success.emplace_back(Put{layout_.commit(), written});
    txn.failure.emplace_back(Range{.key = layout_.lead()});
    txn.failure.emplace_back(Range{.key = layout_.commit()});

    const auto began = steady_clock::now();
    bool first = true;
    auto done = until_known([&](milliseconds timeout) -> Result<void> {
        if (!std::exchange(first, false)) measurements_.add_retry();
        const auto response = client_.txn(txn, timeout);
        if (!response) return response.error();
        const auto revision = outcome(*response, written);
        if (!revision) return revision.error();
        last_revision_ = *revision;
        return {};
    });
    measurements_.add_transaction(steady_clock::now() - began);
    if (!done && done.error().code == ErrorCode::no_space) return quota_exceeded();
    if (!done && is_temporary(done.error().code)) measurements_.add_unknown_outcome();
    if (!done) return done;
    // Without the commit record.
    measurements_.add_writes(txn.success.size() - 1);
    upkeep_.wrote(written_bytes(txn));
    last_ = next;
    last_value_ = written;
    return {};
}

// Determines whether the transaction has been executed, now or in an earlier attempt.
Result<Revision> EtcdEngine::outcome(const TxnResponse& response,
                                     const std::string& written) const {
    if (response.succeeded) return response.header.revision;
    ROCKLOCK_ASSERT(response.ranges.size() == 2);
    const auto* const lead = response.ranges.front().first();
    const auto* const commit = response.ranges.back().first();
    if (commit != nullptr && commit->value == written) return commit->mod_revision;
    if (lead == nullptr || lead->create_revision != leadership_.epoch()) return replaced(lead);
    return Error(ErrorCode::corrupt, "the key " + layout_.commit() +
                                         " in etcd was changed by another program, although this "
                                         "process is the manager");
}

// The read is linearizable: before a member answers, a majority of the members has confirmed that
// its state is current.
Result<void> EtcdEngine::sync() {
    if (mutated(Mutant::read_not_confirmed)) return {};
    if (leadership_.is_manager_by_lease()) return {};
    return until_known([&](milliseconds timeout) -> Result<void> {
        const auto lead = client_.range({.key = layout_.lead()}, timeout);
        if (!lead) return lead.error();
        const auto* const found = lead->first();
        if (found == nullptr || found->create_revision != leadership_.epoch()) {
            return replaced(found);
        }
        return {};
    });
}

// Repeats a request until its outcome is known. If the time is over, fails with `indeterminate`.
Result<void> EtcdEngine::until_known(
    const std::function<Result<void>(milliseconds timeout)>& request) const {
    const auto until = steady_clock::now() + settings_.timeout;
    bool first = true;
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
        auto done = request(std::clamp(left, milliseconds{1}, settings_.attempt_timeout));
        if (done || !is_temporary(done.error().code)) return done;
        if (steady_clock::now() >= until) {
            return Error(ErrorCode::indeterminate,
                         "etcd has not answered for " + std::to_string(settings_.timeout.count()) +
                             " ms, and it is unknown whether the last commit was made: " +
                             done.error().message);
        }
        // The first failure is often that of a connection to a member that has ended, and the next
        // member answers at once.
        if (!std::exchange(first, false)) std::this_thread::sleep_for(retry_pause);
    }
}

// Writes the committed batches into the copy. The strings are moved out of the batches.
Result<void> EtcdEngine::apply(std::span<Batch* const> batches) {
    std::vector<Write> all;
    for (Batch* const batch : batches) {
        for (Write& write : batch->writes) {
            known_.replace(write.family, write.key,
                           write.value ? std::optional(version_of(*write.value))
                                       : std::optional<std::uint64_t>());
            all.push_back(std::move(write));
        }
    }
    return copy_.write(std::move(all), last_revision_, last_value_);
}

// Another node may become the manager at once.
void EtcdEngine::failed(const Error& /*error*/) { leadership_.give_up(); }

}  // namespace rocklock::etcd
