// The store in memory against a plain map: keys in any order, deletions, and snapshots.
#include "storage/memory_image.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/repetitions.hpp"

namespace rocklock {
namespace {

using Rows = std::map<std::string, std::string>;

std::string key_of(std::uint64_t number) {
    std::string key = std::to_string(number);
    return std::string(4 - std::min<std::size_t>(4, key.size()), '0') + key;
}

Rows rows_of(const MemoryImage& image, MemoryImage::Moment moment) {
    const auto rows = image.rows(Family::locks, "", "", 100'000, moment);
    return {rows.begin(), rows.end()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_image_in_memory)

BOOST_AUTO_TEST_CASE(contains_what_a_map_contains) {
    for (int seed = 0; seed < testing::repetitions(20, 4); ++seed) {
        std::mt19937_64 random(static_cast<unsigned>(seed));
        MemoryImage image;
        Rows expected;
        std::vector<std::pair<MemoryImage::Moment, Rows>> snapshots;
        std::uint64_t next = 0;
        for (int step = 0; step < 2'000; ++step) {
            Batch batch;
            for (auto count = random() % 4 + 1; count > 0; --count) {
                // New keys in ascending order, recent keys in ascending order, and any key.
                const auto kind = random() % 4;
                const std::uint64_t number = kind == 0   ? next++
                                             : kind == 1 ? next - std::min(next, random() % 8)
                                                         : random() % (next + 2);
                const auto key = key_of(number);
                if (random() % 3 == 0) {
                    batch.writes.push_back({Family::locks, key, std::nullopt});
                    expected.erase(key);
                } else {
                    const auto value = std::to_string(step);
                    batch.writes.push_back({Family::locks, key, value});
                    expected[key] = value;
                }
            }
            image.apply(batch);
            if (random() % 20 == 0) snapshots.emplace_back(image.open_snapshot(), expected);
            if (!snapshots.empty() && random() % 20 == 0) {
                const auto at = static_cast<std::ptrdiff_t>(random() % snapshots.size());
                image.close_snapshot(snapshots[static_cast<std::size_t>(at)].first);
                snapshots.erase(snapshots.begin() + at);
            }
            if (step % 50 != 0) continue;
            BOOST_TEST((rows_of(image, MemoryImage::present) == expected));
            for (const auto& [moment, rows] : snapshots) {
                BOOST_TEST((rows_of(image, moment) == rows));
            }
        }
        for (const auto& [moment, rows] : snapshots) image.close_snapshot(moment);
        BOOST_TEST((rows_of(image, MemoryImage::present) == expected));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
