#include <rocklock/storage/maintenance.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include <rocklock/storage/storage.hpp>

#include "base/bytes.hpp"
#include "base/hex.hpp"
#include "lock/records/records.hpp"
#include "lock/table/lock_table.hpp"
#include "storage/etcd/copy/restore.hpp"
#include "storage/rocksdb/store_copy.hpp"

namespace rocklock {
namespace {

constexpr std::string_view created_key = "created";

Result<std::unique_ptr<Storage>> open_for(const std::string& directory, Purpose purpose) {
    RocksdbOptions options;
    options.purpose = purpose;
    options.create_if_missing = false;
    return open_rocksdb_storage(directory, system_clock(), options);
}

std::string at(std::string_view what, std::string_view key) {
    return std::string(what) + " can't be read: key " + hex(key);
}

// Reads all records once: counts them, and reports those that cannot be decoded.
class Reading {
public:
    explicit Reading(StoreReport& report) : report_(report) {}

    Result<void> read(const Storage& storage, const Snapshot& snapshot);

private:
    Result<void> read_meta(const Storage& storage);
    Result<void> each(const Snapshot& snapshot, Family family,
                      void (Reading::*read)(std::string_view, std::string_view));
    void read_lock_record(std::string_view key, std::string_view value);
    void read_session(std::string_view key, std::string_view value);
    void read_grant(std::string_view key, std::string_view value);
    void read_history(std::string_view key, std::string_view value);
    void problem(std::string text) { report_.problems.push_back(std::move(text)); }
    void seen(std::uint64_t version) {
        report_.facts.last_version = std::max(report_.facts.last_version, version);
    }

    StoreReport& report_;
    // The number of sessions whose end is stored only in the record of their grant.
    std::uint64_t ended_with_grants_ = 0;
};

Result<void> Reading::read(const Storage& storage, const Snapshot& snapshot) {
    if (auto done = read_meta(storage); !done) return done;
    if (auto done = each(snapshot, Family::locks, &Reading::read_lock_record); !done) return done;
    StoreFacts& facts = report_.facts;
    const std::uint64_t moved = std::min(ended_with_grants_, facts.sessions);
    facts.sessions -= moved;
    facts.ended_sessions += moved;
    return each(snapshot, Family::history, &Reading::read_history);
}

Result<void> Reading::read_meta(const Storage& storage) {
    StoreFacts& facts = report_.facts;
    const auto created = storage.get(Family::meta, created_key);
    const auto copy = storage.get(Family::meta, records::copy_key);
    const auto marks = storage.get(Family::meta, records::marks_key);
    const auto boot = storage.get(Family::meta, records::boot_key);
    for (const auto* value : {&created, &copy, &marks, &boot}) {
        if (!*value) return value->error();
    }
    if (*created && (*created)->size() == 16) {
        Reader reader(**created);
        reader.u64();
        const auto millis = static_cast<std::int64_t>(reader.u64().value_or(0));
        facts.created = WallTime{std::chrono::milliseconds{millis}};
    } else {
        problem(at("when the store was made", created_key));
    }
    facts.copy = copy->has_value();
    if (*marks) {
        const auto decoded = records::decode_marks(**marks);
        if (!decoded) problem(at("the marks of tokens and versions", records::marks_key));
        if (decoded) facts.token_mark = decoded->token;
        if (decoded) facts.version_mark = decoded->sequence;
    }
    if (*boot) {
        const auto decoded = records::decode_boot(**boot);
        if (!decoded) problem(at("the record of the last start", records::boot_key));
        if (decoded) facts.boot_epoch = decoded->epoch;
    }
    return {};
}

Result<void> Reading::each(const Snapshot& snapshot, Family family,
                           void (Reading::*take)(std::string_view, std::string_view)) {
    const auto cursor = snapshot.scan_once(family, "", "");
    for (; cursor->valid(); cursor->next()) (this->*take)(cursor->key(), cursor->value());
    return cursor->status();
}

void Reading::read_lock_record(std::string_view key, std::string_view value) {
    switch (key.empty() ? '\0' : key.front()) {
        case records::session_tag:
            return read_session(key, value);
        case records::grant_tag:
            return read_grant(key, value);
        case records::deadline_tag: {
            const auto renewal = records::decode_deadline(value);
            return renewal ? seen(renewal->version) : problem(at("a renewal", key));
        }
        case records::class_tag:
            ++report_.facts.classes;
            if (!records::decode_class(value)) problem(at("a class", key));
            return;
        default:
            // check_table() reads the records with the resources of a grant, together with the
            // grant.
            return;
    }
}

void Reading::read_session(std::string_view key, std::string_view value) {
    const auto id = records::session_of_key(key);
    const auto record = id ? records::decode_session(*id, value) : std::nullopt;
    if (!record) return problem(at("a session", key));
    seen(record->version);
    ++(record->ended ? report_.facts.ended_sessions : report_.facts.sessions);
}

void Reading::read_grant(std::string_view key, std::string_view value) {
    const auto id = records::grant_of_key(key);
    const auto record = id ? records::decode_grant(*id, value) : std::nullopt;
    if (!record) return problem(at("a grant", key));
    seen(record->version);
    ++(record->ended ? report_.facts.ended_grants : report_.facts.grants);
    if (record->ends_session) ++ended_with_grants_;
    report_.facts.last_token = std::max(report_.facts.last_token, number(record->token));
}

void Reading::read_history(std::string_view key, std::string_view value) {
    ++report_.facts.audit_rows;
    if (!records::decode_audit(value)) problem(at("a row of the audit", key));
}

// Checks whether a lock table can be recovered from the records, and whether its invariants hold.
void check_table(const Storage& storage, const Snapshot& snapshot, StoreReport& report) {
    const auto boot_value = storage.get(Family::meta, records::boot_key);
    const auto boot = boot_value && *boot_value ? records::decode_boot(**boot_value) : std::nullopt;
    RecoveryFacts facts;
    facts.now = system_clock().now();
    facts.boot_epoch = boot ? boot->epoch : 1;
    facts.exact = boot && boot->boot_id == system_clock().boot_id() && !storage.suspect();
    LockTable table({}, {});
    // The writes that a recovery would commit are discarded.
    Decision decision;
    if (auto recovered = table.recover(snapshot, facts, decision); !recovered) {
        report.problems.push_back(recovered.error().message);
        return;
    }
    if (auto wrong = table.audit_invariants(facts.now)) {
        report.problems.push_back("the lock table is inconsistent: " + *wrong);
    }
}

Result<void> read_into(const Storage& storage, const Snapshot& snapshot,
                       const std::string& directory, StoreReport& report) {
    const auto size = size_of_directory(directory + "/db");
    if (!size) return size.error();
    report.facts.files = size->files;
    report.facts.bytes = size->bytes;
    auto done = Reading(report).read(storage, snapshot);
    // A copy has not been opened yet, so no earlier run of it can have failed.
    report.facts.suspect = storage.suspect() && !report.facts.copy;
    return done;
}

bool is_damage(const Error& error) { return error.code == ErrorCode::corrupt; }

// If only the end of the log is damaged, the store can still be opened, as after a crash. Reports
// the damage and opens the store without the damaged end.
Result<std::unique_ptr<Storage>> open_to_check(const std::string& directory, StoreReport& report) {
    auto storage = open_for(directory, Purpose::check);
    if (storage || !is_damage(storage.error())) return storage;
    auto again = open_for(directory, Purpose::read_only);
    if (!again) return again;
    report.problems.push_back(
        "the end of the log is damaged: " + storage.error().message + "; the next open discards " +
        std::to_string((*again)->discarded_log_bytes()) + " bytes at its end");
    return again;
}

Result<void> glance_at(const std::string& directory, StoreReport& report) {
    const auto storage = open_for(directory, Purpose::read_shared);
    if (!storage) return storage.error();
    const auto snapshot = (*storage)->snapshot();
    return read_into(**storage, *snapshot, directory, report);
}

}  // namespace

Result<StoreFacts> inspect_store(const std::string& directory) {
    // A process that has the store open may delete a file before it is read here, so retry.
    for (int tries = 10;; --tries) {
        StoreReport report;
        auto inspected = glance_at(directory, report);
        if (inspected) return report.facts;
        if (tries == 0 || !is_damage(inspected.error())) return std::move(inspected).error();
    }
}

Result<StoreReport> check_store(const std::string& directory) {
    StoreReport report;
    const auto storage = open_to_check(directory, report);
    if (!storage && !is_damage(storage.error())) return storage.error();
    if (!storage) {
        report.problems.push_back(storage.error().message);
        return report;
    }
    if (auto sound = (*storage)->verify(); !sound) report.problems.push_back(sound.error().message);
    const auto snapshot = (*storage)->snapshot();
    if (auto done = read_into(**storage, *snapshot, directory, report); !done) {
        if (!is_damage(done.error())) return done.error();
        // The message may be known already, from verify().
        const auto& message = done.error().message;
        auto& problems = report.problems;
        if (std::find(problems.begin(), problems.end(), message) == problems.end()) {
            problems.push_back(message);
        }
    }
    if (report.problems.empty()) check_table(**storage, *snapshot, report);
    return report;
}

namespace {

// Opens a backup and checks it for damage. The store stays open while it is copied, so that no
// other process can change it.
Result<std::unique_ptr<Storage>> open_sound(const std::string& backup) {
    const auto damaged = [](Error error) {
        if (is_damage(error)) {
            error.message = "the backup is damaged and was not restored: " + error.message;
        }
        return error;
    };
    auto source = open_for(backup, Purpose::check);
    if (!source) return damaged(source.error());
    if (auto sound = (*source)->verify(); !sound) return damaged(sound.error());
    return source;
}

}  // namespace

Result<void> restore_store(const std::string& backup, const std::string& directory,
                           const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    const auto source = open_sound(backup);
    if (!source) return source.error();
    return make_copy(directory, {records::copy_mark(system_clock().now().wall)},
                     [&](const std::string& path) -> Result<void> {
                         auto copied = copy_files(backup + "/db", path, progress);
                         return copied ? apply_own_log(path) : copied;
                     });
}

Result<void> restore_store_to_etcd(
    const std::string& backup, const std::string& url, const EtcdOptions& options,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    const auto source = open_sound(backup);
    if (!source) return source.error();
    EtcdOptions restoring = options;
    restoring.restoring = true;
    restoring.create_if_missing = true;
    auto target = open_etcd_storage(url, system_clock(), restoring);
    if (!target) return std::move(target).error();
    auto restored = etcd::restore_values(*(*source)->snapshot(), **target,
                                         {records::copy_mark(system_clock().now().wall)}, progress);
    const auto closed = (*target)->close();
    return restored ? closed : restored;
}

}  // namespace rocklock
