// The holds of a grant. lock/model/held.hpp describes where they are in memory, and defines the
// functions of Hold.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <rocklock/lock.hpp>

#include "base/assert.hpp"
#include "lock/model/arena.hpp"

namespace rocklock::lock_model {

struct Grant;
struct Resource;

// A value of eight bytes that needs only the alignment of four bytes.
template <typename T>
class InWords {
public:
    InWords() : InWords(T{}) {}
    InWords(T value) : words_(std::bit_cast<Words>(value)) {}
    T get() const { return std::bit_cast<T>(words_); }

private:
    using Words = std::array<std::uint32_t, 2>;
    static_assert(sizeof(T) == sizeof(Words) && std::is_trivially_copyable_v<T>);
    Words words_;
};

// One resource of a grant. A plain hold is part of a PlainGrant; every other hold is a LinkedHold.
struct Hold {
    static constexpr std::uint8_t no_cause = 0xFF;

    Hold() : before_low_(0), before_high_(0), mode(Mode::write), subtree(false), plain(false) {}

    Grant* grant() const;
    Resource* resource() const;
    // The number of permits, or 0 if the hold has a mode. Always 0 for a plain hold.
    std::uint32_t permits() const;
    // If this resource was locked as a dependant (LockClass::dependants): the index, in the same
    // grant, of the hold that caused it. `no_cause` if the request named the resource itself.
    std::uint8_t cause() const;
    bool root() const { return cause() == no_cause; }
    // The next hold on the same resource, from the newest to the oldest, or null.
    Hold* next() const;

    // The previous grant on the name of this resource. These links form the history of the
    // resource.
    GrantId before() const {
        return GrantId{std::uint64_t{before_high_} << 32 | std::uint64_t{before_low_}};
    }
    void set_before(GrantId grant) {
        ROCKLOCK_ASSERT(can_store(grant));
        before_low_ = static_cast<std::uint32_t>(number(grant));
        before_high_ = static_cast<std::uint32_t>(number(grant) >> 32) & high_mask;
    }

    // The bits of the number of a grant; all numbers are less than 2^53.
    static constexpr unsigned number_bits = 53;
    static constexpr std::uint32_t high_mask = (1U << (number_bits - 32)) - 1;
    static bool can_store(GrantId grant) { return number(grant) >> number_bits == 0; }

private:
    std::uint32_t before_low_;
    std::uint32_t before_high_ : number_bits - 32;

public:
    // Resource::set_mode() changes the mode of a hold that is linked to its resource.
    Mode mode : 2;
    bool subtree : 1;
    bool plain : 1;
};
static_assert(sizeof(Hold) == 8 && alignof(Hold) == 4);

// A hold that is linked into the list of its resource.
struct LinkedHold : Hold {
    Near<Grant> of_grant{};
    Near<Resource> at{};
    Near<LinkedHold> older{};
    Near<LinkedHold> newer{};
    std::uint32_t permit_count = 0;
    std::uint8_t cause_index = no_cause;
};
static_assert(sizeof(LinkedHold) % Arena::alignment == 0);

// The holds of a grant. `T` is Hold or const Hold.
template <typename T>
class HoldRange {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;

public:
    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = std::remove_const_t<T>;
        using difference_type = std::ptrdiff_t;
        using pointer = T*;
        using reference = T&;

        Iterator() = default;
        explicit Iterator(Byte* at) : at_(at) {}
        T& operator*() const { return *reinterpret_cast<T*>(at_); }
        T* operator->() const { return reinterpret_cast<T*>(at_); }
        Iterator& operator++() {
            at_ += sizeof(LinkedHold);
            return *this;
        }
        Iterator operator++(int) {
            Iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const Iterator&, const Iterator&) = default;
        friend difference_type operator-(const Iterator& a, const Iterator& b) {
            return (a.at_ - b.at_) / static_cast<difference_type>(sizeof(LinkedHold));
        }

    private:
        Byte* at_ = nullptr;
    };

    HoldRange(T* first, std::size_t count) : first_(first), count_(count) {}
    std::size_t size() const { return count_; }
    T& operator[](std::size_t index) const {
        ROCKLOCK_ASSERT(index < count_);
        return *at(index);
    }
    T& front() const { return *first_; }
    Iterator begin() const { return at(0); }
    Iterator end() const { return at(count_); }

private:
    Iterator at(std::size_t index) const {
        return Iterator(reinterpret_cast<Byte*>(first_) + index * sizeof(LinkedHold));
    }

    T* first_;
    std::size_t count_;
};

}  // namespace rocklock::lock_model
