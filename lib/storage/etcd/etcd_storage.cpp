#include "storage/etcd/etcd_storage.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <tuple>
#include <utility>
#include <variant>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/fork.hpp"
#include "base/mutant.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/catch_up.hpp"
#include "storage/etcd/copy/copy.hpp"
#include "storage/etcd/copy/restore.hpp"
#include "storage/etcd/deferred_writer.hpp"
#include "storage/etcd/engine.hpp"
#include "storage/etcd/leadership.hpp"
#include "storage/etcd/measurements.hpp"
#include "storage/etcd/upkeep.hpp"
#include "storage/group_commit.hpp"
#include "storage/rocksdb/rocksdb_copy.hpp"
#include "storage/rocksdb/rocksdb_reader.hpp"
#include "storage/rocksdb/store_copy.hpp"
#include "storage/store_records.hpp"

namespace rocklock::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds request_timeout{2'000};
// The key of the id of the cluster in which the store was last recovered.
constexpr std::string_view origin_key = "etcd origin";

// Returns true for the records that only a store on etcd has.
bool is_of_etcd(Family family, std::string_view key) {
    return family == Family::meta && (key == copy_key || key == origin_key || key == restore_key);
}

Upkeep::Settings upkeep_settings(const EtcdOptions& options) {
    Upkeep::Settings settings;
    settings.compaction_period = options.compaction_period;
    settings.request_timeout = request_timeout;
    settings.quota_bytes = options.quota_bytes;
    settings.on_space_changed = options.on_space_changed;
    return settings;
}

class EtcdStorage final : public Storage {
public:
    EtcdStorage(std::unique_ptr<Client> client, const std::string& prefix, Clock& clock,
                const EtcdOptions& options)
        : client_(std::move(client)),
          clock_(clock),
          layout_(prefix),
          copy_(options.copy),
          measurements_(options.measurements),
          leadership_(std::make_unique<Leadership>(
              *client_, layout_, clock,
              Leadership::Settings{options.node, options.address, options.lead_ttl, request_timeout,
                                   options.timeout, options.lease_reads})),
          upkeep_(std::make_unique<Upkeep>(*client_, *leadership_, upkeep_settings(options))),
          engine_(*client_, layout_, *leadership_, *copy_, *upkeep_, *measurements_,
                  {request_timeout, options.timeout, [this] { deferred_writer_->request(); }}),
          group_(engine_, clock, true),
          deferred_writer_(std::make_unique<DeferredWriter>([this] { group_.write_deferred(); })) {}
    EtcdStorage(const EtcdStorage&) = delete;
    EtcdStorage& operator=(const EtcdStorage&) = delete;
    ~EtcdStorage() override;

    // Must be called first. Errors: as open_etcd_storage().
    Result<void> open(const EtcdOptions& options);

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        if (fork_check_.in_child()) return 0;
        return group_.enqueue(std::move(batch), durability, verdict);
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        if (fork_check_.in_child()) return not_ours();
        return group_.wait(number, durability);
    }
    bool done(CommitNumber number, Durability durability) const override {
        return fork_check_.in_child() || group_.done(number, durability);
    }
    CommitNumber one_write_through() const override {
        return fork_check_.in_child() ? 0 : group_.one_write_through();
    }
    bool must_confirm() const override { return true; }
    std::unique_ptr<Snapshot> snapshot() const override {
        if (fork_check_.in_child()) return make_no_snapshot(not_ours());
        return storage().snapshot();
    }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        if (fork_check_.in_child()) return not_ours();
        return storage().get(family, key);
    }
    CachedValue get_cached(Family family, std::string_view key,
                           std::size_t max_bytes) const override {
        if (fork_check_.in_child()) return {};
        return storage().get_cached(family, key, max_bytes);
    }
    std::optional<Error> failure() const override {
        if (fork_check_.in_child()) return not_ours();
        return group_.failure();
    }
    bool accepts_growth() const override { return upkeep_->accepts_growth(); }
    Error growth_refusal() const override { return upkeep_->growth_refusal(); }
    bool suspect() const override { return false; }
    bool restored() const override { return restored_; }
    Result<void> mark_sound() override;
    StorageStatistics statistics() const override {
        StorageStatistics statistics;
        if (!fork_check_.in_child()) statistics.syncs = measurements_->durations();
        return statistics;
    }
    Result<void> copy_to(const std::string& directory, const std::vector<Write>& marks) override;
    Result<void> close() override;

private:
    // The values that this process has.
    const Storage& storage() const { return std::as_const(*copy_).storage(); }
    Result<Leadership::Won> become_manager(milliseconds timeout);
    Result<void> check_format();
    Result<void> write_first_meta();
    Result<void> check_origin();
    Write origin(std::uint64_t version) const;
    Error not_ours() const;

    std::unique_ptr<Client> client_;
    Clock& clock_;
    const Layout layout_;
    ForkCheck fork_check_;
    const pid_t opened_by_ = getpid();
    const std::shared_ptr<Copy> copy_;
    const std::shared_ptr<Measurements> measurements_;
    std::unique_ptr<Leadership> leadership_;
    std::unique_ptr<Upkeep> upkeep_;
    std::uint64_t cluster_id_ = 0;
    std::atomic<bool> restored_{false};
    EtcdEngine engine_;
    GroupCommit group_;
    std::unique_ptr<DeferredWriter> deferred_writer_;
};

EtcdStorage::~EtcdStorage() {
    if (fork_check_.in_child()) {
        // The threads of these objects exist only in the parent process.
        std::ignore = deferred_writer_.release();
        std::ignore = upkeep_.release();
        std::ignore = leadership_.release();
        std::ignore = client_.release();
        return;
    }
    // The threads must end before the members that they use are destroyed.
    deferred_writer_->stop();
    upkeep_->stop();
    leadership_->end_renewal();
}

Result<void> EtcdStorage::open(const EtcdOptions& options) {
    auto won = become_manager(options.lead_timeout);
    if (!won) return std::move(won).error();
    if (!won->commit && !options.create_if_missing) {
        return Error(ErrorCode::not_a_store, "there is no store below " + layout_.prefix() +
                                                 " in etcd: check the prefix in the URL");
    }
    leadership_->start([this](const Error& error) { group_.fail(error); });
    CopyPosition position{won->cluster_id, layout_.prefix(), won->revision, won->commit};
    if (mutated(Mutant::copy_lacks_last_commits)) {
        position.revision = std::max(position.revision - 3, Revision{1});
    }
    if (auto done = catch_up(*client_, layout_, position, *copy_, options.stop); !done) return done;
    if (auto done = engine_.continue_after(won->commit); !done) return done;
    cluster_id_ = won->cluster_id;
    if (options.restoring) {
        upkeep_->start();
        return {};
    }
    auto checked = won->commit ? check_format() : write_first_meta();
    if (!checked) return checked;
    if (auto done = check_origin(); !done) return done;
    const auto ready = leadership_->set_ready();
    if (!ready) return ready.error();
    measurements_->add_term(leadership_->epoch());
    upkeep_->start();
    return {};
}

Result<Leadership::Won> EtcdStorage::become_manager(milliseconds timeout) {
    const auto until = steady_clock::now() + timeout;
    while (true) {
        auto outcome = leadership_->campaign();
        if (!outcome && outcome.error().code == ErrorCode::no_space) return quota_exceeded();
        if (!outcome) return std::move(outcome).error();
        if (auto* const won = std::get_if<Leadership::Won>(&*outcome)) return std::move(*won);
        const auto& lost = std::get<Leadership::Lost>(*outcome);
        const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
        if (left <= milliseconds{0}) {
            if (!lost.manager.node.empty()) {
                return other_manager(ErrorCode::store_in_use, lost.manager);
            }
            return Error(ErrorCode::store_in_use,
                         "the key " + layout_.lead() +
                             " in etcd names no node, so another program has written it: if no "
                             "node is the manager, delete the key");
        }
        leadership_->await_vacancy(lost.revision, left);
    }
}

Result<void> EtcdStorage::check_format() {
    const auto stored = storage().get(Family::meta, format_key);
    if (!stored) return stored.error();
    const auto store = "the store " + layout_.prefix() + " in etcd";
    const auto number = read_format(*stored, store);
    if (!number) return number.error();
    if (*number > 0) return {};
    const auto restoring = storage().get(Family::meta, restore_key);
    if (!restoring) return restoring.error();
    if (*restoring) {
        return Error(ErrorCode::not_a_store,
                     "the restore of a backup into " + store +
                         " is not complete: repeat it (rocklock db restore BACKUP --store URL)");
    }
    return Error(ErrorCode::corrupt, store + " has no record of its format");
}

// A restored snapshot becomes a cluster with another id.
Result<void> EtcdStorage::check_origin() {
    const auto stored = storage().get(Family::meta, origin_key);
    if (!stored) return stored.error();
    restored_ = !*stored || **stored != *origin(version_of(**stored)).value;
    if (mutated(Mutant::snapshot_not_recognized)) restored_ = false;
    return {};
}

Write EtcdStorage::origin(std::uint64_t version) const {
    std::string value;
    append_u64(value, version);
    append_u64(value, cluster_id_);
    return {Family::meta, std::string(origin_key), std::move(value)};
}

Result<void> EtcdStorage::mark_sound() {
    if (!restored_) return {};
    const auto stored = storage().get(Family::meta, origin_key);
    if (!stored) return stored.error();
    Batch batch;
    batch.writes.push_back(origin(*stored ? version_of(**stored) + 1 : 1));
    auto done = commit(std::move(batch), Durability::durable);
    if (done) restored_ = false;
    return done;
}

Result<void> EtcdStorage::write_first_meta() {
    Batch batch;
    batch.writes = first_records(clock_);
    batch.writes.push_back(origin(1));
    return commit(std::move(batch), Durability::durable);
}

// The values are those of the copy. They are the current ones if this node is still the manager
// afterwards.
Result<void> EtcdStorage::copy_to(const std::string& directory, const std::vector<Write>& marks) {
    if (fork_check_.in_child()) return not_ours();
    return make_copy(directory, marks, [&](const std::string& path) -> Result<void> {
        const auto values = storage().snapshot();
        if (auto confirmed = confirm(); !confirmed) return confirmed;
        return write_database(path, *values, is_of_etcd);
    });
}

Result<void> EtcdStorage::close() {
    if (fork_check_.in_child()) return not_ours();
    auto closed = group_.close();
    deferred_writer_->stop();
    upkeep_->stop();
    leadership_->resign();
    return closed;
}

Error EtcdStorage::not_ours() const { return opened_before_fork(opened_by_); }

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    return name.data();
}

Result<void> check_options(const EtcdOptions& options) {
    if (options.lead_ttl < std::chrono::seconds{2} || options.lead_ttl > std::chrono::minutes{1}) {
        return Error(ErrorCode::invalid_argument, "the TTL of the manager is " +
                                                      std::to_string(options.lead_ttl.count()) +
                                                      " ms: it must be 2 s to 60 s");
    }
    if (options.timeout <= milliseconds{0} || options.lead_timeout < milliseconds{0}) {
        return Error(ErrorCode::invalid_argument,
                     "the timeouts of a store on etcd must not be negative, and its timeout for "
                     "commits must not be zero");
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<Storage>> open_storage(std::unique_ptr<Client> client,
                                              const std::string& prefix, Clock& clock,
                                              const EtcdOptions& options) {
    if (auto checked = check_options(options); !checked) return std::move(checked).error();
    EtcdOptions chosen = options;
    if (chosen.node.empty()) chosen.node = host_name();
    if (chosen.copy == nullptr) {
        auto copy = Copy::open(options.copy_directory, clock);
        if (!copy) return std::move(copy).error();
        chosen.copy = *std::move(copy);
    }
    if (chosen.measurements == nullptr) chosen.measurements = std::make_shared<Measurements>();
    auto storage = std::make_unique<EtcdStorage>(std::move(client), prefix, clock, chosen);
    if (auto opened = storage->open(options); !opened) {
        [[maybe_unused]] const auto closed = storage->close();
        return std::move(opened).error();
    }
    return std::unique_ptr<Storage>(std::move(storage));
}

}  // namespace rocklock::etcd
