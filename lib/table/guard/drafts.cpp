#include "table/guard/drafts.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes.hpp"
#include "item/key_codec.hpp"
#include "table/guard/draft_record.hpp"
#include "table/schema/faults.hpp"

namespace rocklock::table {
namespace {

// What a sweep removes in one commit.
constexpr std::size_t thrown_away_at_once = 25;
std::unique_ptr<Snapshot::Cursor> scan_prefix(const Snapshot& snapshot, const std::string& prefix) {
    return snapshot.scan(Family::meta, prefix, end_of_prefix(prefix));
}

void remove_kept(std::string_view principal, std::uint64_t draft, std::string place, Batch& batch) {
    batch.writes.push_back({Family::meta, draft_key(principal, draft), std::nullopt});
    batch.writes.push_back({Family::meta, std::move(place), std::nullopt});
}

void remove_kept(const StoredDraft& stored, Batch& batch) {
    const Draft& draft = stored.draft;
    batch.preconditions.push_back(
        {Family::meta, draft_key(draft.principal, number(draft.id)), number(draft.id)});
    remove_kept(draft.principal, number(draft.id),
                place_key(draft.principal, draft.token, stored.row), batch);
}

// The places of a principal's drafts, by number.
Result<std::map<std::uint64_t, std::string>> places_of(const Snapshot& snapshot,
                                                       std::string_view principal) {
    std::map<std::uint64_t, std::string> places;
    const auto cursor = scan_prefix(snapshot, places_prefix(principal));
    for (; cursor->valid(); cursor->next()) {
        places.emplace(version_of(cursor->value()), cursor->key());
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return places;
}

// Of one principal.
Result<void> keep_some(const Snapshot& snapshot, Versions& versions,
                       const std::vector<const KeptWrite*>& writes, WallTime now, Batch& batch) {
    const std::string& principal = writes.front()->late.principal;
    auto mark = snapshot.get(Family::meta, mark_key(principal));
    if (!mark) return std::move(mark).error();
    Precondition unchanged{Family::meta, mark_key(principal), std::nullopt};
    if (*mark) unchanged.version = version_of(**mark);
    auto places = places_of(snapshot, principal);
    if (!places) return std::move(places).error();
    std::uint64_t last = 0;
    for (const KeptWrite* kept : writes) {
        const auto draft = versions.next();
        if (!draft) return Error(draft.error());
        last = *draft;
        const auto place = place_key(principal, *kept->request->proof->token, kept->row);
        const auto before = std::find_if(places->begin(), places->end(),
                                         [&](const auto& known) { return known.second == place; });
        if (before != places->end()) {
            batch.writes.push_back(
                {Family::meta, draft_key(principal, before->first), std::nullopt});
            places->erase(before);
        }
        std::string version;
        append_u64(version, *draft);
        batch.writes.push_back({Family::meta, place, version});
        batch.writes.push_back(
            {Family::meta, draft_key(principal, *draft), encode_draft(*kept, *draft, now)});
    }
    while (places->size() + writes.size() > limits::drafts_per_principal) {
        auto oldest = places->extract(places->begin());
        remove_kept(principal, oldest.key(), std::move(oldest.mapped()), batch);
    }
    std::string version;
    append_u64(version, last);
    batch.preconditions.push_back(std::move(unchanged));
    batch.writes.push_back({Family::meta, mark_key(principal), std::move(version)});
    return {};
}

// Nothing where it is not there, or not any more.
Result<std::optional<StoredDraft>> find_draft(const Snapshot& snapshot,
                                              const std::string& principal, DraftId draft,
                                              WallTime now) {
    auto value = snapshot.get(Family::meta, draft_key(principal, number(draft)));
    if (!value) return std::move(value).error();
    if (!*value) return std::optional<StoredDraft>();
    auto stored = decode_draft(principal, **value);
    if (!stored) return std::move(stored).error();
    if (is_too_old(stored->draft, now)) return std::optional<StoredDraft>();
    return std::optional(*std::move(stored));
}

// Those that are too old, and the mark where none is left; some of them at a time. True when there
// may be more.
Result<bool> throw_away(Storage& storage, const std::string& principal, WallTime now,
                        std::size_t& items_left) {
    const std::size_t most = std::min(items_left, thrown_away_at_once);
    const auto snapshot = storage.snapshot();
    auto mark = snapshot->get(Family::meta, mark_key(principal));
    if (!mark) return std::move(mark).error();
    const auto cursor = scan_prefix(*snapshot, drafts_prefix(principal));
    Batch batch;
    std::size_t count = 0;
    for (; cursor->valid() && count < most; cursor->next(), ++count) {
        const auto stored = decode_draft(principal, cursor->value());
        if (!stored) return Error(stored.error());
        if (!is_too_old(stored->draft, now)) break;
        remove_kept(*stored, batch);
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    items_left -= std::max<std::size_t>(count, 1);
    const bool none_left = !cursor->valid();
    if (none_left && *mark) {
        batch.preconditions.push_back({Family::meta, mark_key(principal), version_of(**mark)});
        batch.writes.push_back({Family::meta, mark_key(principal), std::nullopt});
    }
    if (batch.empty()) return false;
    auto removed = storage.commit(std::move(batch), Durability::written);
    // Somebody was quicker: another round finds what is left.
    if (!removed && removed.error().code == ErrorCode::precondition_failed) return false;
    if (!removed) return std::move(removed).error();
    return !none_left && count == most;
}

Result<Batch> keep_drafts(const Snapshot& snapshot, Versions& versions,
                          const std::vector<KeptWrite>& writes, WallTime now) {
    std::map<std::string_view, std::vector<const KeptWrite*>> by_principal;
    for (const KeptWrite& kept : writes) by_principal[kept.late.principal].push_back(&kept);
    Batch batch;
    for (const auto& [principal, some] : by_principal) {
        auto kept = keep_some(snapshot, versions, some, now, batch);
        if (!kept) return std::move(kept).error();
    }
    return batch;
}

}  // namespace

std::string told_of_drafts(std::uint32_t count) {
    if (count == 0) return {};
    return std::string("; what it would have written was kept as ") +
           (count == 1 ? "a draft" : "drafts");
}

Result<Decision> keep_instead(const Snapshot& snapshot, Versions& versions,
                              const std::vector<KeptWrite>& writes, WallTime now,
                              std::optional<Error>& refused) {
    if (writes.empty()) return *refused;
    auto kept = keep_drafts(snapshot, versions, writes, now);
    if (!kept) return std::move(kept).error();
    refused->drafts = static_cast<std::uint32_t>(writes.size());
    refused->message += told_of_drafts(refused->drafts);
    return Decision{*std::move(kept), {}};
}

Result<Draft> remove_draft(const Snapshot& snapshot, const std::vector<std::string>& principals,
                           DraftId draft, WallTime now, Batch& batch) {
    for (const std::string& principal : principals) {
        auto found = find_draft(snapshot, principal, draft, now);
        if (!found) return std::move(found).error();
        if (!*found) continue;
        remove_kept(**found, batch);
        return std::move((*found)->draft);
    }
    return no_such_draft(principals.empty() ? "nobody" : principals.front(), draft);
}

Result<std::optional<std::string>> sweep_drafts(Storage& storage, const std::string& place,
                                                WallTime now, std::size_t& items_left) {
    const auto snapshot = storage.snapshot();
    const auto cursor = snapshot->scan(
        Family::meta, place.empty() ? mark_prefix : std::string_view(place), marks_end);
    for (; cursor->valid(); cursor->next()) {
        const std::string principal(cursor->key().substr(mark_prefix.size()));
        bool more = true;
        while (more) {
            if (items_left == 0) return std::optional(std::string(cursor->key()));
            const auto thrown = throw_away(storage, principal, now, items_left);
            if (!thrown) return Error(thrown.error());
            more = *thrown;
        }
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return std::optional<std::string>();
}

}  // namespace rocklock::table
