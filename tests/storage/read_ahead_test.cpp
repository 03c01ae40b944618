#include "storage/read_ahead.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>

namespace rocklock::testing {
namespace {

using Row = std::pair<std::string, std::string>;
using Rows = std::vector<Row>;

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

using Ahead = ReadAhead<Row>;

void decode(std::string_view key, std::string_view value, Row& row) {
    row.first = key;
    row.second = value;
}

Ahead ahead_of(const Rows& rows, bool fails = false) {
    return {std::make_unique<RowsCursor>(rows, fails), decode};
}

Rows all_of(Ahead cursor) {
    Rows found;
    for (; cursor.valid(); cursor.next()) {
        BOOST_REQUIRE(cursor.status().has_value());
        found.push_back(cursor.record());
    }
    BOOST_TEST(cursor.status().has_value());
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reading_ahead)

BOOST_AUTO_TEST_CASE(gives_each_record_in_order) {
    const std::size_t max = Ahead::max_records;
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, max - 1, max, max + 1, 3 * max, 3 * max + 17}) {
        const Rows all = rows(count, 3);
        BOOST_TEST((all_of(ahead_of(all)) == all), count);
    }
}

BOOST_AUTO_TEST_CASE(gives_large_records) {
    const Rows all = rows(40, Ahead::max_bytes / 3);
    BOOST_TEST((all_of(ahead_of(all)) == all));
    const Rows larger = rows(3, 2 * Ahead::max_bytes);
    BOOST_TEST((all_of(ahead_of(larger)) == larger));
}

BOOST_AUTO_TEST_CASE(reports_an_error_after_the_records_before_it) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{5}, 2 * Ahead::max_records}) {
        const Rows all = rows(count, 3);
        Ahead cursor = ahead_of(all, true);
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

BOOST_AUTO_TEST_CASE(throws_an_exception_of_the_background_thread) {
    const Rows all = rows(2 * Ahead::max_records, 3);
    const auto decode_one_block = [](std::string_view key, std::string_view value, Row& row) {
        decode(key, value, row);
        if (key == std::to_string(Ahead::max_records + 5)) throw std::runtime_error("no memory");
    };
    Ahead cursor(std::make_unique<RowsCursor>(all), decode_one_block);
    std::size_t seen = 1;
    while (seen < Ahead::max_records) {
        cursor.next();
        ++seen;
    }
    BOOST_CHECK_THROW(cursor.next(), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(may_end_anywhere) {
    const Rows all = rows(4 * Ahead::max_records, 3);
    for (const std::size_t steps : {std::size_t{0}, std::size_t{9}, Ahead::max_records}) {
        Ahead cursor = ahead_of(all);
        for (std::size_t i = 0; i < steps; ++i) cursor.next();
        BOOST_TEST((cursor.record().first == std::to_string(steps)));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
