// Locks and the items under them, in one step: read-and-lock, and getting a lost lock back.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <rocklock/session.hpp>

#include "database/session_keeper.hpp"
#include "lock/fence.hpp"
#include "lock/names.hpp"
#include "table/binding.hpp"
#include "table/schema.hpp"

namespace rocklock {

namespace {

// How far back it is looked who had a lock since.
constexpr std::uint32_t most_told = 100;

Error no_session() {
    return {ErrorCode::invalid_argument, "this session is empty: it was closed, detached or moved"};
}

// What was joined was held before, and stays.
void let_go(Guard& guard, Held held) {
    if (held == Held::join) {
        std::ignore = guard.detach();
    } else {
        std::ignore = guard.release();
    }
}

// Whether all of it is held by the session at this moment, so that nobody else has written under it
// up to now.
bool held_still(const KeptSession& kept, const Grant& grant) {
    return std::all_of(grant.locks.begin(), grant.locks.end(), [&](const GrantedLock& lock) {
        return lock.permits > 0 || kept.service.holds(kept.id, lock.resource, lock.mode);
    });
}

Error lost_meanwhile() {
    return {ErrorCode::grant_ended, "the lock was lost while its item was read: acquire it again"};
}

bool covers_item(const Grant& grant, std::string_view resource) {
    return std::any_of(grant.locks.begin(), grant.locks.end(), [&](const GrantedLock& lock) {
        if (lock.permits > 0) return false;
        return lock.resource == resource || (lock.subtree && lies_below(resource, lock.resource));
    });
}

// Errors: invalid_argument  it is not the key of an item of the table
Result<table::KeyParts> key_parts(const TableDescription& described, const AttributeMap& key) {
    table::KeyParts parts;
    bool fits = key.size() == described.key.size();
    for (const KeyElement& element : described.key) {
        const auto definition = std::find_if(
            described.attributes.begin(), described.attributes.end(),
            [&](const auto& attribute) { return attribute.name == element.attribute; });
        const AttributeValue* value = key.find(element.attribute);
        fits = fits && value != nullptr && value->type() == definition->type;
        if (element.type == KeyType::hash) {
            parts.hash = *definition;
        } else {
            parts.range = *definition;
        }
    }
    if (fits) return parts;
    return Error(ErrorCode::invalid_argument,
                 "the key does not fit table " + described.name + ": give its key attributes");
}

// The one that an item belongs to; nothing where its table is not bound.
Result<std::optional<std::string>> resource_of(TableService& tables, const std::string& table,
                                               const AttributeMap& key) {
    const auto described = tables.describe_table(table);
    if (!described) return Error(described.error());
    const auto parts = key_parts(*described, key);
    if (!parts) return Error(parts.error());
    const auto bindings = tables.list_bindings();
    if (!bindings) return Error(bindings.error());
    const auto bound = std::find_if(bindings->begin(), bindings->end(), [&](const auto& binding) {
        return binding.table == described->name;
    });
    if (bound == bindings->end()) return std::optional<std::string>();
    const auto parsed = table::ResourceTemplate::parse(bound->resource, *parts);
    if (!parsed) return Error(parsed.error());
    return std::optional(parsed->resource_of(key));
}

Result<GetAnswer> read_under(TableService& tables, const std::string& table,
                             const AttributeMap& key, const Guard& guard) {
    GetItem get;
    get.table = table;
    get.key = key;
    get.consistent = true;
    get.proof = guard.proof();
    return tables.get_item(get);
}

// What of the items is not as it was seen. Errors: as Session::reacquire_if_unchanged().
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
        auto now = read_under(tables, each.table, each.key, guard);
        if (!now) return Error(now.error());
        if (now->version == each.version) continue;
        changes.push_back({each.table, std::make_shared<const AttributeMap>(each.key),
                           now->version == 0, std::move(now->last_write)});
    }
    return changes;
}

std::string sentence_about(const ItemChange& change) {
    std::string text = "an item of " + change.table;
    if (change.gone) return text + " is gone";
    text += " was written";
    return change.last_write ? text + " by " + change.last_write->by : text;
}

// "ann, bob": each principal once.
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

void tell_since(Error& error, std::vector<Holder> since) {
    if (!since.empty()) error.message += "; since then it was held by " + principals_in(since);
    error.blockers = std::move(since);
}

}  // namespace

Result<LockedItem> Session::acquire_item(TableService& tables, const ItemToLock& wanted,
                                         AcquireOptions options, std::stop_token stop) {
    if (!kept_) return no_session();
    const auto resource = resource_of(tables, wanted.table, wanted.key);
    if (!resource) return Error(resource.error());
    if (!*resource) {
        return Error(ErrorCode::invalid_argument,
                     "table " + wanted.table +
                         " is not bound to resources, so no lock keeps others from writing: bind "
                         "it, or acquire a lock and read the item by yourself");
    }
    const Held held = options.held;
    LockRequest lock;
    lock.resource = **resource;
    lock.mode = wanted.mode;
    lock.to = wanted.to;
    auto guard = acquire({std::move(lock)}, std::move(options), std::move(stop));
    if (!guard) return std::move(guard).error();
    const auto refuse = [&](Error error) -> Result<LockedItem> {
        let_go(*guard, held);
        return error;
    };
    if (!covers_item(guard->grant(), **resource)) {
        return refuse(
            {ErrorCode::kind_mismatch, "\"" + **resource + "\" has permits, which lock no item"});
    }
    // Behind the grant: what others were let in to write is committed by now, or never will be.
    auto answer = read_under(tables, wanted.table, wanted.key, *guard);
    if (!answer) return refuse(std::move(answer).error());
    const auto resource_now = resource_of(tables, wanted.table, wanted.key);
    if (!resource_now) return refuse(resource_now.error());
    if (*resource_now != *resource) {
        return refuse(
            {ErrorCode::resource_in_use,
             "table " + wanted.table + " was bound to something else just now: ask again"});
    }
    if (!held_still(*kept_, guard->grant())) return refuse(lost_meanwhile());
    return LockedItem{*std::move(guard), std::move(answer->item), answer->version,
                      std::move(answer->last_write)};
}

Result<Guard> Session::reacquire_if_untouched(const Grant& lost) {
    if (!kept_) return no_session();
    auto grant = kept_->service.ask(Reacquire{kept_->id, lost.id});
    if (!grant) {
        Error error = std::move(grant).error();
        if (error.code == ErrorCode::precondition_failed) tell_since(error, granted_since(lost));
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
        // Dependants come along by themselves.
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
    if (!held_still(*kept_, guard->grant())) {
        std::ignore = guard->release();
        return lost_meanwhile();
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
    tell_since(error, std::move(since));
    return error;
}

std::vector<Holder> Session::granted_since(const Grant& lost) const {
    std::vector<Holder> since;
    for (const GrantedLock& lock : lost.locks) {
        std::optional<std::string_view> path = lock.resource;
        for (bool above = false; path; above = true, path = parent_path(*path)) {
            const auto page = kept_->service.history({std::string(*path), most_told, {}});
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
