#include "table/guards.hpp"

#include <algorithm>
#include <utility>

#include "table/faults.hpp"

namespace rocklock::table {

Result<void> guard_write(LockGate* gate, const Schema& schema, const WriteItem& write,
                         Batch& batch) {
    const LockProof* proof = write.proof ? &*write.proof : nullptr;
    // A session alone says nothing about what is not bound.
    if (!schema.binding && (!proof || !proof->token)) return {};
    if (!gate) return Error(ErrorCode::lock_required, "these tables know of no locks");
    const std::string resource =
        schema.binding ? schema.binding->resource.resource_of(write.item) : std::string();
    auto terms = gate->let_write(proof, resource);
    if (!terms) return std::move(terms).error();
    const auto same = [&](const Precondition& other) {
        return other.family == terms->unchanged.family && other.key == terms->unchanged.key;
    };
    auto& conditions = batch.preconditions;
    if (std::none_of(conditions.begin(), conditions.end(), same)) {
        conditions.push_back(std::move(terms->unchanged));
    }
    batch.not_after = std::min(batch.not_after.value_or(BootTime::max()), terms->not_after);
    return {};
}

void GuardedRead::begin() {
    resources_.clear();
    if (gate_) mark_ = gate_->before_read();
}

void GuardedRead::see(const Schema& schema, const AttributeMap& item) {
    if (!schema.binding || !gate_) return;
    bound_ = true;
    strict_ = strict_ || schema.binding->strict;
    if (!mark_.any && !schema.binding->strict && !careful_) return;
    std::string resource = schema.binding->resource.resource_of(item);
    // Items of one resource mostly follow each other.
    if (!resources_.empty() && resources_.back() == resource) return;
    resources_.push_back(std::move(resource));
}

Result<bool> GuardedRead::end() {
    if (!bound_) return true;
    if (!mark_.any && !strict_ && !careful_) {
        const auto now = gate_->before_read();
        // Something was locked meanwhile.
        careful_ = now.any || now.changes != mark_.changes;
        return !careful_;
    }
    return gate_->let_read(mark_, {std::move(resources_), proof_, strict_});
}

}  // namespace rocklock::table
