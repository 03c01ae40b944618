// The merged cursor compares the current keys of all sources in each step. There are at most about
// three sources, so a heap would not be faster.
//
//     next()     moves all sources that are at the current key, and then calls select()
//     select()   finds the source with the next key; on a tie, the newest one. If its record is a
//                deletion, moves all sources that are at this key, and repeats.
#include "storage/merged_cursor.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/assert.hpp"

namespace rocklock {
namespace {

using Cursors = std::vector<std::unique_ptr<Snapshot::Cursor>>;

class MergedCursor final : public Snapshot::Cursor {
public:
    // The cursors are ordered from the newest to the oldest.
    MergedCursor(Cursors cursors, ScanDirection direction) : direction_(direction) {
        sources_.reserve(cursors.size());
        for (auto& cursor : cursors) {
            sources_.push_back({std::move(cursor), std::nullopt});
            update_key(sources_.back());
        }
        select();
    }

    bool valid() const override { return current_ != nullptr; }
    std::string_view key() const override {
        ROCKLOCK_ASSERT(valid());
        return *current_->key;
    }
    std::string_view value() const override {
        ROCKLOCK_ASSERT(valid());
        return current_->cursor->value();
    }
    void next() override {
        ROCKLOCK_ASSERT(valid());
        skip_current();
        select();
    }
    Result<void> status() const override {
        if (error_) return *error_;
        return {};
    }

private:
    struct Source {
        std::unique_ptr<Snapshot::Cursor> cursor;
        // The key at which the cursor is. nullopt if the cursor has ended.
        std::optional<std::string_view> key;
    };

    // To be called after the cursor of the source was moved.
    void update_key(Source& source) {
        if (source.cursor->valid()) {
            source.key = source.cursor->key();
            return;
        }
        source.key.reset();
        if (error_) return;
        if (auto status = source.cursor->status(); !status) error_ = std::move(status.error());
    }

    void move(Source& source) {
        source.cursor->next();
        update_key(source);
    }

    bool comes_before(std::string_view key, std::string_view other) const {
        return direction_ == ScanDirection::ascending ? key < other : key > other;
    }

    // Moves all sources that are at the current key. The current source must be the last one,
    // because this move invalidates the key.
    void skip_current() {
        Source* const current = std::exchange(current_, nullptr);
        // The newer sources, which are before the current one, are not at the key.
        for (Source* source = current + 1; source != sources_.data() + sources_.size(); ++source) {
            if (source->key == current->key) move(*source);
        }
        move(*current);
    }

    Source* first_source() {
        Source* first = nullptr;
        for (Source& source : sources_) {
            if (!source.key) continue;
            if (first == nullptr || comes_before(*source.key, *first->key)) first = &source;
        }
        return first;
    }

    bool is_deleted(const Source& source) const {
        return &source != &sources_.back() && source.cursor->value().empty();
    }

    void select() {
        ROCKLOCK_ASSERT(current_ == nullptr);
        while (!error_) {
            current_ = first_source();
            if (current_ == nullptr || !is_deleted(*current_)) return;
            skip_current();
        }
    }

    const ScanDirection direction_;
    // From the newest to the oldest. Not resized after construction.
    std::vector<Source> sources_;
    // The source of the current record. Null at the end and after an error.
    Source* current_ = nullptr;
    std::optional<Error> error_;
};

}  // namespace

std::unique_ptr<Snapshot::Cursor> merge_cursors(Cursors newer,
                                                std::unique_ptr<Snapshot::Cursor> oldest,
                                                ScanDirection direction) {
    ROCKLOCK_ASSERT(oldest != nullptr);
    // A cursor that has failed is kept, so that the merged cursor reports its error.
    std::erase_if(newer, [](const auto& cursor) { return !cursor->valid() && cursor->status(); });
    if (newer.empty()) return oldest;
    newer.push_back(std::move(oldest));
    return std::make_unique<MergedCursor>(std::move(newer), direction);
}

}  // namespace rocklock
