#include "table/guard/guards.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "table/guard/drafts.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {

Result<std::optional<LockGate::WriteTerms>> guard_write(LockGate* gate, const Schema& schema,
                                                        const WriteItem& write, Batch& batch,
                                                        std::optional<LateWrite>& late) {
    using Terms = std::optional<LockGate::WriteTerms>;
    const LockProof* proof = write.proof ? &*write.proof : nullptr;
    // A proof without a token is meaningless for a table that is not bound.
    if (!schema.binding && (!proof || !proof->token)) return Terms();
    if (!gate) return Error(ErrorCode::lock_required, "these tables have no lock manager");
    const std::string resource =
        schema.binding ? schema.binding->resource.resource_of(write.item) : std::string();
    LockGate::DraftOwner drafts_of;
    auto terms = gate->check_write(proof, resource, drafts_of);
    if (!terms) {
        // A draft is identified by its resource, so the table must be bound.
        if (!drafts_of.principal.empty() && schema.binding && fits_draft(write)) {
            late = LateWrite{std::move(drafts_of.principal), resource, drafts_of.uid};
        }
        return std::move(terms).error();
    }
    ROCKLOCK_ASSERT(!terms->unchanged.key.empty());
    const auto same = [&](const Precondition& other) {
        return other.family == terms->unchanged.family && other.key == terms->unchanged.key;
    };
    auto& conditions = batch.preconditions;
    if (std::none_of(conditions.begin(), conditions.end(), same) &&
        !mutated(Mutant::guard_judged_early)) {
        conditions.push_back(terms->unchanged);
    }
    if (mutated(Mutant::lease_end_ignored)) return Terms(*std::move(terms));
    batch.not_after = std::min(batch.not_after.value_or(BootTime::max()), terms->not_after);
    return Terms(*std::move(terms));
}

void AfterCommit::add(const std::optional<LockGate::WriteTerms>& terms, Batch& batch) {
    if (after_ == AfterSave::keep || !terms) return;
    const bool known = std::any_of(terms_.begin(), terms_.end(),
                                   [&](const auto& other) { return other.grant == terms->grant; });
    if (known) return;
    ROCKLOCK_ASSERT(gate_ != nullptr);
    batch.writes.push_back(gate_->after_save_record(*terms, after_));
    terms_.push_back(*terms);
}

Result<void> AfterCommit::check() const {
    if (after_ == AfterSave::keep) return {};
    if (terms_.empty()) {
        return validation_error(
            "To release or downgrade a lock after a save, send its session and token with the "
            "save");
    }
    const bool downgrades = std::all_of(terms_.begin(), terms_.end(),
                                        [](const auto& write) { return write.downgrades; });
    if (after_ == AfterSave::downgrade && !downgrades) {
        return validation_error(
            "To downgrade after a save, the grant must have no permits and no waiting conversion: "
            "save without a downgrade, then convert or release the grant");
    }
    return {};
}

void AfterCommit::apply_after_save() const {
    for (const auto& terms : terms_) gate_->apply_after_save(terms, after_);
}

void GuardedRead::begin() {
    resources_.clear();
    if (gate_) mark_ = gate_->before_read();
}

bool GuardedRead::is_free(const Schema& schema) const {
    return !schema.binding || (gate_ && !mark_.any && !schema.binding->strict);
}

bool GuardedRead::is_still_free(const Schema& schema) const {
    if (!schema.binding) return true;
    ROCKLOCK_ASSERT(gate_ != nullptr);
    const auto now = gate_->before_read();
    return !now.any && now.changes == mark_.changes;
}

bool GuardedRead::notes(const Schema& schema) {
    if (!schema.binding || !gate_) return false;
    bound_ = true;
    strict_ = strict_ || schema.binding->strict;
    return mark_.any || schema.binding->strict || records_resources_;
}

void GuardedRead::add_resource(const Schema& schema, const AttributeMap& known) {
    if (!notes(schema)) return;
    if (auto resource = schema.binding->resource.resource_of_all(known)) {
        resources_.push_back(*std::move(resource));
    }
}

void GuardedRead::see(const Schema& schema, const AttributeMap& item) {
    if (!notes(schema)) return;
    std::string resource = schema.binding->resource.resource_of(item);
    // Consecutive items often belong to the same resource.
    if (!resources_.empty() && resources_.back() == resource) return;
    resources_.push_back(std::move(resource));
}

Result<bool> GuardedRead::end() {
    if (!bound_) return true;
    ROCKLOCK_ASSERT(gate_ != nullptr);
    if (!mark_.any && !strict_ && !records_resources_) {
        const auto now = gate_->before_read();
        // If a lock has changed meanwhile, repeats the read and records its resources.
        records_resources_ = now.any || now.changes != mark_.changes;
        return !records_resources_;
    }
    return gate_->check_read(mark_, {std::move(resources_), proof_, strict_});
}

}  // namespace rocklock::table
