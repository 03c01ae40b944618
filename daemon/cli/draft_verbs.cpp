// drafts ls, drafts take and drafts rm.
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

// The owner of drafts: the session in ROCKLOCK_SESSION, or a principal.
struct DraftOwner {
    std::optional<SessionCredentials> session;
    std::string principal;
};

Result<DraftOwner> draft_owner(const Arguments& arguments) {
    const char* given = std::getenv("ROCKLOCK_SESSION");
    const bool has_session = given != nullptr && *given != '\0';
    if (arguments.has("principal") || !has_session) {
        return DraftOwner{{}, principal_of(arguments)};
    }
    auto session = session_of_environment();
    if (!session) return std::move(session).error();
    return DraftOwner{*std::move(session), {}};
}

// Returns the call. With a session, the call has its credentials; otherwise `body` names a
// principal.
template <typename Body>
Call call_of(Body body, const DraftOwner& owner) {
    std::optional<Secret> secret;
    if (owner.session) {
        body.session = owner.session->id;
        secret = owner.session->secret;
    }
    return Call{std::move(body), secret, {}};
}

Result<DraftId> draft_of(const Arguments& arguments) {
    const auto& text = arguments.operands.front();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return Error(
            ErrorCode::invalid_argument,
            "'" + text + "' is not the number of a draft: give a number that `drafts ls` shows");
    }
    return DraftId{value};
}

std::string_view kind_word(const Draft& draft) {
    if (draft.write.kind == WriteItem::Kind::put) return "put";
    return draft.write.kind == WriteItem::Kind::update ? "update" : "delete";
}

Result<std::unique_ptr<LockConnection>> daemon_of(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return settings.error();
    return open_manager(arguments, *settings, std::chrono::milliseconds{0});
}

// Returns the draft, or none if the owner has no such draft.
Result<std::optional<Draft>> find_draft(LockConnection& manager, const DraftOwner& owner,
                                        DraftId draft) {
    ListDrafts list;
    list.request.principal = owner.principal;
    do {
        auto page = manager.ask<DraftPage>(call_of(list, owner));
        if (!page) return std::move(page).error();
        for (Draft& each : page->drafts) {
            if (each.id == draft) return std::optional(std::move(each));
        }
        list.request.next = page->next;
    } while (number(list.request.next) != 0);
    return std::optional<Draft>();
}

}  // namespace

int drafts_list_verb(const Arguments& arguments) {
    const auto owner = draft_owner(arguments);
    if (!owner) return fail(owner.error());
    auto manager = daemon_of(arguments);
    if (!manager) return fail(manager.error());
    ListDrafts list;
    list.request.principal = owner->principal;
    TextTable table({"DRAFT", "PRINCIPAL", "AT", "RESOURCE", "TABLE", "WRITE", "TOKEN"});
    do {
        const auto page = (*manager)->ask<DraftPage>(call_of(list, *owner));
        if (!page) return fail(page.error());
        for (const Draft& draft : page->drafts) {
            if (arguments.has("json")) {
                print(write_value(draft));
                continue;
            }
            table.add({std::to_string(number(draft.id)), printable(draft.principal),
                       format_time(draft.at), printable(draft.resource),
                       printable(draft.write.table), std::string(kind_word(draft)),
                       std::to_string(number(draft.token))});
        }
        list.request.next = page->next;
    } while (number(list.request.next) != 0);
    if (!arguments.has("json")) print_table(table, arguments);
    return exit_status::done;
}

int drafts_take_verb(const Arguments& arguments) {
    const auto owner = draft_owner(arguments);
    if (!owner) return fail(owner.error());
    const auto draft = draft_of(arguments);
    if (!draft) return fail(draft.error());
    auto manager = daemon_of(arguments);
    if (!manager) return fail(manager.error());
    const auto found = find_draft(**manager, *owner, *draft);
    if (!found) return fail(found.error());
    if (*found) {
        print(write_value(**found));
        // After the call below, the draft exists in this output only.
        if (!output_written()) return exit_status::internal;
    }
    TakeDraft take;
    take.principal = owner->principal;
    take.draft = *draft;
    const auto taken = (*manager)->ask<Draft>(call_of(take, *owner));
    if (!taken) return fail(taken.error());
    // The draft was kept after the list was read.
    if (!*found) print(write_value(*taken));
    return exit_status::done;
}

int drafts_remove_verb(const Arguments& arguments) {
    const auto owner = draft_owner(arguments);
    if (!owner) return fail(owner.error());
    const auto draft = draft_of(arguments);
    if (!draft) return fail(draft.error());
    auto manager = daemon_of(arguments);
    if (!manager) return fail(manager.error());
    DiscardDraft discard;
    discard.principal = owner->principal;
    discard.draft = *draft;
    const auto gone = (*manager)->ask<DiscardedDraft>(call_of(discard, *owner));
    if (!gone) return fail(gone.error());
    if (arguments.has("json")) {
        print(write_reply(*gone));
    } else if (!arguments.has("quiet")) {
        print("draft " + std::to_string(number(gone->draft)) + " was deleted");
    }
    return exit_status::done;
}

}  // namespace rocklock
