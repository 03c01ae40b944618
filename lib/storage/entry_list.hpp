// The sorted list of the entries of a memtable or of a RecordBuffer: a skip list for one writer and
// any number of readers.
//
// RocksDB's own skip list compares keys through three virtual calls and counts the comparisons of
// each thread, and an insertion takes about 25 comparisons. This list reads the keys directly.
//
// A Hint contains two positions: the position of the last key that was greater than all earlier
// keys of the hint, and the position of the last other key. RocksDB keeps one hint for each kind of
// key, which is its first byte. The records of new grants have increasing keys. The record of an
// ended grant has the key of a recent grant, so its search starts at the second position.
//
// An entry is encoded by its writer, RocksDB or RecordBuffer:
//
//     varint: length of the internal key    user key    8: trailer    value, not read here
//
// The trailer is a little-endian integer with the sequence number of the entry. Entries are ordered
// by ascending user keys, as bytes, and entries with the same user key by descending trailers. This
// is the order of RocksDB's BytewiseComparator.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocklock {

inline constexpr std::size_t trailer_bytes = 8;

// Returns the trailer of an internal key.
std::uint64_t trailer_of(std::string_view key);

// Compares two internal keys: a user key and its trailer. Returns a negative number, zero or a
// positive number.
int compare_internal_keys(std::string_view a, std::string_view b);

// Threads:  one thread at a time calls insert(), random_height() and initialize(). The other
//           functions are thread-safe, also during an insert().
// Lifetime: borrows the memory of the nodes. Nodes are never removed.
class EntryList {
public:
    static constexpr int max_height = 12;

    // The pointer to the next node of level 0, and after it the entry. The pointers of the higher
    // levels are in front of the node, in descending order of their levels.
    class Node {
    public:
        char* entry() { return reinterpret_cast<char*>(this + 1); }
        const char* entry() const { return reinterpret_cast<const char*>(this + 1); }
        // Returns the internal key.
        std::string_view key() const;
        const Node* next() const { return at(0).load(std::memory_order_acquire); }

    private:
        friend class EntryList;

        std::atomic<Node*>& at(int level) { return (this - level)->next_; }
        const std::atomic<Node*>& at(int level) const { return (this - level)->next_; }

        std::atomic<Node*> next_{nullptr};
    };

    // A position: the last node of each level before a key, or null for the start of the list. The
    // nodes of higher levels are not after those of lower levels.
    struct Position {
        std::array<Node*, max_height> before{};
    };
    // The positions of the last insertions with this hint: at the end of its keys, and elsewhere.
    struct Hint {
        Position end;
        Position middle;
    };

    // The memory that a node of this height needs in front of its entry. It must be aligned as a
    // pointer.
    static constexpr std::size_t node_bytes(int height) {
        return static_cast<std::size_t>(height) * sizeof(Node);
    }
    // Creates a node in this memory. The caller writes the entry before insert().
    static Node* initialize(void* memory, int height);

    int random_height();

    // Inserts a node that initialize() has returned. Returns false without effect if the list
    // contains an entry with the same internal key. `hint` should be the one that was used for
    // similar keys.
    bool insert(Node* node, Hint& hint);

    // Return null if there is no such node.
    const Node* first() const { return next(nullptr, 0); }
    const Node* last() const;
    const Node* first_not_before(std::string_view key) const;
    const Node* last_before(std::string_view key) const;

private:
    Node* next(const Node* node, int level) const {
        const auto& link =
            node == nullptr ? heads_[static_cast<std::size_t>(level)] : node->at(level);
        return link.load(std::memory_order_acquire);
    }
    std::atomic<Node*>& link_after(Node* node, int level) {
        return node == nullptr ? heads_[static_cast<std::size_t>(level)] : node->at(level);
    }
    int height() const { return height_.load(std::memory_order_relaxed); }
    bool is_before(const Node* node, std::string_view key) const;
    bool is_after(const Node* node, std::string_view key) const;
    bool is_last_before(const Node* node, int level, std::string_view key) const;
    void find(std::string_view key, int levels, Position& position) const;
    Node* last_before(std::string_view key, Node* node, int level) const;

    std::array<std::atomic<Node*>, max_height> heads_{};
    // The greatest height of a node.
    std::atomic<int> height_{1};
    std::uint64_t random_ = 0x9E3779B97F4A7C15;
};

}  // namespace rocklock
