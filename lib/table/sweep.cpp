// The sweep of expired items.
//
// A round visits one table after the other whose items may expire, and those whose figures are not
// sound. It goes on from where the step before has stopped, so a step is short however large the
// tables are. What looks expired in a snapshot is read again as it is removed, by the same rules as
// any other write: who has given an item a longer life meanwhile keeps it.
#include <algorithm>
#include <utility>

#include "item/key_codec.hpp"
#include "table/faults.hpp"
#include "table/table_store.hpp"

namespace rocklock::table {
namespace {

// Of removals in one commit, and of what one step reads.
constexpr std::size_t removals_at_once = 25;
constexpr std::size_t most_bytes_read = 4 << 20;
// What is longer past has not been meant as a time.
constexpr std::chrono::hours too_long_ago{24 * (5 * 365 + 1)};

Number seconds(WallTime time) {
    return Number::parse(std::to_string(time.time_since_epoch().count()) + "e-3").value();
}

bool is_expired(const Item& item, const std::string& attribute, const SweepRound& round) {
    const auto* value = item.find(attribute);
    const auto* expiry = value ? value->get_if<Number>() : nullptr;
    return expiry && *expiry >= round.oldest && *expiry < round.newest;
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
    if (round_.tables.empty()) {
        if (round_.began && now.boot - *round_.began < options_.sweep_period) {
            report.next = until_next(*round_.began);
            return report;
        }
        round_.began = now.boot;
        for (const auto& schema : catalog_.all()) {
            // To sweep a bound table is not there yet: it takes a lock on each item.
            const bool sweeps = !schema->ttl_attribute.empty() && !schema->binding;
            if (!sweeps && schema->figure->sound) continue;
            round_.tables.push_back(schema->name);
        }
    }
    round_.oldest = seconds(now.wall - too_long_ago);
    round_.newest = seconds(now.wall - step.spared);
    std::size_t items_left = std::max<std::size_t>(step.most_items, 1);
    while (!round_.tables.empty() && items_left > 0) {
        const auto done = sweep_table(round_, items_left, report);
        if (!done) return Error(done.error());
        if (!*done) break;
        round_.tables.pop_back();
        round_.row.clear();
    }
    if (round_.tables.empty()) report.next = until_next(*round_.began);
    return report;
}

Result<bool> TableStore::sweep_table(SweepRound& round, std::size_t& items_left,
                                     SweepReport& report) {
    const auto schema = catalog_.find(round.tables.back());
    if (!schema) {
        round.count.reset();
        return true;
    }
    if (!schema->figure->sound && !round.count) {
        round.count = std::make_unique<FigureCount>(storage_, schema);
    }
    if (round.count) {
        const std::size_t before = items_left;
        auto counted = round.count->step(items_left);
        report.examined += before - items_left;
        if (!counted || !*counted) return counted;
        round.count.reset();
    }
    if (schema->ttl_attribute.empty() || schema->binding) return true;
    return sweep_rows(round, *schema, items_left, report);
}

Result<bool> TableStore::sweep_rows(SweepRound& round, const Schema& schema,
                                    std::size_t& items_left, SweepReport& report) {
    const std::string prefix = row_prefix(schema, nullptr);
    // It may be a table of another number by now.
    if (!round.row.starts_with(prefix)) round.row = prefix;
    const auto snapshot = storage_.snapshot();
    const auto cursor = snapshot->scan(Family::items, round.row, end_of_prefix(prefix));
    std::vector<std::string> expired;
    const auto remove = [&]() -> Result<void> {
        const auto removed = remove_expired(round, schema.number, expired);
        if (!removed) return Error(removed.error());
        report.removed += *removed;
        expired.clear();
        return {};
    };
    std::size_t bytes = 0;
    bool stopped = false;
    for (; cursor->valid(); cursor->next()) {
        stopped = items_left == 0 || bytes >= most_bytes_read;
        if (stopped) break;
        --items_left;
        ++report.examined;
        bytes += cursor->value().size();
        const auto stored = decode_stored(cursor->value());
        if (!stored) return Error(stored.error());
        if (!is_expired(stored->item, schema.ttl_attribute, round)) continue;
        expired.emplace_back(cursor->key());
        if (expired.size() < removals_at_once) continue;
        if (auto removed = remove(); !removed) return std::move(removed).error();
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    if (auto removed = remove(); !removed) return std::move(removed).error();
    if (stopped) round.row = cursor->key();
    return !stopped;
}

Result<std::size_t> TableStore::remove_expired(const SweepRound& round, std::uint32_t table,
                                               const std::vector<std::string>& rows) {
    std::size_t removed = 0;
    const auto decide = [&]() -> Result<Decision> {
        removed = 0;
        Decision decision;
        const auto schema = catalog_.find(round.tables.back());
        if (!schema || schema->number != table || schema->ttl_attribute.empty() ||
            schema->binding) {
            return decision;
        }
        for (const std::string& row : rows) {
            const auto current = read_row(row);
            if (!current) return Error(current.error());
            if (!*current || !is_expired((*current)->item, schema->ttl_attribute, round)) continue;
            add_removal(*schema, row, **current, decision);
            ++removed;
        }
        if (removed > 0) decision.batch.preconditions.push_back(unchanged(*schema));
        return decision;
    };
    if (rows.empty()) return removed;
    // Whether it is lost in a power cut does not matter: the next sweep finds the item again.
    auto committed = commit_decision(rows, Durability::written, decide);
    if (!committed) return std::move(committed).error();
    return removed;
}

}  // namespace rocklock::table
