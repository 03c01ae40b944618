// PutItem, UpdateItem, DeleteItem.
#include <optional>
#include <utility>

#include "base/planted_bug.hpp"
#include "table/drafts.hpp"
#include "table/faults.hpp"
#include "table/table_store.hpp"

namespace rocklock::table {

Result<WriteAnswer> TableStore::write_item(const WriteItem& request) {
    if (request.kind == WriteItem::Kind::check) {
        return fault("A condition alone can be checked in a transaction only");
    }
    const auto read = read_write(request);
    if (!read) return Error(read.error());
    return write_planned(*read);
}

Result<WriteAnswer> TableStore::write_planned(const ReadWrite& read) {
    // The row does not depend on the version of the definition, so it is found once.
    auto first = schema(read.request->table);
    if (!first) return std::move(first).error();
    auto plan = bind_write(read, *std::move(first));
    if (!plan) return std::move(plan).error();

    WriteAnswer answer;
    AfterCommit after(options_.gate, read.request->after);
    // Refused, and kept in the place of what it would have written.
    std::optional<Error> refused;
    const auto decide = [&]() -> Result<Decision> {
        refused.reset();
        auto now = schema(read.request->table);
        if (!now) return std::move(now).error();
        if (*now != plan->schema) {
            plan = bind_write(read, *std::move(now));
            if (!plan) return Error(plan.error());
        }
        Batch batch;
        std::optional<LateWrite> late;
        const auto let_in = guard_write(options_.gate, *plan->schema, *read.request, batch, late);
        if (!let_in && !late) return Error(let_in.error());
        if (late) {
            auto kept =
                keep_drafts(*storage_.snapshot(), versions_,
                            {{read.request, plan->row, *std::move(late)}}, clock_.now().wall);
            if (!kept) return std::move(kept).error();
            refused = refused_but_kept(let_in.error(), 1);
            return Decision{*std::move(kept), {}};
        }
        const auto current = read_row(plan->row);
        if (!current) return Error(current.error());
        // Behind the read, so that it is greater than what was read.
        const auto version = versions_.next();
        if (!version) return Error(version.error());
        auto decided = decide_write(*plan, *current,
                                    stamp_of(*version, *read.request, *let_in, clock_.now().wall));
        if (!decided) return std::move(decided).error();
        batch.writes = std::move(decided->changes.writes);
        after.begin();
        after.add(*let_in, batch);
        if (auto checked = after.check(); !checked) return std::move(checked).error();
        if (read.request->from_draft) {
            std::vector<std::string> writers;
            if (*let_in) writers.push_back((*let_in)->by);
            auto saved = save_from({*read.request->from_draft}, writers, batch);
            if (!saved) return std::move(saved).error();
        }
        if (!planted(Bug::write_unguarded)) {
            add_preconditions(*plan, *current, batch.preconditions);
        }
        answer = std::move(decided->answer);
        return Decision{std::move(batch), std::move(decided->changes.figures)};
    };
    const std::string row = plan->row;
    if (auto committed = commit_decision({row}, options_.durability, decide); !committed) {
        return std::move(committed).error();
    }
    if (refused) return *std::move(refused);
    after.settle();
    return answer;
}

}  // namespace rocklock::table
