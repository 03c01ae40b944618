#include "contestants.hpp"

#include <atomic>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

namespace rocklock::bench {

namespace {

constexpr std::size_t names_per_thread = 1024;
// So long that no session is renewed during a measurement.
constexpr std::chrono::hours lease{1};

Database open_database(Kind kind, const std::string& folder) {
    DatabaseOptions options;
    if (kind == Kind::memory) return must(Database::in_memory(options), "open in memory");
    if (kind == Kind::written) options.durability = Durability::written;
    return must(Database::open(folder, options), "open");
}

// Forwards everything to a store in memory, and records the writes.
class NotingStorage final : public Storage {
public:
    explicit NotingStorage(std::vector<Write>& noted)
        : noted_(noted), below_(make_memory_storage(system_clock())) {}

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        noted_.insert(noted_.end(), batch.writes.begin(), batch.writes.end());
        return below_->enqueue(std::move(batch), durability, verdict);
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        return below_->wait(number, durability);
    }
    bool done(CommitNumber number, Durability durability) const override {
        return below_->done(number, durability);
    }
    std::unique_ptr<Snapshot> snapshot() const override { return below_->snapshot(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return below_->get(family, key);
    }
    std::optional<Error> failure() const override { return below_->failure(); }
    bool suspect() const override { return below_->suspect(); }
    Result<void> mark_sound() override { return below_->mark_sound(); }
    Result<void> close() override { return below_->close(); }

private:
    std::vector<Write>& noted_;
    std::unique_ptr<Storage> below_;
};

std::string principal_of(std::size_t thread) { return "worker-" + std::to_string(thread); }

}  // namespace

std::string name_of(std::size_t number, bool flat) {
    char text[Names::bytes + 1];
    std::snprintf(text, sizeof text, flat ? "orders-%017zu" : "orders/%017zu", number);
    return text;
}

Names::Names(std::size_t thread, std::size_t count, bool flat) {
    for (std::size_t i = 0; i < count; ++i) names_.push_back(name_of(thread * count + i, flat));
}

PairSizes measure_pair_sizes() {
    std::vector<Write> noted;
    Database database = must(Database::open_on(std::make_unique<NotingStorage>(noted)), "open");
    Session session = must(database.open_session(principal_of(0)), "open a session");
    noted.clear();
    Guard guard = must(session.acquire(name_of(0, false)), "acquire");
    must(guard.release(), "release");
    if (noted.size() != 2 || !noted[0].value || !noted[1].value) {
        give_up("look at the writes of a pair", "they are not two");
    }
    return {noted[0].key.size(), noted[0].value->size(), noted[1].value->size()};
}

// ---- Rocklock ----

Embedded::Embedded(Kind kind, const std::string& folder, std::size_t threads)
    : database_(open_database(kind, folder)) {
    SessionOptions options;
    options.lease = lease;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        sessions_.push_back(
            must(database_.open_session(principal_of(thread), options), "open a session"));
        names_.emplace_back(thread, names_per_thread);
    }
}

void Embedded::pair(std::size_t thread) {
    Guard guard = must(sessions_[thread].acquire(names_[thread].next()), "acquire");
    must(guard.release(), "release");
}

void Embedded::set(std::size_t thread, std::size_t count) {
    std::vector<LockRequest> locks(count);
    for (LockRequest& lock : locks) lock.resource = names_[thread].next();
    Guard guard = must(sessions_[thread].acquire(std::move(locks)), "acquire a set");
    must(guard.release(), "release a set");
}

// ---- RocksDB ----

struct RawRocksdb::State {
    std::unique_ptr<rocksdb::DB> database;
    rocksdb::WriteOptions acquire;
    std::atomic<std::uint64_t> next{1};
    std::size_t key_bytes = 0;
    std::string acquired;
    std::string released;

    std::string next_key() {
        std::string key(key_bytes, 'g');
        std::uint64_t number = next.fetch_add(1);
        for (std::size_t i = key.size(); i-- > 1; number >>= 8) {
            key[i] = static_cast<char>(number & 0xFF);
        }
        return key;
    }
    void write(const rocksdb::WriteOptions& options, const std::string& key,
               const std::string& value) const {
        const auto status = database->Put(options, key, value);
        if (!status.ok()) give_up("raw RocksDB", status.ToString());
    }
};

RawRocksdb::RawRocksdb(bool synced, const std::string& folder, std::size_t /*threads*/,
                       PairSizes sizes)
    : state_(std::make_unique<State>()) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    const auto status = rocksdb::DB::Open(options, folder, &opened);
    if (!status.ok()) give_up("raw RocksDB", status.ToString());
    state_->database.reset(opened);
    state_->acquire.sync = synced;
    state_->key_bytes = sizes.key;
    state_->acquired.assign(sizes.acquire, 'a');
    state_->released.assign(sizes.release, 'r');
}

RawRocksdb::~RawRocksdb() = default;

void RawRocksdb::pair(std::size_t /*thread*/) {
    const std::string key = state_->next_key();
    state_->write(state_->acquire, key, state_->acquired);
    state_->write(rocksdb::WriteOptions(), key, state_->released);
}

void RawRocksdb::put(std::size_t /*thread*/) {
    state_->write(state_->acquire, state_->next_key(), state_->acquired);
}

// ---- The bare table ----

BareTable::BareTable(std::size_t threads) {
    for (std::size_t thread = 0; thread < threads; ++thread) {
        names_.emplace_back(thread, names_per_thread);
    }
}

void BareTable::pair(std::size_t thread) {
    const std::string& name = names_[thread].next();
    Shard& shard = shards_[std::hash<std::string>{}(name) % shards_.size()];
    {
        const std::lock_guard lock(shard.mutex);
        if (!shard.owners.try_emplace(name, thread).second) give_up("bare table", "not free");
    }
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.owners.find(name);
    if (found == shard.owners.end() || found->second != thread) give_up("bare table", "not ours");
    shard.owners.erase(found);
}

}  // namespace rocklock::bench
