#include "storage/read_ahead.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>

namespace rocklock::testing {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

// Iterates over rows. If `fails` is set, fails after the last one.
class RowsCursor final : public Snapshot::Cursor {
public:
    explicit RowsCursor(const Rows& rows, bool fails = false) : rows_(rows), fails_(fails) {}

    bool valid() const override { return at_ < rows_.size(); }
    std::string_view key() const override { return rows_[at_].first; }
    std::string_view value() const override { return rows_[at_].second; }
    void next() override { ++at_; }
    Result<void> status() const override {
        if (valid() || !fails_) return {};
        return Error(ErrorCode::corrupt, "found on the way");
    }

private:
    const Rows& rows_;
    const bool fails_;
    std::size_t at_ = 0;
};

Rows rows(std::size_t count, std::size_t value_bytes) {
    Rows made;
    made.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        made.emplace_back(std::to_string(i), std::string(i % 7 == 0 ? 0 : value_bytes, 'x'));
    }
    return made;
}

ReadAhead ahead_of(const Rows& rows, bool fails = false) {
    return ReadAhead(std::make_unique<RowsCursor>(rows, fails));
}

Rows all_of(ReadAhead cursor) {
    Rows found;
    for (; cursor.valid(); cursor.next()) {
        BOOST_REQUIRE(cursor.status().has_value());
        found.emplace_back(cursor.key(), cursor.value());
    }
    BOOST_TEST(cursor.status().has_value());
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reading_ahead)

BOOST_AUTO_TEST_CASE(gives_each_record_in_order) {
    const std::size_t most = ReadAhead::max_records;
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, most - 1, most, most + 1, 3 * most, 3 * most + 17}) {
        const Rows all = rows(count, 3);
        BOOST_TEST((all_of(ahead_of(all)) == all), count);
    }
}

BOOST_AUTO_TEST_CASE(gives_large_records) {
    const Rows all = rows(40, ReadAhead::max_bytes / 3);
    BOOST_TEST((all_of(ahead_of(all)) == all));
    const Rows larger = rows(3, 2 * ReadAhead::max_bytes);
    BOOST_TEST((all_of(ahead_of(larger)) == larger));
}

BOOST_AUTO_TEST_CASE(reports_an_error_after_the_records_before_it) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{5}, 2 * ReadAhead::max_records}) {
        const Rows all = rows(count, 3);
        ReadAhead cursor = ahead_of(all, true);
        std::size_t seen = 0;
        for (; cursor.valid(); cursor.next()) {
            BOOST_REQUIRE(cursor.status().has_value());
            ++seen;
        }
        BOOST_TEST(seen == count);
        BOOST_REQUIRE(!cursor.status());
        BOOST_TEST((cursor.status().error().code == ErrorCode::corrupt));
    }
}

BOOST_AUTO_TEST_CASE(may_end_anywhere) {
    const Rows all = rows(4 * ReadAhead::max_records, 3);
    for (const std::size_t steps : {std::size_t{0}, std::size_t{9}, ReadAhead::max_records}) {
        ReadAhead cursor = ahead_of(all);
        for (std::size_t i = 0; i < steps; ++i) cursor.next();
        BOOST_TEST((cursor.key() == std::to_string(steps)));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
