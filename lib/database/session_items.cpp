// Operations on locks together with the items that they protect: begin_edit(), and acquiring a lost
// lock again.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <rocklock/session.hpp>

#include "database/item_locks.hpp"
#include "database/session_keeper.hpp"
#include "lock/model/names.hpp"

namespace rocklock {

namespace {

// The maximum number of history rows that are read for each resource.
constexpr std::uint32_t max_history_rows = 100;

Error no_session() {
    return {ErrorCode::invalid_argument, "this session is empty: it was closed, detached or moved"};
}

// Releases the grant after an error. With Held::join, the session may have held the grant before
// the call, so the grant is kept.
void let_go(Guard& guard, Held held) {
    if (held == Held::join) {
        std::ignore = guard.detach();
    } else {
        std::ignore = guard.release();
    }
}

// Returns the items that have changed since their version in `seen`. Errors: as
// Session::reacquire_if_unchanged().
Result<std::vector<ItemChange>> changes_of(TableService& tables, const Guard& guard,
                                           const std::vector<ItemVersion>& seen) {
    std::vector<ItemChange> changes;
    for (const ItemVersion& each : seen) {
        const auto resource = resource_of(tables, each.table, each.key);
        if (!resource) return Error(resource.error());
        if (*resource && !covers_item(guard.grant(), **resource)) {
            return Error(ErrorCode::lock_required, "the lock does not cover \"" + **resource +
                                                       "\", which an item of " + each.table +
                                                       " belongs to");
        }
        auto now = read_item(tables, each.table, each.key, guard.proof());
        if (!now) return Error(now.error());
        if (now->version == each.version) continue;
        changes.push_back({each.table, std::make_shared<const AttributeMap>(each.key),
                           now->version == 0, std::move(now->last_write)});
    }
    return changes;
}

std::string sentence_about(const ItemChange& change) {
    std::string text = "an item of " + change.table;
    if (change.gone) return text + " was deleted";
    text += " was written";
    return change.last_write ? text + " by " + change.last_write->by : text;
}

// Returns the principals, each once: "ann, bob".
std::string principals_in(const std::vector<Holder>& holders) {
    std::vector<std::string_view> names;
    std::string text;
    for (const Holder& holder : holders) {
        if (std::find(names.begin(), names.end(), holder.principal) != names.end()) continue;
        names.push_back(holder.principal);
        text += (text.empty() ? "" : ", ") + holder.principal;
    }
    return text;
}

void add_later_holders(Error& error, std::vector<Holder> since) {
    if (!since.empty()) error.message += "; since then it was held by " + principals_in(since);
    error.blockers = std::move(since);
}

}  // namespace

Result<Edit> Session::begin_edit(TableService& tables, const EditRequest& wanted,
                                 AcquireOptions options, std::stop_token stop) {
    if (!kept_) return no_session();
    auto locks = locks_of(tables, wanted);
    if (!locks) return std::move(locks).error();
    const Held held = options.held;
    auto guard = acquire(*std::move(locks), std::move(options), std::move(stop));
    if (!guard) return std::move(guard).error();
    auto items = read_under(tables, kept_->service, guard->grant(), wanted.items);
    if (items) return Edit{*std::move(guard), *std::move(items)};
    let_go(*guard, held);
    return std::move(items).error();
}

Result<LockedItem> Session::acquire_item(TableService& tables, const ItemToLock& wanted,
                                         AcquireOptions options, std::stop_token stop) {
    auto edit = begin_edit(tables, {{wanted}}, std::move(options), std::move(stop));
    if (!edit) return std::move(edit).error();
    ItemUnderLock& found = edit->items.front();
    return LockedItem{std::move(edit->guard), std::move(found.item), found.version,
                      std::move(found.last_write)};
}

Result<Edit> Session::take_over(TableService& tables, GrantId grant, std::string_view reason,
                                const std::vector<ItemToLock>& items) {
    auto guard = steal(grant, reason);
    if (!guard) return std::move(guard).error();
    auto read = read_under(tables, kept_->service, guard->grant(), items);
    if (read) return Edit{*std::move(guard), *std::move(read)};
    std::ignore = guard->release();
    return std::move(read).error();
}

Result<Guard> Session::reacquire_if_untouched(const Grant& lost) {
    if (!kept_) return no_session();
    auto grant = kept_->service.ask(Reacquire{kept_->id, lost.id});
    if (!grant) {
        Error error = std::move(grant).error();
        if (error.code == ErrorCode::precondition_failed)
            add_later_holders(error, granted_since(lost));
        return error;
    }
    kept_->granted(*grant);
    return Guard(kept_, *std::move(grant));
}

Result<Guard> Session::reacquire_if_unchanged(TableService& tables, const Grant& lost,
                                              const std::vector<ItemVersion>& seen,
                                              AcquireOptions options, std::stop_token stop) {
    if (!kept_) return no_session();
    std::vector<LockRequest> locks;
    for (const GrantedLock& lock : lost.locks) {
        // Dependants are locked together with the resource that caused them.
        if (!lock.cause.empty()) continue;
        LockRequest& wanted = locks.emplace_back();
        wanted.resource = lock.resource;
        wanted.subtree = lock.subtree;
        wanted.permits = lock.permits;
        if (lock.permits == 0) wanted.mode = lock.mode;
    }
    options.held = Held::refuse;
    auto guard = acquire(std::move(locks), std::move(options), std::move(stop));
    if (!guard) return guard;
    auto changes = changes_of(tables, *guard, seen);
    if (!changes) {
        std::ignore = guard->release();
        return std::move(changes).error();
    }
    if (!still_held(kept_->service, guard->grant())) {
        std::ignore = guard->release();
        return lock_lost_error();
    }
    if (changes->empty()) return guard;
    auto since = granted_since(lost);
    std::erase_if(since, [&](const Holder& holder) { return holder.grant == guard->id(); });
    std::ignore = guard->release();
    Error error(ErrorCode::condition_failed, "changed since the lock was lost:");
    for (const ItemChange& change : *changes) {
        error.message += (&change == &changes->front() ? " " : "; ") + sentence_about(change);
    }
    error.changes = *std::move(changes);
    add_later_holders(error, std::move(since));
    return error;
}

std::vector<Holder> Session::granted_since(const Grant& lost) const {
    std::vector<Holder> since;
    for (const GrantedLock& lock : lost.locks) {
        std::optional<std::string_view> path = lock.resource;
        for (bool above = false; path; above = true, path = parent_path(*path)) {
            const auto page = kept_->service.history({std::string(*path), max_history_rows, {}});
            if (!page) continue;
            for (const HistoryRow& row : page->rows) {
                if (number(row.holder.grant) <= number(lost.id)) continue;
                if (!above || row.holder.subtree) since.push_back(row.holder);
            }
        }
    }
    std::sort(since.begin(), since.end(), [](const Holder& left, const Holder& right) {
        return number(left.grant) > number(right.grant);
    });
    const auto again =
        std::unique(since.begin(), since.end(), [](const auto& one, const auto& other) {
            return one.grant == other.grant && one.resource == other.resource;
        });
    since.erase(again, since.end());
    return since;
}

}  // namespace rocklock
