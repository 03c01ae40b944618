#include "storage/entry_list.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/assert.hpp"

namespace rocklock {

std::uint64_t trailer_of(std::string_view key) {
    std::uint64_t trailer = 0;
    std::memcpy(&trailer, key.data() + key.size() - trailer_bytes, trailer_bytes);
    if constexpr (std::endian::native == std::endian::big) trailer = __builtin_bswap64(trailer);
    return trailer;
}

int compare_internal_keys(std::string_view a, std::string_view b) {
    const std::size_t size_a = a.size() - trailer_bytes;
    const std::size_t size_b = b.size() - trailer_bytes;
    const int order = std::memcmp(a.data(), b.data(), std::min(size_a, size_b));
    if (order != 0) return order;
    if (size_a != size_b) return size_a < size_b ? -1 : 1;
    const std::uint64_t trailer_a = trailer_of(a);
    const std::uint64_t trailer_b = trailer_of(b);
    if (trailer_a == trailer_b) return 0;
    return trailer_a > trailer_b ? -1 : 1;
}

std::string_view EntryList::Node::key() const {
    const char* at = entry();
    std::size_t size = 0;
    int shift = 0;
    for (;; ++at, shift += 7) {
        const auto byte = static_cast<unsigned char>(*at);
        size |= std::size_t{byte & 0x7FU} << shift;
        if (byte < 0x80) break;
    }
    return {at + 1, size};
}

EntryList::Node* EntryList::initialize(void* memory, int height) {
    ROCKLOCK_ASSERT(height >= 1 && height <= max_height);
    ROCKLOCK_ASSERT(reinterpret_cast<std::uintptr_t>(memory) % alignof(Node) == 0);
    auto* const nodes = static_cast<Node*>(memory);
    for (int i = 0; i < height; ++i) ::new (static_cast<void*>(nodes + i)) Node;
    Node* const node = nodes + (height - 1);
    // Until the node is inserted, its link contains its height.
    node->next_.store(std::bit_cast<Node*>(static_cast<std::uintptr_t>(height)),
                      std::memory_order_relaxed);
    return node;
}

// A quarter of the nodes of each level are also in the next level.
int EntryList::random_height() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return std::min(1 + std::countr_zero(random_ | std::uint64_t{1} << 62) / 2, max_height);
}

bool EntryList::is_before(const Node* node, std::string_view key) const {
    return node != nullptr && compare_internal_keys(node->key(), key) < 0;
}

// Null is the end of the list.
bool EntryList::is_after(const Node* node, std::string_view key) const {
    return node == nullptr || compare_internal_keys(node->key(), key) > 0;
}

// Returns whether `node` is the last node of the level before the key. Null is the start of the
// list.
bool EntryList::is_last_before(const Node* node, int level, std::string_view key) const {
    return (node == nullptr || is_before(node, key)) && !is_before(next(node, level), key);
}

// Sets at least the lowest `levels` levels of `position` to the last nodes before the key. Skips
// levels upwards until the node of a level is already correct, and searches the levels below it
// from there. If the position is near the key, only a few levels are searched.
void EntryList::find(std::string_view key, int levels, Position& position) const {
    auto& before = position.before;
    const int top = height();
    int level = 0;
    const auto skip_wrong_levels = [&] {
        while (level < top &&
               !is_last_before(before[static_cast<std::size_t>(level)], level, key)) {
            ++level;
        }
    };
    skip_wrong_levels();
    for (int higher = level + 1; higher < levels; ++higher) {
        if (!is_last_before(before[static_cast<std::size_t>(higher)], higher, key))
            level = higher + 1;
    }
    skip_wrong_levels();
    Node* node = level < top ? before[static_cast<std::size_t>(level)] : nullptr;
    while (level > 0) {
        --level;
        node = last_before(key, node, level);
        before[static_cast<std::size_t>(level)] = node;
    }
}

// Returns the last node of a level that is before the key. The search starts at `node`.
EntryList::Node* EntryList::last_before(std::string_view key, Node* node, int level) const {
    for (Node* following = next(node, level); is_before(following, key);) {
        node = following;
        following = next(node, level);
    }
    return node;
}

bool EntryList::insert(Node* node, Hint& hint) {
    const auto height = static_cast<int>(
        std::bit_cast<std::uintptr_t>(node->next_.load(std::memory_order_relaxed)));
    ROCKLOCK_ASSERT(height >= 1 && height <= max_height);
    const std::string_view key = node->key();
    if (height > height_.load(std::memory_order_relaxed)) {
        height_.store(height, std::memory_order_relaxed);
    }
    const bool at_end = hint.end.before[0] == nullptr || is_before(hint.end.before[0], key);
    Position& position = at_end ? hint.end : hint.middle;
    const Node* after = next(position.before[0], 0);
    // The most frequent case, which needs no search: the key follows the last key of the hint.
    const bool found = at_end && height == 1 && is_after(after, key);
    if (!found) {
        find(key, height, position);
        after = next(position.before[0], 0);
        if (!is_after(after, key)) return false;
    }
    for (int level = 0; level < height; ++level) {
        auto& before = position.before[static_cast<std::size_t>(level)];
        auto& link = link_after(before, level);
        node->at(level).store(link.load(std::memory_order_relaxed), std::memory_order_relaxed);
        // Readers that find the node also find its entry and its links.
        link.store(node, std::memory_order_release);
        before = node;
    }
    return true;
}

const EntryList::Node* EntryList::last() const {
    const Node* node = nullptr;
    for (int level = height() - 1; level >= 0; --level) {
        while (const Node* const following = next(node, level)) node = following;
    }
    return node;
}

const EntryList::Node* EntryList::last_before(std::string_view key) const {
    Node* node = nullptr;
    for (int level = height() - 1; level >= 0; --level) node = last_before(key, node, level);
    return node;
}

const EntryList::Node* EntryList::first_not_before(std::string_view key) const {
    const Node* node = last_before(key);
    // The writer may insert more nodes before the key meanwhile.
    do {
        node = next(node, 0);
    } while (is_before(node, key));
    return node;
}

}  // namespace rocklock
