#include "table/guard/drafts.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/key_codec.hpp"
#include "table/guard/draft_record.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

// The maximum number of drafts that a sweep deletes in one commit.
constexpr std::size_t thrown_away_at_once = 25;
std::unique_ptr<Snapshot::Cursor> scan_prefix(const Snapshot& snapshot, const std::string& prefix) {
    return snapshot.scan(Family::meta, prefix, end_of_prefix(prefix));
}

// The location of a draft, with its key.
struct KeptLocation {
    std::string key;
    DraftLocation stored;
};

// Adds the condition that the draft still has this location, so that it is subtracted from the
// counts only once.
void remove_kept(UserData& users, std::string_view principal, KeptLocation location,
                 Decision& decision) {
    decision.batch.preconditions.push_back({Family::meta, location.key, location.stored.draft});
    auto& writes = decision.batch.writes;
    writes.push_back({Family::meta, draft_key(principal, location.stored.draft), std::nullopt});
    writes.push_back({Family::meta, std::move(location.key), std::nullopt});
    decision.count_changes.push_back(
        {users.drafts_of(location.stored.user), -1, -location.stored.bytes});
}

// Errors: those of Snapshot; corrupt
Result<void> remove_kept(const Snapshot& snapshot, UserData& users, const StoredDraft& stored,
                         Decision& decision) {
    const Draft& draft = stored.draft;
    decision.batch.preconditions.push_back(
        {Family::meta, draft_key(draft.principal, number(draft.id)), number(draft.id)});
    KeptLocation location{location_key(draft.principal, draft.token, stored.row),
                          {number(draft.id)}};
    const auto value = snapshot.get(Family::meta, location.key);
    if (!value) return Error(value.error());
    if (!*value) {
        decision.batch.writes.push_back(
            {Family::meta, draft_key(draft.principal, number(draft.id)), std::nullopt});
        return {};
    }
    const auto known = decode_location(**value);
    if (!known) return Error(known.error());
    location.stored = *known;
    remove_kept(users, draft.principal, std::move(location), decision);
    return {};
}

// Returns the locations of a principal's drafts, by the numbers of the drafts.
Result<std::map<std::uint64_t, KeptLocation>> locations_of(const Snapshot& snapshot,
                                                           std::string_view principal) {
    std::map<std::uint64_t, KeptLocation> locations;
    const auto cursor = scan_prefix(snapshot, locations_prefix(principal));
    for (; cursor->valid(); cursor->next()) {
        const auto location = decode_location(cursor->value());
        if (!location) return Error(location.error());
        locations.emplace(location->draft, KeptLocation{std::string(cursor->key()), *location});
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return locations;
}

void add_draft(const DraftMoment& moment, const KeptWrite& kept, KeptLocation location,
               Decision& decision) {
    const std::uint64_t draft = location.stored.draft;
    ROCKLOCK_ASSERT(draft != 0 && kept.request->proof && kept.request->proof->token);
    std::string record = encode_draft(kept, draft, moment.now);
    location.stored.user = kept.request->proof->user;
    location.stored.bytes = static_cast<std::int64_t>(record.size());
    decision.count_changes.push_back(
        {moment.users.drafts_of(location.stored.user), 1, location.stored.bytes});
    auto& writes = decision.batch.writes;
    writes.push_back({Family::meta, std::move(location.key), encode_location(location.stored)});
    writes.push_back({Family::meta, draft_key(kept.late.principal, draft), std::move(record)});
}

// Adds the drafts of one principal to the decision.
Result<void> keep_some(const DraftMoment& moment, const std::vector<const KeptWrite*>& writes,
                       Decision& decision) {
    ROCKLOCK_ASSERT(!writes.empty());
    const std::string& principal = writes.front()->late.principal;
    auto mark = moment.snapshot.get(Family::meta, mark_key(principal));
    if (!mark) return std::move(mark).error();
    Precondition unchanged{Family::meta, mark_key(principal), std::nullopt};
    if (*mark) unchanged.version = version_of(**mark);
    auto locations = locations_of(moment.snapshot, principal);
    if (!locations) return std::move(locations).error();
    std::uint64_t last = 0;
    for (const KeptWrite* kept : writes) {
        const auto draft = moment.versions.next();
        if (!draft) return Error(draft.error());
        ROCKLOCK_ASSERT(*draft > last && kept->late.principal == principal);
        last = *draft;
        const auto key = location_key(principal, *kept->request->proof->token, kept->row);
        const auto before =
            std::find_if(locations->begin(), locations->end(),
                         [&](const auto& known) { return known.second.key == key; });
        if (before != locations->end()) {
            remove_kept(moment.users, principal, std::move(before->second), decision);
            locations->erase(before);
        }
        // The writes of a batch apply in order: the new location replaces the removed one.
        add_draft(moment, *kept, {key, {*draft}}, decision);
    }
    // A user who names the principal of another user must not displace the drafts of that user.
    const auto& sender = writes.front()->request->proof->user;
    std::erase_if(*locations,
                  [&](const auto& known) { return known.second.stored.user != sender; });
    while (!locations->empty() &&
           locations->size() + writes.size() > moment.retention.per_principal) {
        auto oldest = locations->extract(locations->begin());
        remove_kept(moment.users, principal, std::move(oldest.mapped()), decision);
    }
    std::string version;
    append_u64(version, last);
    decision.batch.preconditions.push_back(std::move(unchanged));
    decision.batch.writes.push_back({Family::meta, mark_key(principal), std::move(version)});
    return {};
}

// Returns nullopt if the draft does not exist, is outdated or belongs to another user.
Result<std::optional<StoredDraft>> find_draft(const DraftMoment& moment, const DraftAccess& access,
                                              DraftId draft) {
    auto value = moment.snapshot.get(Family::meta, draft_key(access.principal, number(draft)));
    if (!value) return std::move(value).error();
    if (!*value) return std::optional<StoredDraft>();
    auto stored = decode_draft(access.principal, **value);
    if (!stored) return std::move(stored).error();
    if (is_too_old(stored->draft, moment.now, moment.retention.age) ||
        !may_see(access.only_of, *stored)) {
        return std::optional<StoredDraft>();
    }
    return std::optional(*std::move(stored));
}

// Returns the locations of the drafts of a principal beyond the maximum, the oldest of each user,
// if the maximum can have been lowered.
Result<std::vector<KeptLocation>> excess_drafts(const Snapshot& snapshot,
                                                const std::string& principal, std::uint32_t max) {
    std::vector<KeptLocation> excess;
    if (max >= limits::drafts_per_principal) return excess;
    auto locations = locations_of(snapshot, principal);
    if (!locations) return std::move(locations).error();
    std::map<std::optional<UserId>, std::size_t> counts;
    for (auto newest = locations->rbegin(); newest != locations->rend(); ++newest) {
        KeptLocation& location = newest->second;
        if (++counts[location.stored.user] > max) excess.push_back(std::move(location));
    }
    std::reverse(excess.begin(), excess.end());
    return excess;
}

// Deletes some outdated and some excess drafts of a principal, and its mark if no draft is left.
// Returns true if there may be more.
Result<bool> throw_away(Storage& storage, const DraftSweep& sweep, const std::string& principal,
                        std::size_t& items_left) {
    ROCKLOCK_ASSERT(items_left > 0);
    const std::size_t max_deletes = std::min(items_left, thrown_away_at_once);
    const auto snapshot = storage.snapshot();
    auto mark = snapshot->get(Family::meta, mark_key(principal));
    if (!mark) return std::move(mark).error();
    auto excess = excess_drafts(*snapshot, principal, sweep.retention.per_principal);
    if (!excess) return std::move(excess).error();
    const auto cursor = scan_prefix(*snapshot, drafts_prefix(principal));
    Decision decision;
    Batch& batch = decision.batch;
    std::size_t count = 0;
    std::uint64_t last = 0;
    for (; cursor->valid() && count < max_deletes; cursor->next(), ++count) {
        const auto stored = decode_draft(principal, cursor->value());
        if (!stored) return Error(stored.error());
        if (!is_too_old(stored->draft, sweep.now, sweep.retention.age)) break;
        if (auto removed = remove_kept(*snapshot, sweep.users, *stored, decision); !removed) {
            return std::move(removed).error();
        }
        last = number(stored->draft.id);
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    for (KeptLocation& location : *excess) {
        // Those before are removed already: the numbers are in the order of age.
        if (count == max_deletes || location.stored.draft <= last) continue;
        remove_kept(sweep.users, principal, std::move(location), decision);
        ++count;
    }
    items_left -= std::max<std::size_t>(count, 1);
    const bool none_left = !cursor->valid();
    if (none_left && *mark) {
        batch.preconditions.push_back({Family::meta, mark_key(principal), version_of(**mark)});
        batch.writes.push_back({Family::meta, mark_key(principal), std::nullopt});
    }
    if (batch.empty()) return false;
    auto removed = storage.commit(std::move(batch), Durability::written);
    // Another thread has changed the drafts; the next sweep deletes them.
    if (!removed && removed.error().code == ErrorCode::precondition_failed) return false;
    if (!removed) return std::move(removed).error();
    apply(decision.count_changes);
    return !none_left && count == max_deletes;
}

Result<Decision> keep_drafts(const DraftMoment& moment, const std::vector<KeptWrite>& writes) {
    std::map<std::string_view, std::vector<const KeptWrite*>> by_principal;
    for (const KeptWrite& kept : writes) by_principal[kept.late.principal].push_back(&kept);
    Decision decision;
    for (const auto& [principal, some] : by_principal) {
        if (auto kept = keep_some(moment, some, decision); !kept) return std::move(kept).error();
    }
    return decision;
}

}  // namespace

std::string describe_drafts(std::uint32_t count) {
    if (count == 0) return {};
    return std::string("; the write was kept as ") + (count == 1 ? "a draft" : "drafts");
}

Result<void> count_drafts(const Snapshot& snapshot, UserData& users) {
    const auto cursor = scan_prefix(snapshot, std::string(location_prefix));
    for (; cursor->valid(); cursor->next()) {
        const auto location = decode_location(cursor->value());
        if (!location) return Error(location.error());
        users.drafts_of(location->user)->add(1, location->bytes);
    }
    return cursor->status();
}

Result<Decision> keep_instead(const DraftMoment& moment, const std::vector<KeptWrite>& writes,
                              std::optional<Error>& refused) {
    ROCKLOCK_ASSERT(refused.has_value());
    if (writes.empty()) return *refused;
    auto kept = keep_drafts(moment, writes);
    if (!kept) return std::move(kept).error();
    if (const auto over = moment.users.check(kept->batch.writes, kept->count_changes)) {
        refused->message += "; it was not kept as a draft: " + over->message;
        return *refused;
    }
    refused->drafts = static_cast<std::uint32_t>(writes.size());
    refused->message += describe_drafts(refused->drafts);
    return kept;
}

Result<Draft> remove_draft(const DraftMoment& moment, const std::vector<DraftAccess>& owners,
                           DraftId draft, Decision& decision) {
    for (const DraftAccess& owner : owners) {
        auto found = find_draft(moment, owner, draft);
        if (!found) return std::move(found).error();
        if (!*found) continue;
        if (auto removed = remove_kept(moment.snapshot, moment.users, **found, decision);
            !removed) {
            return std::move(removed).error();
        }
        return std::move((*found)->draft);
    }
    return no_such_draft(owners.empty() ? "an unknown principal" : owners.front().principal, draft);
}

Result<std::optional<std::string>> sweep_drafts(Storage& storage, const DraftSweep& sweep,
                                                const std::string& first_key,
                                                std::size_t& items_left) {
    const auto snapshot = storage.snapshot();
    const auto cursor = snapshot->scan(
        Family::meta, first_key.empty() ? mark_prefix : std::string_view(first_key), marks_end);
    for (; cursor->valid(); cursor->next()) {
        const std::string principal(cursor->key().substr(mark_prefix.size()));
        bool more = true;
        while (more) {
            if (items_left == 0) return std::optional(std::string(cursor->key()));
            const auto thrown = throw_away(storage, sweep, principal, items_left);
            if (!thrown) return Error(thrown.error());
            more = *thrown;
        }
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return std::optional<std::string>();
}

}  // namespace rocklock::table
