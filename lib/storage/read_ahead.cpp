#include "storage/read_ahead.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/background_work.hpp"

namespace rocklock {

ReadAhead::ReadAhead(std::unique_ptr<Snapshot::Cursor> cursor) : cursor_(std::move(cursor)) {
    fetched_ = fetch({});
    fetch_more();
}

std::string_view ReadAhead::key() const {
    ROCKLOCK_ASSERT(valid());
    return std::string_view(fetched_.bytes)
        .substr(start(), fetched_.records[at_].key_end - start());
}

std::string_view ReadAhead::value() const {
    ROCKLOCK_ASSERT(valid());
    const auto [key_end, end] = fetched_.records[at_];
    return std::string_view(fetched_.bytes).substr(key_end, end - key_end);
}

void ReadAhead::next() {
    ROCKLOCK_ASSERT(valid());
    if (++at_ < fetched_.records.size() || !more_.valid()) return;
    spent_ = std::exchange(fetched_, more_.get());
    at_ = 0;
    fetch_more();
}

Result<void> ReadAhead::status() const {
    // The current record was read before any error.
    if (valid()) return {};
    return cursor_->status();
}

ReadAhead::Records ReadAhead::fetch(Records into) const {
    into.records.clear();
    into.bytes.clear();
    for (; cursor_->valid(); cursor_->next()) {
        if (into.records.size() == max_records || into.bytes.size() >= max_bytes) break;
        into.bytes += cursor_->key();
        const std::size_t key_end = into.bytes.size();
        into.bytes += cursor_->value();
        into.records.push_back({key_end, into.bytes.size()});
    }
    return into;
}

void ReadAhead::fetch_more() {
    if (!cursor_->valid()) return;
    more_ = start_background([this] { return fetch(std::exchange(spent_, {})); });
}

}  // namespace rocklock
