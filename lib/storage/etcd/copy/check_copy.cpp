#include "storage/etcd/copy/check_copy.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "storage/rocksdb/rocksdb_copy.hpp"

namespace rocklock::etcd {
namespace {

constexpr int max_checks = 4;
// The maximum number of foreign keys that are read from one range.
constexpr std::int64_t max_foreign = 1'000;

// Compares the values of etcd, which are passed in the order of their keys, with those of a
// snapshot.
class Comparison {
public:
    explicit Comparison(const Snapshot& copy) : copy_(copy) {}

    Result<void> compare(Family family, const std::vector<Write>& values) {
        if (auto done = advance_to(family); !done) return done;
        for (const Write& value : values) compare_value(family, value);
        return cursor_->status();
    }

    void add_foreign(std::string key) { note({CopyDifference::Kind::foreign, {}, std::move(key)}); }

    // Call it after the last values.
    Result<CopyCheck> finish() {
        if (auto done = advance_to(static_cast<Family>(family_count)); !done) return done.error();
        return std::move(check_);
    }

private:
    void compare_value(Family family, const Write& value) {
        ++check_.values;
        while (cursor_->valid() && cursor_->key() < value.key) skip_surplus(family);
        using Kind = CopyDifference::Kind;
        if (!cursor_->valid() || cursor_->key() != value.key) {
            return note({Kind::missing, family, value.key});
        }
        if (cursor_->value() != *value.value) note({Kind::changed, family, value.key});
        cursor_->next();
    }

    // Completes the families before `family`, of which etcd has no more values.
    Result<void> advance_to(Family family) {
        for (; next_ <= static_cast<int>(family); ++next_) {
            if (cursor_ != nullptr) {
                while (cursor_->valid()) skip_surplus(static_cast<Family>(next_ - 1));
                if (auto status = cursor_->status(); !status) return status;
            }
            if (next_ == family_count) return {};
            cursor_ = copy_.scan(static_cast<Family>(next_), "", "");
        }
        return {};
    }

    void skip_surplus(Family family) {
        // The record of the position is in no store.
        const bool is_position = family == Family::meta && cursor_->key() == copy_key;
        if (!is_position) {
            note({CopyDifference::Kind::surplus, family, std::string(cursor_->key())});
        }
        cursor_->next();
    }

    void note(CopyDifference difference) {
        ++check_.differences;
        if (check_.examples.size() < CopyCheck::max_examples) {
            check_.examples.push_back(std::move(difference));
        }
    }

    const Snapshot& copy_;
    // The number of families for which a cursor was created. `cursor_` is that of the last one.
    int next_ = 0;
    std::unique_ptr<Snapshot::Cursor> cursor_;
    CopyCheck check_;
};

// Returns a revision at which etcd contains the values of the copy. The revision of the copy is not
// sufficient: without later commits, etcd can have compacted it.
Result<Revision> revision_of(Client& client, const Layout& layout, const CopyPosition& position,
                             const ReadSettings& settings) {
    const auto commit = client.range({.key = layout.commit()}, settings.timeout);
    if (!commit) return commit.error();
    const auto* const found = commit->first();
    const bool is_last = position.commit.has_value() == (found != nullptr) &&
                         (found == nullptr || found->value == *position.commit);
    return is_last ? commit->header.revision : position.revision;
}

Result<CopyCheck> check_once(Client& client, const Layout& layout, const CopySnapshot& copy,
                             const ReadSettings& settings) {
    const auto revision = revision_of(client, layout, copy.position, settings);
    if (!revision) return revision.error();
    Comparison comparison(*copy.values);
    const auto compare = [&](Family family, const std::vector<Write>& values) {
        return comparison.compare(family, values);
    };
    const auto read = read_values(client, layout, *revision, compare, settings);
    if (!read) return read.error();
    for (Range& range : layout.unused()) {
        range.revision = *revision;
        range.limit = max_foreign;
        const auto found = client.range(range, settings.timeout);
        if (!found) return found.error();
        for (const KeyValue& each : found->kvs) comparison.add_foreign(each.key);
    }
    auto check = comparison.finish();
    if (check) check->revision = *revision;
    return check;
}

}  // namespace

Result<CopyCheck> check_copy(Client& client, const Layout& layout, const Copy& copy,
                             const ReadSettings& settings) {
    for (int i = 1;; ++i) {
        auto check = check_once(client, layout, copy.snapshot(), settings);
        const bool compacted = !check && check.error().code == ErrorCode::precondition_failed;
        if (!compacted || i == max_checks) return check;
    }
}

}  // namespace rocklock::etcd
