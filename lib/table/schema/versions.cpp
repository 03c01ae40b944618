#include "table/schema/versions.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "table/schema/layout.hpp"

namespace rocklock::table {

Result<void> Versions::open(WallTime now) {
    auto mark = storage_.get(Family::meta, versions_key);
    if (!mark) return std::move(mark).error();
    if (*mark && (*mark)->size() != sizeof(std::uint64_t)) {
        return Error(ErrorCode::corrupt, "the record of the last item version is damaged");
    }
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    const auto by_clock = static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)) << 21;
    MutexLock lock(mutex_);
    next_ = std::max<std::uint64_t>(*mark ? version_of(**mark) : 1,
                                    std::max<std::uint64_t>(by_clock, 1));
    reserved_ = next_;
    return {};
}

Result<std::uint64_t> Versions::next() {
    MutexLock lock(mutex_);
    ROCKLOCK_ASSERT(next_ > 0 && next_ <= reserved_);
    if (next_ == reserved_) {
        std::string mark;
        append_u64(mark, reserved_ + block);
        Batch batch;
        batch.writes.push_back({Family::meta, std::string(versions_key), std::move(mark)});
        if (auto written = storage_.commit(std::move(batch)); !written) {
            return std::move(written).error();
        }
        reserved_ += block;
    }
    ROCKLOCK_ASSERT(next_ < reserved_);
    return next_++;
}

}  // namespace rocklock::table
