// ListDrafts, TakeDraft, DiscardDraft.
#include <algorithm>
#include <utility>

#include "base/page_bytes.hpp"
#include "item/key_codec.hpp"
#include "table/guard/draft_record.hpp"
#include "table/guard/drafts.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {

Result<void> TableStore::save_from(const std::vector<DraftId>& drafts,
                                   const std::vector<DraftAccess>& writers, Decision& decision) {
    if (drafts.empty()) return {};
    if (writers.empty()) {
        return validation_error(
            "To save a draft, send the session and token of a lock that covers its item");
    }
    const auto snapshot = storage_.snapshot();
    for (const DraftId draft : drafts) {
        const auto again = std::count(drafts.begin(), drafts.end(), draft);
        if (again > 1) return validation_error("A draft is given twice: give each draft once");
        auto removed = remove_draft(draft_moment(*snapshot), writers, draft, decision);
        if (!removed) return std::move(removed).error();
    }
    return {};
}

Result<void> TableStore::complete_decision(const std::vector<DraftId>& drafts,
                                           const std::vector<DraftAccess>& writers,
                                           Decision& decision) {
    if (auto saved = save_from(drafts, writers, decision); !saved) return std::move(saved).error();
    if (auto over = users_.check(decision.batch.writes, decision.count_changes))
        return *std::move(over);
    return {};
}

Result<DraftPage> TableStore::list_drafts(const DraftsRequest& request) {
    if (request.limit == 0 || request.limit > limits::drafts_per_principal) {
        return validation_error("The limit of a page of drafts must be from 1 to " +
                                std::to_string(limits::drafts_per_principal));
    }
    DraftPage page;
    // A name with this byte is no valid principal; its keys would be those of another principal.
    if (request.principal.find(end_of_principal) != std::string::npos) return page;
    const auto now = clock_.now().wall;
    const auto snapshot = storage_.snapshot();
    const auto cursor =
        snapshot->scan(Family::meta, draft_key(request.principal, number(request.next)),
                       end_of_prefix(drafts_prefix(request.principal)));
    std::size_t bytes = 0;
    for (; cursor->valid(); cursor->next()) {
        auto stored = decode_draft(request.principal, cursor->value());
        if (!stored) return std::move(stored).error();
        if (is_too_old(stored->draft, now, draft_retention().age) ||
            !may_see(request.only_of, *stored)) {
            continue;
        }
        if (page.drafts.size() == request.limit || bytes >= max_page_bytes) {
            page.next = stored->draft.id;
            return page;
        }
        bytes += cursor->value().size();
        page.drafts.push_back(std::move(stored->draft));
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return page;
}

Result<Draft> TableStore::take_draft(const std::string& principal, DraftId draft,
                                     std::optional<UserId> only_of) {
    if (principal.find(end_of_principal) != std::string::npos) {
        return no_such_draft(principal, draft);
    }
    Draft taken;
    const auto decide = [&]() -> Result<Decision> {
        Decision decision;
        const auto snapshot = storage_.snapshot();
        auto removed =
            remove_draft(draft_moment(*snapshot), {{principal, only_of}}, draft, decision);
        if (!removed) return std::move(removed).error();
        taken = *std::move(removed);
        return decision;
    };
    auto committed =
        commit_decision({draft_key(principal, number(draft))}, options_.durability, decide);
    if (!committed) return std::move(committed).error();
    return taken;
}

Result<void> TableStore::discard_draft(const std::string& principal, DraftId draft,
                                       std::optional<UserId> only_of) {
    auto taken = take_draft(principal, draft, only_of);
    if (!taken) return std::move(taken).error();
    return {};
}

}  // namespace rocklock::table
