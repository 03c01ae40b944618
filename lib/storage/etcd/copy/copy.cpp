#include "storage/etcd/copy/copy.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "storage/rocksdb/rocksdb_copy.hpp"

namespace rocklock::etcd {
namespace {

// The revision is also the version of the record. The commit is empty if there is none.
std::string encode_position(const CopyPosition& position) {
    std::string bytes;
    append_u64(bytes, static_cast<std::uint64_t>(position.revision));
    append_u64(bytes, position.cluster_id);
    append_string(bytes, position.commit.value_or(""));
    append_string(bytes, position.prefix);
    return bytes;
}

// Returns a position with revision 0 if the record is incomplete.
CopyPosition decode_position(std::string_view bytes) {
    Reader reader(bytes);
    const auto revision = reader.u64();
    const auto cluster_id = reader.u64();
    const auto commit = reader.string();
    const auto prefix = reader.string();
    if (!prefix) return {};
    CopyPosition position;
    position.revision = static_cast<Revision>(*revision);
    position.cluster_id = *cluster_id;
    if (!commit->empty()) position.commit = std::string(*commit);
    position.prefix = std::string(*prefix);
    return position;
}

Write position_record(const CopyPosition& position) {
    return {Family::meta, std::string(copy_key), encode_position(position)};
}

Batch batch_of(std::vector<Write> writes) {
    Batch batch;
    batch.writes = std::move(writes);
    return batch;
}

bool is_unusable(ErrorCode code) {
    return code == ErrorCode::corrupt || code == ErrorCode::newer_format;
}

}  // namespace

Result<std::shared_ptr<Copy>> Copy::open(const std::string& directory, Clock& clock) {
    const std::string own = directory.empty() ? directory : directory + "/etcd-copy";
    std::shared_ptr<Copy> copy(new Copy(own, clock));
    if (auto opened = copy->open_storage(); !opened) return std::move(opened).error();
    return copy;
}

Result<void> Copy::open_storage() {
    if (directory_.empty()) {
        storage_ = make_memory_storage(clock_);
        return {};
    }
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(directory_).parent_path(), failed);
    auto opened = open_existing();
    if (opened && position_.revision != 0 && !storage_->suspect()) return {};
    if (!opened && !is_unusable(opened.error().code)) return opened;
    // The name of the directory shows that its contents are a copy.
    set_position({});
    storage_.reset();
    std::filesystem::remove_all(directory_, failed);
    return open_existing();
}

Result<void> Copy::open_existing() {
    auto opened = open_rocksdb_copy(directory_, clock_);
    if (!opened) return std::move(opened).error();
    storage_ = *std::move(opened);
    const auto record = storage_->get(Family::meta, copy_key);
    if (!record) return record.error();
    set_position(*record ? decode_position(**record) : CopyPosition());
    return {};
}

void Copy::set_position(CopyPosition position) {
    position_ = std::move(position);
    revision_ = position_.revision;
    const auto commit = decode_commit(position_.commit.value_or("")).value_or(CommitRecord());
    commit_number_ = commit.number;
    commit_epoch_ = commit.epoch;
}

CopySnapshot Copy::snapshot() const {
    const MutexLock lock(mutex_);
    return {position_, storage_->snapshot()};
}

Result<void> Copy::write(std::vector<Write> writes, CopyPosition position) {
    const MutexLock lock(mutex_);
    if (!directory_.empty()) writes.push_back(position_record(position));
    auto done = storage_->commit(batch_of(std::move(writes)), Durability::written);
    if (done) set_position(std::move(position));
    return done;
}

Result<void> Copy::write(std::vector<Write> writes, Revision revision,
                         std::optional<std::string> commit) {
    CopyPosition position = position_;
    position.revision = revision;
    position.commit = std::move(commit);
    return write(std::move(writes), std::move(position));
}

Result<void> Copy::add(std::vector<Write> writes) {
    if (writes.empty()) return {};
    return storage_->commit(batch_of(std::move(writes)), Durability::written);
}

Result<void> Copy::reset() {
    set_position({});
    storage_.reset();
    if (!directory_.empty()) {
        std::error_code failed;
        std::filesystem::remove_all(directory_, failed);
    }
    return open_storage();
}

}  // namespace rocklock::etcd
