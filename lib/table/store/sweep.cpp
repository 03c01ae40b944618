// The sweep of expired items and outdated drafts.
//
// A round visits the drafts, then each table that has expiring items or counts that are not exact.
// Each step continues where the previous one stopped, so a step is short even if the tables are
// large. An item that is expired in a snapshot is read again when it is removed, with the same
// conditions as any other write: if its expiry time was extended meanwhile, it is kept. In a bound
// table, items are removed under a lock that the sweep acquires.
#include <algorithm>
#include <set>
#include <utility>

#include "base/assert.hpp"
#include "item/key_codec.hpp"
#include "table/guard/drafts.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {
namespace {

// The limits of removals in one commit, and of the bytes that one step reads.
constexpr std::size_t removals_at_once = 25;
constexpr std::size_t max_bytes_read = 4 << 20;
// DynamoDB ignores expiry times that are more than five years in the past.
constexpr std::chrono::hours too_long_ago{24 * (5 * 365 + 1)};

Number seconds(WallTime time) {
    return Number::parse(std::to_string(time.time_since_epoch().count()) + "e-3").value();
}

bool is_expired(const Item& item, const std::string& attribute, const SweepRound& round) {
    const auto* value = item.find(attribute);
    const auto* expiry = value ? value->get_if<Number>() : nullptr;
    return expiry && *expiry >= round.oldest && *expiry < round.newest;
}

// Returns each resource once.
std::vector<std::string> resources_of(std::span<const ExpiredItem> items) {
    std::set<std::string> resources;
    for (const ExpiredItem& item : items) resources.insert(item.resource);
    return {resources.begin(), resources.end()};
}

bool is_without_lock(const Error& error) {
    return error.code == ErrorCode::lock_required || error.code == ErrorCode::stale_token;
}

}  // namespace

Result<SweepReport> TableStore::sweep_expired(const SweepExpired& step) {
    MutexLock lock(sweeping_);
    const Instant now = clock_.now();
    const auto until_next = [&](BootTime began) {
        const auto left = options_.sweep_period - (now.boot - began);
        const auto shown = std::chrono::ceil<std::chrono::milliseconds>(left);
        return std::max(shown, std::chrono::milliseconds(1));
    };
    SweepReport report;
    if (round_.tables.empty() && !round_.draft) {
        if (round_.began && now.boot - *round_.began < options_.sweep_period) {
            report.next = until_next(*round_.began);
            return report;
        }
        round_.began = now.boot;
        round_.draft = "";
        for (const auto& schema : catalog_.all()) {
            if (schema->ttl_attribute.empty() && schema->item_counts->exact) continue;
            round_.tables.push_back(schema->name);
        }
    }
    round_.oldest = seconds(now.wall - too_long_ago);
    round_.newest = seconds(now.wall - step.spared);
    std::size_t items_left = std::max<std::size_t>(step.max_items, 1);
    if (round_.draft) {
        auto next_key = sweep_drafts(storage_, {users_, now.wall, draft_retention()}, *round_.draft,
                                     items_left);
        if (!next_key) {
            // Continue with the tables in the next step.
            round_.draft.reset();
            return std::move(next_key).error();
        }
        round_.draft = *std::move(next_key);
    }
    while (!round_.draft && !round_.tables.empty() && items_left > 0) {
        const auto done = sweep_table(round_, items_left, report);
        if (done && !*done) break;
        // Also after an error, so that the other tables are visited.
        round_.tables.pop_back();
        round_.row.clear();
        round_.count.reset();
        if (!done) return Error(done.error());
    }
    ROCKLOCK_ASSERT(round_.began.has_value());
    if (round_.tables.empty() && !round_.draft) report.next = until_next(*round_.began);
    return report;
}

Result<bool> TableStore::sweep_table(SweepRound& round, std::size_t& items_left,
                                     SweepReport& report) {
    ROCKLOCK_ASSERT(!round.tables.empty() && items_left > 0);
    const auto schema = catalog_.find(round.tables.back());
    if (!schema) {
        round.count.reset();
        return true;
    }
    if (!schema->item_counts->exact && !round.count) {
        round.count = std::make_unique<RowCounter>(storage_, schema);
    }
    if (round.count) {
        const std::size_t before = items_left;
        auto counted = round.count->step(items_left);
        report.examined += before - items_left;
        if (!counted || !*counted) return counted;
        round.count.reset();
    }
    if (schema->ttl_attribute.empty()) return true;
    return sweep_rows(round, *schema, items_left, report);
}

Result<bool> TableStore::sweep_rows(SweepRound& round, const Schema& schema,
                                    std::size_t& items_left, SweepReport& report) {
    const std::string prefix = row_prefix(schema, nullptr);
    // The table may have been created again with another number.
    if (!round.row.starts_with(prefix)) round.row = prefix;
    const auto snapshot = storage_.snapshot();
    const auto cursor = snapshot->scan(Family::items, round.row, end_of_prefix(prefix));
    std::vector<ExpiredItem> expired;
    const auto remove = [&]() -> Result<void> {
        const auto removed = schema.binding ? remove_from_bound_table(round, schema.number, expired)
                                            : remove_expired(round, schema.number, expired, {});
        if (!removed) return Error(removed.error());
        report.removed += *removed;
        expired.clear();
        return {};
    };
    std::size_t bytes = 0;
    bool stopped = false;
    for (; cursor->valid(); cursor->next()) {
        stopped = items_left == 0 || bytes >= max_bytes_read;
        if (stopped) break;
        ROCKLOCK_ASSERT(items_left > 0 && expired.size() < removals_at_once);
        --items_left;
        ++report.examined;
        bytes += cursor->value().size();
        const auto stored = decode_stored(cursor->value());
        if (!stored) return Error(stored.error());
        if (!is_expired(stored->item, schema.ttl_attribute, round)) continue;
        expired.push_back(
            {std::string(cursor->key()),
             schema.binding ? schema.binding->resource.resource_of(stored->item) : std::string()});
        if (expired.size() < removals_at_once) continue;
        if (auto removed = remove(); !removed) return std::move(removed).error();
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    if (auto removed = remove(); !removed) return std::move(removed).error();
    if (stopped) round.row = cursor->key();
    return !stopped;
}

// Locks the resources before the removal, like any writer. If that fails for several resources,
// tries each half of the items. Items under the lock of another session are left for a later round.
Result<std::size_t> TableStore::remove_from_bound_table(const SweepRound& round,
                                                        std::uint32_t table,
                                                        std::span<const ExpiredItem> items) {
    std::size_t removed = 0;
    std::vector<std::span<const ExpiredItem>> left;
    if (!items.empty() && options_.gate != nullptr) left.push_back(items);
    while (!left.empty()) {
        const auto some = left.back();
        left.pop_back();
        const auto resources = resources_of(some);
        const auto own = options_.gate->try_lock(resources);
        if (!own) return Error(own.error());
        if (*own) {
            auto gone = remove_expired(round, table, some, *own);
            options_.gate->unlock(**own);
            if (!gone) return gone;
            removed += *gone;
        } else if (resources.size() > 1) {
            left.push_back(some.subspan(some.size() / 2));
            left.push_back(some.first(some.size() / 2));
        }
    }
    return removed;
}

Result<std::size_t> TableStore::remove_expired(const SweepRound& round, std::uint32_t table,
                                               std::span<const ExpiredItem> items,
                                               const std::optional<LockProof>& proof) {
    std::size_t removed = 0;
    const auto decide = [&]() -> Result<Decision> {
        removed = 0;
        Decision decision;
        const auto schema = catalog_.find(round.tables.back());
        if (!schema || schema->number != table || schema->ttl_attribute.empty()) return decision;
        for (const ExpiredItem& item : items) {
            const auto current = read_row(item.row);
            if (!current) return Error(current.error());
            if (!*current || !is_expired((*current)->item, schema->ttl_attribute, round)) continue;
            WriteItem removal;
            removal.kind = WriteItem::Kind::remove;
            removal.item = (*current)->item;
            removal.proof = proof;
            std::optional<LateWrite> late;
            auto guarded = guard_write(options_.gate, *schema, removal, decision.batch, late);
            if (!guarded) {
                removed = 0;
                // The lock was lost or belongs to an old binding. The next round finds the items
                // again.
                if (is_without_lock(guarded.error())) return Decision{};
                return std::move(guarded).error();
            }
            add_removal(*schema, item.row, **current, decision);
            ++removed;
        }
        if (removed > 0) decision.batch.preconditions.push_back(unchanged(*schema));
        return decision;
    };
    if (items.empty()) return removed;
    std::vector<std::string> rows;
    for (const ExpiredItem& item : items) rows.push_back(item.row);
    // If a power failure loses the removal, the next sweep finds the item again.
    auto committed = commit_decision(rows, Durability::written, decide);
    if (!committed) return std::move(committed).error();
    ROCKLOCK_ASSERT(removed <= items.size());
    return removed;
}

}  // namespace rocklock::table
