// The grants of a lock table, which can be found by number and are listed in the order in which
// they were given.
//
// Numbers are assigned in ascending order, so the numbers of the grants that are held are dense,
// apart from those that have ended. A page has the grants with 32 consecutive numbers: a bit for
// each number that is in use, followed by one pointer of four bytes for each of these bits. A hash
// table finds the page of a number. A full page needs 5 bytes for each grant; a page with a single
// grant needs about 32.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <boost/unordered/unordered_flat_set.hpp>

#include "lock/model/arena.hpp"
#include "lock/model/hash_mix.hpp"
#include "lock/model/held.hpp"

namespace rocklock::lock_model {

// Threads:  one at a time.
// Lifetime: does not own the grants.
class GrantIndex {
public:
    GrantIndex() = default;
    ~GrantIndex();
    GrantIndex(const GrantIndex&) = delete;
    GrantIndex& operator=(const GrantIndex&) = delete;

    // Returns null if there is no grant with this number.
    Grant* find(std::uint64_t number) const {
        const Page* const page = page_of(number);
        return page != nullptr && page->has(number) ? page->grants()[page->place(number)].get()
                                                    : nullptr;
    }
    Grant* find(GrantId id) const { return find(number(id)); }
    // Adds a grant. Its number must be greater than the numbers of all grants that have been added,
    // also of those that have been removed.
    void add(Grant& grant);
    void remove(const Grant& grant);
    // Frees the page that is kept for the next grants, if it is empty.
    void free_empty_page();
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    // Returns the grant with the smallest number, or null if there is none.
    Grant* oldest() const;
    // Calls `visit` for each grant, in the order of the numbers, until `visit` returns false.
    // Returns whether `visit` returned true for all grants. `visit` must not add or remove grants.
    template <typename Visit>
    bool all_of(Visit visit) const {
        for (const Page* page = first_; page != nullptr; page = page->next) {
            for (std::size_t i = 0; i < page->count(); ++i) {
                if (!visit(*page->grants()[i])) return false;
            }
        }
        return true;
    }

private:
    static constexpr unsigned page_bits = 5;
    static constexpr std::size_t page_numbers = 1U << page_bits;

    struct Page {
        // Bit i is set if the number `32 * key() + i` is in use.
        std::uint32_t used = 0;
        // The number of grants for which the page has space.
        std::uint32_t capacity : 8;
        std::uint32_t key_high : 24;
        // The parts of key(): the number of any grant of the page, divided by 32 and rounded down.
        std::uint32_t key_low;
        Near<Page> next{};
        Near<Page> previous{};

        Page(std::uint64_t key, std::size_t space)
            : capacity(static_cast<std::uint8_t>(space)),
              key_high(static_cast<std::uint32_t>(key >> 32) & 0xFF'FFFF),
              key_low(static_cast<std::uint32_t>(key)) {}

        std::uint64_t key() const { return std::uint64_t{key_high} << 32 | std::uint64_t{key_low}; }
        Near<Grant>* grants() const {
            return reinterpret_cast<Near<Grant>*>(const_cast<Page*>(this) + 1);
        }
        std::size_t count() const { return static_cast<std::size_t>(std::popcount(used)); }
        static std::uint32_t bit(std::uint64_t number) { return 1U << (number % page_numbers); }
        bool has(std::uint64_t number) const { return (used & bit(number)) != 0; }
        // Returns the index of the grant with this number among the grants of the page.
        std::size_t place(std::uint64_t number) const {
            return static_cast<std::size_t>(std::popcount(used & (bit(number) - 1)));
        }
        static std::size_t bytes(std::size_t capacity) {
            return sizeof(Page) + capacity * sizeof(Near<Grant>);
        }
    };
    static_assert(Hold::number_bits - page_bits <= 56 && sizeof(Page) == 20);

    struct Hash {
        using is_transparent = void;
        using is_avalanching = void;
        std::size_t operator()(std::uint64_t key) const { return spread(key); }
        std::size_t operator()(const Page* page) const { return spread(page->key()); }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const Page* a, const Page* b) const { return a == b; }
        bool operator()(std::uint64_t key, const Page* page) const { return key == page->key(); }
        bool operator()(const Page* page, std::uint64_t key) const { return key == page->key(); }
    };

    static std::uint64_t key_of(std::uint64_t number) { return number >> page_bits; }
    Page* page_of(std::uint64_t number) const {
        const std::uint64_t key = key_of(number);
        // The last page is kept in `last_`, because the newest grants are used most.
        if (last_ != nullptr && last_->key() == key) return last_;
        const auto found = pages_.find(key);
        return found != pages_.end() ? found->get() : nullptr;
    }
    Page& append_page(std::uint64_t key);
    // Moves the page to a piece of memory of the size that it needs.
    void shrink(Page& page);
    void remove_page(Page& page);

    boost::unordered_flat_set<Near<Page>, Hash, Equal> pages_;
    Near<Page> first_;
    // The page of the greatest number. It is kept when it is empty, because the next grants belong
    // to it, and is not shrunk.
    Near<Page> last_;
    std::size_t size_ = 0;
};

}  // namespace rocklock::lock_model
