// Merged cursors against a map, and the errors of the merged cursors.
#include "storage/merged_cursor.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {

BOOST_AUTO_TEST_SUITE(a_merged_cursor)

namespace {

using Cursor = Snapshot::Cursor;
using Cursors = std::vector<std::unique_ptr<Cursor>>;
using Rows = std::vector<std::pair<std::string, std::string>>;

// Iterates over the given rows, and then ends or fails.
class RowCursor final : public Cursor {
public:
    explicit RowCursor(Rows rows, std::optional<Error> error = std::nullopt)
        : rows_(std::move(rows)), error_(std::move(error)) {}

    bool valid() const override { return at_ < rows_.size(); }
    std::string_view key() const override { return rows_[at_].first; }
    std::string_view value() const override { return rows_[at_].second; }
    void next() override {
        // Makes the views that were returned before invalid.
        rows_[at_] = {};
        ++at_;
    }
    Result<void> status() const override {
        if (error_ && !valid()) return *error_;
        return {};
    }

private:
    Rows rows_;
    std::size_t at_ = 0;
    std::optional<Error> error_;
};

std::unique_ptr<Cursor> cursor_over(Rows rows) {
    return std::make_unique<RowCursor>(std::move(rows));
}
std::unique_ptr<Cursor> cursor_that_fails(Rows rows) {
    return std::make_unique<RowCursor>(std::move(rows), Error{ErrorCode::io_error, "failed"});
}

Cursors newest_first(std::unique_ptr<Cursor> one, std::unique_ptr<Cursor> two = nullptr) {
    Cursors cursors;
    cursors.push_back(std::move(one));
    if (two != nullptr) cursors.push_back(std::move(two));
    return cursors;
}

Rows rest_of(Cursor& cursor) {
    Rows rows;
    for (; cursor.valid(); cursor.next()) rows.emplace_back(cursor.key(), cursor.value());
    return rows;
}

void check_error(const Cursor& cursor) {
    BOOST_TEST(!cursor.valid());
    const auto status = cursor.status();
    BOOST_REQUIRE(!status.has_value());
    BOOST_TEST((status.error().code == ErrorCode::io_error));
}

Rows ordered(const std::map<std::string, std::string>& map, ScanDirection direction) {
    if (direction == ScanDirection::ascending) return {map.begin(), map.end()};
    return {map.rbegin(), map.rend()};
}

void compare_with_a_map(std::mt19937_64& random, ScanDirection direction) {
    std::map<std::string, std::string> expected;
    Cursors cursors;
    const auto count = random() % 4 + 1;
    for (std::size_t source = 0; source < count; ++source) {
        std::map<std::string, std::string> rows;
        for (auto left = random() % 12; left > 0; --left) {
            const auto key = std::string(random() % 3, static_cast<char>(random() % 4 + 254));
            const bool deleted = source > 0 && random() % 3 == 0;
            rows[key] = deleted ? "" : std::to_string(source);
        }
        for (const auto& [key, value] : rows) {
            if (value.empty()) {
                expected.erase(key);
            } else {
                expected[key] = value;
            }
        }
        cursors.insert(cursors.begin(), cursor_over(ordered(rows, direction)));
    }
    auto oldest = std::move(cursors.back());
    cursors.pop_back();
    const auto merged = merge_cursors(std::move(cursors), std::move(oldest), direction);
    BOOST_TEST((rest_of(*merged) == ordered(expected, direction)));
    BOOST_TEST(merged->status().has_value());
}

}  // namespace

BOOST_AUTO_TEST_CASE(contains_the_newest_record_of_each_key) {
    const auto merged = merge_cursors(
        newest_first(cursor_over({{"b", "1"}, {"c", ""}}), cursor_over({{"a", ""}, {"b", "2"}})),
        cursor_over({{"a", "3"}, {"b", "3"}, {"c", "3"}, {"d", "3"}}), ScanDirection::ascending);
    BOOST_TEST((rest_of(*merged) == Rows{{"b", "1"}, {"d", "3"}}));
    BOOST_TEST(merged->status().has_value());
}

BOOST_AUTO_TEST_CASE(contains_a_key_that_was_written_again_after_its_deletion) {
    const auto merged = merge_cursors(
        newest_first(cursor_over({{"c", "1"}, {"a", ""}}), cursor_over({{"c", ""}, {"a", "2"}})),
        cursor_over({{"c", "3"}, {"a", "3"}}), ScanDirection::descending);
    BOOST_TEST((rest_of(*merged) == Rows{{"c", "1"}}));
}

BOOST_AUTO_TEST_CASE(contains_what_a_map_contains) {
    for (unsigned seed = 0; seed < 3'000; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937_64 random(seed);
            compare_with_a_map(random, ScanDirection::ascending);
            compare_with_a_map(random, ScanDirection::descending);
        }
    }
}

BOOST_AUTO_TEST_CASE(is_the_oldest_cursor_if_the_others_are_empty) {
    auto oldest = cursor_over({{"a", "3"}});
    const Cursor* const before = oldest.get();
    const auto merged = merge_cursors(newest_first(cursor_over({}), cursor_over({})),
                                      std::move(oldest), ScanDirection::ascending);
    BOOST_TEST(merged.get() == before);
    const auto alone = merge_cursors({}, cursor_over({{"a", "3"}}), ScanDirection::ascending);
    BOOST_TEST((rest_of(*alone) == Rows{{"a", "3"}}));
}

BOOST_AUTO_TEST_CASE(does_not_take_an_empty_value_of_the_oldest_cursor_for_a_deletion) {
    const auto merged = merge_cursors(newest_first(cursor_over({{"a", "1"}})),
                                      cursor_over({{"b", ""}}), ScanDirection::ascending);
    BOOST_TEST((rest_of(*merged) == Rows{{"a", "1"}, {"b", ""}}));
}

BOOST_AUTO_TEST_CASE(ends_with_the_error_if_the_oldest_cursor_fails_at_the_start) {
    const auto merged = merge_cursors(newest_first(cursor_over({{"a", "1"}})),
                                      cursor_that_fails({}), ScanDirection::ascending);
    check_error(*merged);
    const auto alone = merge_cursors({}, cursor_that_fails({}), ScanDirection::ascending);
    check_error(*alone);
}

BOOST_AUTO_TEST_CASE(ends_with_the_error_if_the_oldest_cursor_fails_later) {
    const auto merged =
        merge_cursors(newest_first(cursor_over({{"a", "1"}, {"d", "1"}})),
                      cursor_that_fails({{"b", "3"}, {"c", "3"}}), ScanDirection::ascending);
    BOOST_TEST((rest_of(*merged) == Rows{{"a", "1"}, {"b", "3"}, {"c", "3"}}));
    check_error(*merged);
}

BOOST_AUTO_TEST_CASE(ends_with_the_error_if_a_hidden_or_deleted_record_is_the_last_before_it) {
    const auto hidden =
        merge_cursors(newest_first(cursor_over({{"b", "1"}, {"d", "1"}})),
                      cursor_that_fails({{"a", "3"}, {"b", "3"}}), ScanDirection::ascending);
    BOOST_TEST((rest_of(*hidden) == Rows{{"a", "3"}, {"b", "1"}}));
    check_error(*hidden);
    const auto deleted =
        merge_cursors(newest_first(cursor_over({{"b", ""}, {"d", "1"}})),
                      cursor_that_fails({{"a", "3"}, {"b", "3"}}), ScanDirection::ascending);
    BOOST_TEST((rest_of(*deleted) == Rows{{"a", "3"}}));
    check_error(*deleted);
}

BOOST_AUTO_TEST_CASE(ends_with_the_error_of_a_newer_cursor) {
    const auto merged = merge_cursors(newest_first(cursor_over({}), cursor_that_fails({})),
                                      cursor_over({{"a", "3"}}), ScanDirection::ascending);
    check_error(*merged);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
