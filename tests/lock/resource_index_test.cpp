// The index from names to resources.
#include "lock/model/resource_index.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "lock/model/arena.hpp"
#include "lock/model/held.hpp"

namespace rocklock::lock_model {

namespace {

class Names {
public:
    Names() = default;
    ~Names() {
        for (const auto& [name, resource] : resources_) Resource::destroy(resource);
    }
    Names(const Names&) = delete;
    Names& operator=(const Names&) = delete;

    void add(const std::string& name) {
        Resource* const made = Resource::make(name, Slot::with);
        index.insert(*made, HashedName(name));
        resources_[name] = made;
    }
    void remove(const std::string& name) {
        index.erase(*resources_.at(name), HashedName(name));
        Resource::destroy(resources_.at(name));
        resources_.erase(name);
    }
    Resource* expected(const std::string& name) const {
        const auto found = resources_.find(name);
        return found == resources_.end() ? nullptr : found->second;
    }
    // Returns whether the index visits exactly the resources that were added and not removed, and
    // finds each of them.
    bool agrees() const {
        std::set<const Resource*> seen;
        std::size_t visits = 0;
        index.all_of([&](const Resource& resource) {
            seen.insert(&resource);
            return ++visits > 0;
        });
        if (visits != resources_.size() || index.size() != visits) return false;
        return std::all_of(resources_.begin(), resources_.end(), [&](const auto& entry) {
            return seen.contains(entry.second) && index.find(entry.first) == entry.second;
        });
    }
    const std::map<std::string, Resource*>& resources() const { return resources_; }

    ResourceIndex index;

private:
    std::map<std::string, Resource*> resources_;
};

std::string numbered(std::size_t number) { return "orders/" + std::to_string(number); }

// Returns the name of eight bytes with this hash: the inverse of hash_of().
std::string name_with_hash(std::uint64_t hash) {
    constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U;
    constexpr std::uint64_t inverse = 0xF1DE83E19937733DU;
    static_assert(factor * inverse == 1);
    constexpr std::size_t length = sizeof(std::uint64_t);
    std::uint64_t word = hash ^ hash >> 29U ^ hash >> 58U;
    word *= inverse;
    word ^= word >> 32U;
    word = word * inverse ^ length * factor;
    std::string name(length, '\0');
    std::memcpy(name.data(), &word, length);
    return name;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_index_of_resources)

BOOST_AUTO_TEST_CASE(finds_the_names_that_were_added_and_not_removed) {
    const std::size_t pieces = Arena::pieces_in_use();
    Names tested;
    BOOST_TEST(tested.index.find("orders") == nullptr);
    constexpr std::size_t count = 60'000;
    for (std::size_t i = 0; i < count; ++i) tested.add(numbered(i));
    BOOST_TEST(tested.agrees());
    BOOST_TEST(tested.index.find(numbered(count)) == nullptr);
    for (std::size_t i = 0; i < count; i += 2) tested.remove(numbered(i));
    BOOST_TEST(tested.agrees());
    BOOST_TEST(tested.index.find(numbered(0)) == nullptr);
    for (std::size_t i = 1; i < count; i += 2) tested.remove(numbered(i));
    BOOST_TEST(tested.agrees());
    BOOST_TEST(Arena::pieces_in_use() == pieces);
    tested.add("a");
    BOOST_TEST(tested.agrees());
}

BOOST_AUTO_TEST_CASE(agrees_with_a_map_after_random_changes) {
    std::mt19937 random(11);
    Names tested;
    for (int step = 0; step < 60'000; ++step) {
        const std::string name = numbered(random() % (step % 10 == 0 ? 4 : 20'000));
        if (tested.expected(name) == nullptr) {
            tested.add(name);
        } else {
            tested.remove(name);
        }
        const std::string asked = numbered(random() % 20'000);
        BOOST_TEST_REQUIRE(tested.index.find(asked) == tested.expected(asked));
        // Few names, so that the previous result is often used again, or has been removed.
        const std::string repeated = numbered(random() % 4);
        BOOST_TEST_REQUIRE(tested.index.find_repeated(repeated) == tested.expected(repeated));
        if (step % 10'000 == 0) BOOST_TEST_REQUIRE(tested.agrees());
    }
    BOOST_TEST(tested.agrees());
}

// All names are in one bucket, which becomes larger than the largest piece of the arena. A piece
// that is in use without a name belongs to the bucket.
BOOST_AUTO_TEST_CASE(accepts_many_names_with_the_same_bucket) {
    constexpr std::size_t count = 900;
    std::vector<std::string> names;
    // The index chooses the part by the highest bits of the hash, and the bucket by the lowest.
    for (std::uint64_t i = 0; i < count; ++i) names.push_back(name_with_hash(i << 40U));
    BOOST_TEST_REQUIRE(hash_of(names.back()) == (count - 1) << 40U);
    const std::size_t before = Arena::pieces_in_use();
    Names tested;
    const auto pieces_of_buckets = [&] {
        return Arena::pieces_in_use() - before - tested.resources().size();
    };
    tested.add(names[0]);
    BOOST_TEST(pieces_of_buckets() == 1U);
    for (std::size_t i = 1; i < count; ++i) tested.add(names[i]);
    BOOST_TEST(tested.agrees());
    BOOST_TEST(pieces_of_buckets() == 0U);
    for (std::size_t i = 0; i < count; i += 2) tested.remove(names[i]);
    BOOST_TEST(tested.agrees());
    BOOST_TEST(pieces_of_buckets() == 1U);
    for (std::size_t i = 0; i < count; i += 2) tested.add(names[i]);
    BOOST_TEST(tested.agrees());
    for (const std::string& name : names) tested.remove(name);
    BOOST_TEST(tested.agrees());
    BOOST_TEST(Arena::pieces_in_use() == before);
}

// Prefetching changes nothing, also if there is no resource or no bucket.
BOOST_AUTO_TEST_CASE(prefetches_any_number_of_hashes) {
    Names tested;
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = 0; i < 100; ++i) hashes.push_back(hash_of(numbered(i)));
    tested.index.prefetch(hashes);
    tested.index.prefetch({});
    for (std::size_t i = 0; i < 50; ++i) tested.add(numbered(i));
    tested.index.prefetch(hashes);
    BOOST_TEST(tested.agrees());
}

BOOST_AUTO_TEST_CASE(visits_each_resource_in_one_part) {
    Names tested;
    for (std::size_t i = 0; i < 5'000; ++i) tested.add(numbered(i));
    std::map<const Resource*, std::size_t> part_of;
    for (std::size_t part = 0; part < ResourceIndex::parts; ++part) {
        tested.index.all_of_part(part, [&](const Resource& resource) {
            BOOST_TEST_REQUIRE(part_of.emplace(&resource, part).second);
            return true;
        });
    }
    BOOST_TEST(part_of.size() == 5'000U);
    // A resource stays in its part while the index grows.
    for (std::size_t i = 5'000; i < 40'000; ++i) tested.add(numbered(i));
    for (std::size_t part = 0; part < ResourceIndex::parts; ++part) {
        tested.index.all_of_part(part, [&](const Resource& resource) {
            const auto before = part_of.find(&resource);
            BOOST_TEST_REQUIRE((before == part_of.end() || before->second == part));
            return true;
        });
    }
    bool stopped = false;
    BOOST_TEST(!tested.index.all_of([&](const Resource&) {
        BOOST_TEST_REQUIRE(!stopped);
        stopped = true;
        return false;
    }));
}

// All bytes of a name matter, wherever they are, and names that differ in few bytes are spread
// evenly over the parts and the buckets.
BOOST_AUTO_TEST_CASE(hashes_are_spread_evenly) {
    std::set<std::uint64_t> hashes;
    std::size_t names = 0;
    for (std::size_t size = 0; size <= 40; ++size) {
        const std::string name(size, 'x');
        hashes.insert(hash_of(name));
        ++names;
        for (std::size_t at = 0; at < size; ++at) {
            std::string other = name;
            other[at] = 'y';
            hashes.insert(hash_of(other));
            ++names;
        }
    }
    BOOST_TEST(hashes.size() == names);

    constexpr std::size_t count = 1 << 18;
    constexpr std::size_t cells = 256;
    for (const unsigned shift : {0U, 8U, 48U, 56U}) {
        std::array<std::size_t, cells> in_cell{};
        for (std::size_t i = 0; i < count; ++i) ++in_cell[hash_of(numbered(i)) >> shift & 0xFF];
        // The standard deviation is 32.
        const auto [least, most] = std::minmax_element(in_cell.begin(), in_cell.end());
        BOOST_TEST(*least > count / cells - 6 * 32);
        BOOST_TEST(*most < count / cells + 6 * 32);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::lock_model
