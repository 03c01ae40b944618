// The request ids that a lock table remembers, and the outcome of the first request with each id.
//
// A request id is remembered while its request waits, while its grant is held, and while the record
// of its ended grant is kept. There may therefore be more request ids than held locks. A hash table
// that doubles its size delays all requests while it moves a million entries. This table grows by
// linear hashing instead, as ResourceIndex does: when a part has too many entries, it gets one
// more bucket, and one of its other buckets is divided. An entry takes 24 bytes, and 3 to 4 more
// for the buckets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rocklock/lock.hpp>

#include "base/assert.hpp"
#include "lock/model/hash_mix.hpp"
#include "lock/model/request_key.hpp"

namespace rocklock::lock_model {

struct Session;
struct Wait;

// The result of the first request with a request id: a grant, which may have ended, a session that
// an OpenSession has opened, or a request that still waits. A default-constructed outcome is none
// of these.
class RequestOutcome {
public:
    RequestOutcome() = default;
    explicit RequestOutcome(GrantId grant) : value_(number(grant) << kind_bits | of_grant) {}
    explicit RequestOutcome(Session& session) : value_(address(&session) | of_session) {}
    explicit RequestOutcome(Wait& wait) : value_(address(&wait) | of_wait) {}

    explicit operator bool() const { return value_ != 0; }
    // Returns 0 if the outcome is not a grant.
    GrantId grant() const { return GrantId{kind() == of_grant ? value_ >> kind_bits : 0}; }
    // Return null if the outcome is not a session, or not a waiting request.
    Session* session() const { return kind() == of_session ? pointer<Session>() : nullptr; }
    Wait* wait() const { return kind() == of_wait ? pointer<Wait>() : nullptr; }
    friend bool operator==(const RequestOutcome&, const RequestOutcome&) = default;

private:
    // The lowest bits are the kind. They are 0 in an address. The number of a grant is less than
    // 2^53, and is shifted.
    static constexpr unsigned kind_bits = 2;
    enum Kind : std::uint64_t { of_grant = 1, of_session = 2, of_wait = 3, kind_mask = 3 };

    static std::uint64_t address(const void* object) {
        const auto value = std::bit_cast<std::uint64_t>(object);
        ROCKLOCK_ASSERT((value & kind_mask) == 0);
        return value;
    }
    std::uint64_t kind() const { return value_ & kind_mask; }
    template <typename T>
    T* pointer() const {
        return std::bit_cast<T*>(value_ - kind());
    }

    std::uint64_t value_ = 0;
};

// Threads:  one at a time.
// Lifetime: the owner must replace or erase the entry of a session or of a waiting request before
//           it frees the object.
class RequestTable {
public:
    // The mean number of entries in a bucket above which a part gets another bucket.
    static constexpr std::size_t mean_in_bucket = 16;
    // Each part has buckets of its own. The vectors of buckets of 256 parts are so small that none
    // of them takes long to grow.
    static constexpr std::size_t parts = 256;

    RequestTable() = default;
    ~RequestTable() { clear(); }
    RequestTable(const RequestTable&) = delete;
    RequestTable& operator=(const RequestTable&) = delete;

    // Returns an empty outcome if the id is not remembered.
    RequestOutcome find(const RequestKey& key) const;
    // Adds the id, or replaces its outcome. `key` and `outcome` must not be empty.
    void set(const RequestKey& key, RequestOutcome outcome);
    // Has no effect if the id is not remembered.
    void erase(const RequestKey& key);
    // Erases the id if it is remembered with this outcome.
    void erase(const RequestKey& key, RequestOutcome outcome) {
        if (find(key) == outcome) erase(key);
    }
    std::size_t size() const { return size_; }
    void clear();
    // Returns the part to which the id belongs.
    static std::size_t part_of(const RequestKey& key) { return part_of(mix(key)); }

    // Calls `visit(key, outcome)` for each id until `visit` returns false. Returns whether `visit`
    // returned true for all ids. `visit` must not change the table.
    template <typename Visit>
    bool all_of(Visit visit) const {
        for (const Part& part : parts_) {
            for (const Bucket* bucket : part.buckets) {
                for (std::size_t i = 0; bucket != nullptr && i < bucket->count; ++i) {
                    const Entry& entry = bucket->entries()[i];
                    if (!visit(entry.key, entry.outcome)) return false;
                }
            }
        }
        return true;
    }

private:
    struct Entry {
        RequestKey key;
        RequestOutcome outcome;
    };
    static_assert(sizeof(Entry) == 24);
    // Followed by the entries.
    struct Bucket {
        std::uint32_t count = 0;
        std::uint32_t capacity = 0;

        Entry* entries() const { return reinterpret_cast<Entry*>(const_cast<Bucket*>(this) + 1); }
        // Returns null if the bucket has no entry with this key.
        Entry* find(const RequestKey& key) const {
            for (std::size_t i = 0; i < count; ++i) {
                if (entries()[i].key == key) return entries() + i;
            }
            return nullptr;
        }
        static std::size_t bytes(std::size_t capacity) {
            return sizeof(Bucket) + capacity * sizeof(Entry);
        }
    };
    struct Part {
        // A null pointer is an empty bucket.
        std::vector<Bucket*> buckets;
        std::size_t count = 0;
    };
    // A key is a hash already, but its low bits depend on few bits of the request id.
    static std::uint64_t mix(const RequestKey& key) { return spread(key.high); }
    static std::size_t part_of(std::uint64_t hash) { return hash >> 56; }
    // Returns the bucket in which an entry with this hash is. The part must have buckets.
    static Bucket*& bucket_of(Part& part, std::uint64_t hash);
    static void append(Bucket*& bucket, const Entry& entry);
    // Frees the bucket if it is empty, or a part of its memory if many of its entries are free.
    static void shrink(Bucket*& bucket);
    // Moves the entries to a new bucket with space for at least `count` entries.
    static void resize(Bucket*& bucket, std::size_t count);
    // Adds a bucket, and moves the entries that belong into it.
    static void add_bucket(Part& part);

    std::array<Part, parts> parts_;
    std::size_t size_ = 0;
};
static_assert(RequestTable::parts == 1u << 8, "a part is chosen by the highest eight bits");

}  // namespace rocklock::lock_model
