// A graph of order constraints, and the partial order that follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rocklock::proof {

// Constraints. Each states that one node precedes another node.
class Reasons {
public:
    explicit Reasons(std::size_t count) : next_(count) {}

    std::size_t count() const { return next_.size(); }
    std::size_t add_thing() {
        next_.emplace_back();
        return next_.size() - 1;
    }
    void add(std::size_t before, std::size_t after) { next_[before].push_back(after); }
    const std::vector<std::size_t>& after(std::size_t thing) const { return next_[thing]; }

    // Returns the nodes in an order that satisfies all constraints, or nullopt if the constraints
    // contain a cycle.
    std::optional<std::vector<std::size_t>> in_order() const;
    // Returns a shortest cycle through one of the first `count` nodes.
    std::vector<std::size_t> circle(std::size_t count) const;

private:
    std::vector<std::size_t> path_back_to(std::size_t thing, std::size_t longest) const;

    std::vector<std::vector<std::size_t>> next_;
};

// A strict partial order that is transitively closed. For each pair of nodes, either one precedes
// the other, or their order is not determined.
class PartialOrder {
public:
    // Computes the order of the first `count` nodes from the constraints. `in_order` is the result
    // of reasons.in_order().
    PartialOrder(const Reasons& reasons, const std::vector<std::size_t>& in_order,
                 std::size_t count);

    bool is_before(std::size_t one, std::size_t other) const {
        return ((rows_[one * words_ + other / 64] >> (other % 64)) & 1U) != 0;
    }
    // Adds a constraint. `other` must not precede `one`.
    void add(std::size_t one, std::size_t other);
    // Returns all nodes in one of the allowed orders.
    std::vector<std::size_t> in_order() const;

private:
    std::size_t count_;
    std::size_t words_;
    // For each node, a row of bits, which marks the nodes that the node precedes.
    std::vector<std::uint64_t> rows_;
};

}  // namespace rocklock::proof
