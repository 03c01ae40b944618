#include <rocklock/testing/faulty_storage.hpp>

#include <array>
#include <map>
#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/mutex.hpp"
#include "storage/group_commit.hpp"
#include "storage/memory_image.hpp"

namespace rocklock::testing {
namespace {

using Synced = std::map<std::pair<Family, std::string>, std::string>;

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

// FNV-1a.
std::uint64_t checksum(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : bytes) {
        hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
    }
    return hash;
}

// Encodes a record: the length of its body (4 bytes), the checksum (8 bytes), and the body.
std::string encode(const Batch& batch) {
    std::string body;
    append_varint(body, batch.writes.size());
    for (const Write& write : batch.writes) {
        append_u8(body, static_cast<std::uint8_t>(write.family));
        append_string(body, write.key);
        append_u8(body, write.value ? 1 : 0);
        if (write.value) append_string(body, *write.value);
    }
    std::string record;
    append_u32(record, static_cast<std::uint32_t>(body.size()));
    append_u64(record, checksum(body));
    return record + body;
}

// Applies the records of a log up to the first one that is torn or damaged.
void replay(std::string_view log, Synced& synced) {
    Reader records(log);
    while (true) {
        const auto size = records.u32();
        const auto sum = records.u64();
        const auto body = records.bytes(size.value_or(0));
        if (!body || !sum || checksum(*body) != *sum) return;
        Reader writes(*body);
        for (std::uint64_t left = writes.varint().value_or(0); left > 0; --left) {
            const auto family = static_cast<Family>(writes.u8().value_or(0));
            std::string key(writes.string().value_or(""));
            if (writes.u8().value_or(0) != 0) {
                synced[{family, std::move(key)}] = writes.string().value_or("");
            } else {
                synced.erase({family, std::move(key)});
            }
        }
        ROCKLOCK_ASSERT(writes.done());
    }
}

}  // namespace

// The storage engine with the injected failures. Threads: thread-safe.
class FaultyStorage::Disk final : public Engine {
public:
    Result<std::optional<std::uint64_t>> version(Family family, std::string_view key) override {
        if (auto planned = count(Call::read)) return *std::move(planned);
        return image.version(family, key);
    }

    Result<void> write(std::span<Batch* const> batches, bool sync_too) override {
        for (Batch* const batch : batches) {
            const std::string record = encode(*batch);
            {
                MutexLock lock(mutex_);
                log_ += record;
                ends_.push_back(log_.size());
            }
            if (auto planned = count(Call::write)) return *std::move(planned);
            image.apply(*batch);
        }
        return sync_too ? sync() : Result<void>();
    }

    Result<void> sync() override {
        if (auto planned = count(Call::sync)) return *std::move(planned);
        MutexLock lock(mutex_);
        replay(log_, synced_);
        log_.clear();
        ends_.clear();
        return {};
    }

    void failed(const Error&) override {
        MutexLock lock(mutex_);
        suspect_ = true;
    }

    // Counts a call. Returns the planned failure if this is the call that must fail.
    std::optional<Error> count(Call call) {
        MutexLock lock(mutex_);
        Counter& counter = counters_[static_cast<std::size_t>(call)];
        ++counter.calls;
        if (!counter.planned || counter.calls != counter.fails_at) return std::nullopt;
        return std::exchange(counter.planned, std::nullopt);
    }

    void plan(Call call, std::uint64_t nth, Error error) {
        ROCKLOCK_ASSERT(nth > 0);
        MutexLock lock(mutex_);
        Counter& counter = counters_[static_cast<std::size_t>(call)];
        counter.fails_at = counter.calls + nth;
        counter.planned = std::move(error);
    }

    std::uint64_t calls(Call call) const {
        MutexLock lock(mutex_);
        return counters_[static_cast<std::size_t>(call)].calls;
    }

    std::string log() const {
        MutexLock lock(mutex_);
        return log_;
    }

    std::vector<std::size_t> log_ends() const {
        MutexLock lock(mutex_);
        return ends_;
    }

    bool suspect() const {
        MutexLock lock(mutex_);
        return suspect_;
    }

    void set_suspect(bool suspect) {
        MutexLock lock(mutex_);
        suspect_ = suspect;
    }

    // Initializes the disk with the synced data of `before` and the surviving part of its log.
    void start_from(const Disk& before, std::string_view log) {
        Synced synced;
        bool suspect = false;
        {
            MutexLock lock(before.mutex_);
            synced = before.synced_;
            suspect = before.suspect_;
        }
        replay(log, synced);
        Batch everything;
        for (const auto& [name, value] : synced) {
            everything.writes.push_back({name.first, name.second, value});
        }
        image.apply(everything);
        MutexLock lock(mutex_);
        synced_ = std::move(synced);
        suspect_ = suspect;
    }

    // The data that readers see: all written data, synced or not.
    MemoryImage image;

private:
    struct Counter {
        std::uint64_t calls = 0;
        std::uint64_t fails_at = 0;
        std::optional<Error> planned;
    };

    mutable Mutex mutex_;
    Synced synced_ ROCKLOCK_GUARDED_BY(mutex_);
    std::string log_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<std::size_t> ends_ ROCKLOCK_GUARDED_BY(mutex_);
    bool suspect_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::array<Counter, 4> counters_ ROCKLOCK_GUARDED_BY(mutex_);
};

struct FaultyStorage::Parts {
    Parts(Clock& with_clock, Pump with_pump)
        : clock(with_clock), pump(with_pump), group(disk, with_clock, false) {}

    Clock& clock;
    Pump pump;
    mutable Disk disk;
    GroupCommit group;

    class View;
    class Walk;
};

// A cursor that counts its steps as reads and fails as planned.
class FaultyStorage::Parts::Walk final : public Snapshot::Cursor {
public:
    Walk(Disk& disk, std::unique_ptr<Cursor> cursor) : disk_(disk), cursor_(std::move(cursor)) {
        failed_ = disk_.count(Call::read);
    }

    bool valid() const override { return !failed_ && cursor_->valid(); }
    std::string_view key() const override { return cursor_->key(); }
    std::string_view value() const override { return cursor_->value(); }
    void next() override {
        failed_ = disk_.count(Call::read);
        if (!failed_) cursor_->next();
    }
    Result<void> status() const override {
        return failed_ ? Result<void>(*failed_) : cursor_->status();
    }

private:
    Disk& disk_;
    std::unique_ptr<Cursor> cursor_;
    std::optional<Error> failed_;
};

class FaultyStorage::Parts::View final : public Snapshot {
public:
    explicit View(Disk& disk) : disk_(disk), snapshot_(disk.image.snapshot()) {}

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        if (auto planned = disk_.count(Call::read)) return *std::move(planned);
        return snapshot_->get(family, key);
    }
    std::unique_ptr<Cursor> scan(Family family, std::string_view first,
                                 std::string_view last) const override {
        return std::make_unique<Walk>(disk_, snapshot_->scan(family, first, last));
    }
    std::unique_ptr<Cursor> scan_once(Family family, std::string_view first,
                                      std::string_view last) const override {
        return std::make_unique<Walk>(disk_, snapshot_->scan_once(family, first, last));
    }
    std::unique_ptr<Cursor> scan_back(Family family, std::string_view first,
                                      std::string_view last) const override {
        return std::make_unique<Walk>(disk_, snapshot_->scan_back(family, first, last));
    }

private:
    Disk& disk_;
    std::unique_ptr<Snapshot> snapshot_;
};

FaultyStorage::FaultyStorage(Clock& clock, Pump pump)
    : parts_(std::make_unique<Parts>(clock, pump)) {}

FaultyStorage::~FaultyStorage() = default;

CommitNumber FaultyStorage::enqueue(Batch batch, Durability durability, Verdict* verdict) {
    if (auto planned = parts_->disk.count(Call::enqueue)) parts_->group.fail(*planned);
    return parts_->group.enqueue(std::move(batch), durability, verdict);
}

Result<void> FaultyStorage::wait(CommitNumber number, Durability durability) {
    if (parts_->pump == Pump::by_hand) {
        if (durability == Durability::deferred && !failure()) return {};
        ROCKLOCK_ASSERT(done(number, durability));
    }
    return parts_->group.wait(number, durability);
}

bool FaultyStorage::done(CommitNumber number, Durability durability) const {
    return parts_->group.done(number, durability);
}

std::unique_ptr<Snapshot> FaultyStorage::snapshot() const {
    return std::make_unique<Parts::View>(parts_->disk);
}

Result<std::optional<std::string>> FaultyStorage::get(Family family, std::string_view key) const {
    if (auto planned = parts_->disk.count(Call::read)) return *std::move(planned);
    return parts_->disk.image.get(family, key);
}

std::optional<Error> FaultyStorage::failure() const { return parts_->group.failure(); }

bool FaultyStorage::suspect() const { return parts_->disk.suspect(); }

Result<void> FaultyStorage::mark_sound() {
    if (auto failed = failure()) return *std::move(failed);
    parts_->disk.set_suspect(false);
    return {};
}

Result<void> FaultyStorage::close() { return parts_->group.close(); }

Result<void> FaultyStorage::write_next(std::size_t count) {
    return parts_->group.step(count, false);
}

Result<void> FaultyStorage::sync() { return parts_->group.step(0, true); }

Result<void> FaultyStorage::pump() { return parts_->group.step(all, true); }

std::size_t FaultyStorage::queued() const { return parts_->group.queued(); }

CommitNumber FaultyStorage::written_through() const { return parts_->group.written_through(); }

CommitNumber FaultyStorage::synced_through() const { return parts_->group.synced_through(); }

void FaultyStorage::fail_nth(Call call, std::uint64_t nth, Error error) {
    parts_->disk.plan(call, nth, std::move(error));
}

std::uint64_t FaultyStorage::calls(Call call) const { return parts_->disk.calls(call); }

std::string FaultyStorage::log() const { return parts_->disk.log(); }

std::vector<std::size_t> FaultyStorage::log_ends() const { return parts_->disk.log_ends(); }

std::unique_ptr<FaultyStorage> FaultyStorage::reopen_after_kill() const {
    return reopen_with_log(log());
}

std::unique_ptr<FaultyStorage> FaultyStorage::reopen_after_power_cut(
    std::size_t surviving_bytes) const {
    return reopen_with_log(log().substr(0, surviving_bytes));
}

std::unique_ptr<FaultyStorage> FaultyStorage::reopen_with_log(std::string_view log) const {
    auto reopened = std::make_unique<FaultyStorage>(parts_->clock, parts_->pump);
    reopened->parts_->disk.start_from(parts_->disk, log);
    return reopened;
}

}  // namespace rocklock::testing
