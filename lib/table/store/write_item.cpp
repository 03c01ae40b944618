// PutItem, UpdateItem, DeleteItem.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "table/guard/drafts.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"
#include "table/write/answer_limit.hpp"

namespace rocklock::table {
namespace {

std::vector<KeptWrite> kept_of(const PlannedWrite& plan, std::optional<LateWrite> late) {
    std::vector<KeptWrite> kept;
    if (late) kept.push_back({plan.read->request, plan.row, *std::move(late)});
    return kept;
}

std::vector<DraftId> drafts_of(const WriteItem& request) {
    std::vector<DraftId> drafts;
    if (request.from_draft) drafts.push_back(*request.from_draft);
    return drafts;
}

std::vector<DraftAccess> writers_of(const WriteItem& request,
                                    const std::optional<LockGate::WriteTerms>& terms) {
    std::vector<DraftAccess> writers;
    if (terms) writers.push_back({terms->by, request.proof->owner});
    return writers;
}

Result<std::optional<StoredItem>> read_current(const Storage& storage, const PlannedWrite& plan) {
    const auto value = storage.get(Family::items, plan.row);
    if (!value) return value.error();
    return decode_current(plan, *value);
}

// As decide_write(). Fails before anything is changed if the answer is larger than its receiver
// accepts.
Result<DecidedWrite> decide_within_limit(const PlannedWrite& plan,
                                         const std::optional<StoredItem>& current,
                                         const Stamp& stamp) {
    auto decided = decide_write(plan, current, stamp);
    if (!decided) return decided;
    if (auto fits = AnswerLimit::check(decided->answer); !fits) return std::move(fits).error();
    return decided;
}

}  // namespace

Result<WriteAnswer> TableStore::write_item(const WriteItem& request) {
    if (request.kind == WriteItem::Kind::check) {
        return validation_error("A condition without a write can be checked only in a transaction");
    }
    const auto read = read_write(request);
    if (!read) return Error(read.error());
    return write_planned(*read);
}

Result<WriteAnswer> TableStore::write_planned(const ReadWrite& read) {
    // Planned once for the retry queue; `decide` plans again if the definition has changed.
    auto first = schema(read.request->table);
    if (!first) return std::move(first).error();
    auto plan = bind_write(read, *std::move(first));
    if (!plan) return std::move(plan).error();

    WriteAnswer answer;
    AfterCommit after(options_.gate, read.request->after);
    // Set if the write is refused. Its draft is then stored instead.
    std::optional<Error> refused;
    const auto decide = [&]() -> Result<Decision> {
        refused.reset();
        auto now = schema(read.request->table);
        if (!now) return std::move(now).error();
        if (*now != plan->schema) {
            plan = bind_write(read, *std::move(now));
            if (!plan) return Error(plan.error());
        }
        Decision decision;
        Batch& batch = decision.batch;
        std::optional<LateWrite> late;
        const auto terms = guard_write(options_.gate, *plan->schema, *read.request, batch, late);
        if (!terms) {
            refused = terms.error();
            const auto snapshot = storage_.snapshot();
            return keep_instead(draft_moment(*snapshot), kept_of(*plan, std::move(late)), refused);
        }
        const auto current = read_current(storage_, *plan);
        if (!current) return Error(current.error());
        // Taken after the read, so that it is greater than the version of the item.
        const auto version = versions_.next();
        if (!version) return Error(version.error());
        auto decided = decide_within_limit(
            *plan, *current, stamp_of(*version, *read.request, *terms, clock_.now().wall));
        if (!decided) return std::move(decided).error();
        batch.writes = std::move(decided->changes.writes);
        decision.count_changes = std::move(decided->changes.count_changes);
        after.begin();
        after.add(*terms, batch);
        if (auto checked = after.check(); !checked) return std::move(checked).error();
        auto complete = complete_decision(drafts_of(*read.request),
                                          writers_of(*read.request, *terms), decision);
        if (!complete) return std::move(complete).error();
        if (!mutated(Mutant::write_unguarded)) {
            add_preconditions(*plan, *current, batch.preconditions);
        }
        answer = std::move(decided->answer);
        return decision;
    };
    if (auto committed = commit_decision({plan->row}, options_.durability, decide); !committed) {
        return std::move(committed).error();
    }
    if (refused) return *std::move(refused);
    // The row can differ from the one above: the table may have been deleted and created again.
    ROCKLOCK_ASSERT(plan->read == &read && !plan->row.empty());
    after.apply_after_save();
    return answer;
}

}  // namespace rocklock::table
