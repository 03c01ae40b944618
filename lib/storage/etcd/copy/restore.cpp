#include "storage/etcd/copy/restore.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "storage/rocksdb/rocksdb_copy.hpp"
#include "storage/store_records.hpp"

namespace rocklock::etcd {
namespace {

// The writes of one commit, which fit into one transaction.
constexpr std::size_t commit_writes = 120;
constexpr std::size_t commit_bytes = std::size_t{512} << 10;

// Combines writes into commits.
class Writer {
public:
    explicit Writer(Storage& target) : target_(target) {}

    Result<void> add(Write write) {
        const auto bytes = write.key.size() + (write.value ? write.value->size() : 0);
        const bool full = batch_.writes.size() == commit_writes || bytes_ + bytes > commit_bytes;
        if (full) {
            if (auto done = commit(); !done) return done;
        }
        bytes_ += bytes;
        batch_.writes.push_back(std::move(write));
        return {};
    }
    // Call it after the last write.
    Result<void> commit() {
        bytes_ = 0;
        if (batch_.writes.empty()) return {};
        return target_.commit(std::exchange(batch_, {}));
    }

private:
    Storage& target_;
    Batch batch_;
    std::size_t bytes_ = 0;
};

bool is_format(Family family, std::string_view key) {
    return family == Family::meta && key == format_key;
}

// Calls visit(family, cursor) for each value, until an error.
template <typename Visit>
Result<void> for_each_value(const Snapshot& snapshot, const Visit& visit) {
    for (int i = 0; i < family_count; ++i) {
        const auto family = static_cast<Family>(i);
        const auto cursor = snapshot.scan(family, "", "");
        for (; cursor->valid(); cursor->next()) {
            if (auto done = visit(family, *cursor); !done) return done;
        }
        if (auto status = cursor->status(); !status) return status;
    }
    return {};
}

Write restore_record() {
    std::string value;
    append_u64(value, 1);
    return {Family::meta, std::string(restore_key), std::move(value)};
}

// Makes the target contain only the record of the restore.
Result<void> clear(Storage& target) {
    const auto interrupted = target.get(Family::meta, restore_key);
    if (!interrupted) return interrupted.error();
    Writer writer(target);
    const auto present = target.snapshot();
    auto cleared = for_each_value(*present, [&](Family family, const Snapshot::Cursor& cursor) {
        const bool of_target =
            family == Family::meta && (cursor.key() == restore_key || cursor.key() == copy_key);
        if (of_target) return Result<void>();
        if (!*interrupted) {
            return Result<void>(Error(ErrorCode::invalid_argument,
                                      "there is a store at this URL, which is not overwritten: "
                                      "give another prefix in the URL"));
        }
        return writer.add({family, std::string(cursor.key()), std::nullopt});
    });
    if (!cleared) return cleared;
    if (auto done = writer.commit(); !done) return done;
    if (*interrupted) return {};
    Batch first;
    first.writes.push_back(restore_record());
    return target.commit(std::move(first));
}

}  // namespace

Result<void> restore_values(const Snapshot& source, Storage& target,
                            const std::vector<Write>& marks,
                            const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    std::uint64_t count = 0;
    auto done = for_each_value(source, [&](Family /*family*/, const Snapshot::Cursor& /*cursor*/) {
        ++count;
        return Result<void>();
    });
    if (!done) return done;
    if (auto cleared = clear(target); !cleared) return cleared;
    Writer writer(target);
    std::optional<Write> format;
    std::uint64_t written = 0;
    done = for_each_value(source, [&](Family family, const Snapshot::Cursor& cursor) {
        if (progress) progress(++written, count);
        Write write{family, std::string(cursor.key()), std::string(cursor.value())};
        if (!is_format(family, cursor.key())) return writer.add(std::move(write));
        format = std::move(write);
        return Result<void>();
    });
    if (done) done = writer.commit();
    if (!done) return done;
    if (!format) return Error(ErrorCode::corrupt, "the backup has no record of its format");
    Batch last;
    last.writes = marks;
    last.writes.push_back(*std::move(format));
    last.writes.push_back({Family::meta, std::string(restore_key), std::nullopt});
    return target.commit(std::move(last));
}

}  // namespace rocklock::etcd
