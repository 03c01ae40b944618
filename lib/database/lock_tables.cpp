#include "database/lock_tables.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "database/lock_items.hpp"
#include "lock/model/lock_query.hpp"
#include "lock/records/records.hpp"

namespace rocklock {
namespace {

// The indexes of the tables in tables().
enum : std::size_t { locks_table, sessions_table, history_table, classes_table };

std::string hash_of_key(const SystemTables::Key& key, const std::string& name) {
    const auto* value = key.key->find(name);
    const auto* text = value != nullptr ? value->get_if<std::string>() : nullptr;
    return text != nullptr ? *text : std::string();
}

// Returns none if no grant and no event can have this number.
std::optional<std::uint64_t> number_of_key(const SystemTables::Key& key, const std::string& name) {
    const auto* value = key.key->find(name);
    const auto* number = value != nullptr ? value->get_if<Number>() : nullptr;
    const auto whole = number != nullptr ? number->to_int64() : std::nullopt;
    if (!whole || *whole <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(*whole);
}

KeyRange keys_of(const SystemTables::Range& range) {
    return {range.first, range.last, range.forward, range.max_rows};
}

// Searches until the wanted number of items is found or there are no more. `search` returns one
// page at a time, and where to continue if it is not the last page.
template <typename Search>
Result<std::vector<Item>> all_in(const SystemTables::Range& range, const Search& search) {
    const KeyOfPosition key = [&](std::string_view resource, std::uint64_t number) {
        return range.order->position(resource, number);
    };
    KeyRange keys = keys_of(range);
    std::vector<Item> items;
    while (true) {
        const auto found = search(key, keys);
        if (!found) return Error(found.error());
        for (const auto& thing : found->things) items.push_back(item_of(thing));
        if (!found->more || items.size() >= range.max_rows) return items;
        std::string last = key(found->more->resource, found->more->grant);
        keys.max_rows = range.max_rows - items.size();
        if (range.forward) {
            keys.first = std::move(last) + '\0';
        } else {
            keys.last = std::move(last);
        }
    }
}

void rest_on(const SessionId& session, SystemRow& row) {
    row.depends_on.push_back({Family::locks, records::session_key(session)});
    // A renewal changes only the record of the deadline, and can make the lease shorter. The row
    // therefore depends on this record too.
    row.depends_on.push_back({Family::locks, records::deadline_key(session)});
}

void rest_on(const LookupKey& asked, SystemRow& row) {
    if (const auto* position = std::get_if<LockPosition>(&asked)) {
        row.depends_on.push_back({Family::locks, records::grant_key(GrantId{position->grant})});
    } else if (const auto* session = std::get_if<SessionId>(&asked)) {
        rest_on(*session, row);
    } else {
        const std::string& pattern = std::get<ClassKey>(asked).pattern;
        row.depends_on.push_back({Family::locks, records::class_key(pattern)});
    }
}

SystemRow row_of(const LookupKey& asked, const LookupResult& found) {
    SystemRow row;
    row.until = found.until;
    rest_on(asked, row);
    if (const auto* holder = std::get_if<Holder>(&found.found)) {
        row.item = item_of(*holder);
        // A session's grants end with it, but their records are written later. The row therefore
        // depends on the records of the session too.
        rest_on(holder->session, row);
    } else if (const auto* session = std::get_if<SessionView>(&found.found)) {
        row.item = item_of(*session);
    } else if (const auto* lock_class = std::get_if<LockClass>(&found.found)) {
        row.item = item_of(*lock_class);
    }
    return row;
}

// Returns the key to look up. Returns none for events, and if the key is invalid.
std::optional<LookupKey> lookup_key_of(const SystemTables::Key& key) {
    if (key.table == locks_table) {
        const auto grant = number_of_key(key, "Grant");
        if (!grant) return std::nullopt;
        return LockPosition{hash_of_key(key, "Resource"), *grant};
    }
    if (key.table == sessions_table) {
        const auto session = parse_session_id(hash_of_key(key, "Session"));
        if (!session) return std::nullopt;
        return *session;
    }
    if (key.table == classes_table) return ClassKey{hash_of_key(key, "Pattern")};
    return std::nullopt;
}

}  // namespace

const std::vector<SystemTable>& LockTables::tables() const {
    static const AttributeDefinition resource{"Resource", AttributeType::string};
    static const std::vector<SystemTable> all{
        {"rocklock.locks", resource, AttributeDefinition{"Grant", AttributeType::number}, true},
        {"rocklock.sessions", {"Session", AttributeType::string}, {}, false},
        {"rocklock.history", resource, AttributeDefinition{"Sequence", AttributeType::number},
         false},
        {"rocklock.classes", {"Pattern", AttributeType::string}, {}, true},
    };
    return all;
}

Result<std::vector<SystemRow>> LockTables::get(const std::vector<Key>& keys) {
    std::vector<SystemRow> rows(keys.size());
    std::vector<LookupKey> lookup_keys;
    std::vector<std::size_t> asked;
    std::vector<AskedEvent> events;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (auto lookup_key = lookup_key_of(keys[i])) {
            lookup_keys.push_back(*std::move(lookup_key));
            asked.push_back(i);
        } else if (keys[i].table == history_table) {
            // Sequences begin at 1, so 0 finds no event.
            events.push_back({i, hash_of_key(keys[i], "Resource"),
                              number_of_key(keys[i], "Sequence").value_or(0)});
        }
    }
    const auto found = manager_.lookup(lookup_keys);
    if (!found) return Error(found.error());
    for (std::size_t i = 0; i < asked.size(); ++i) {
        rows[asked[i]] = row_of(lookup_keys[i], (*found)[i]);
    }
    if (events.empty()) return rows;
    if (auto added = add_events(events, rows); !added) return std::move(added).error();
    return rows;
}

Result<void> LockTables::add_events(const std::vector<AskedEvent>& asked,
                                    std::vector<SystemRow>& rows) {
    std::vector<std::uint64_t> sequences;
    for (const auto& event : asked) sequences.push_back(event.sequence);
    const auto events = manager_.events_at(sequences);
    if (!events) return Error(events.error());
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto& event = (*events)[i];
        if (event && event->resource == asked[i].resource)
            rows[asked[i].row].item = item_of(*event);
    }
    return {};
}

Result<std::vector<Item>> LockTables::scan(const Range& range) {
    switch (range.table) {
        case locks_table:
            return scan_locks(range);
        case sessions_table:
            return scan_sessions(range);
        case history_table:
            return scan_history(range);
        default:
            return scan_classes(range);
    }
}

Result<std::vector<Item>> LockTables::scan_locks(const Range& range) {
    return all_in(range, [&](const KeyOfPosition& key, KeyRange keys) {
        return manager_.held({range.hash, key, std::move(keys)});
    });
}

Result<std::vector<Item>> LockTables::scan_history(const Range& range) {
    return all_in(range, [&](const KeyOfPosition& key, KeyRange keys) {
        return manager_.events({range.hash, key, std::move(keys)});
    });
}

Result<std::vector<Item>> LockTables::scan_sessions(const Range& range) {
    const auto sessions = manager_.sessions({});
    if (!sessions) return Error(sessions.error());
    FirstInRange<const SessionView*> first(keys_of(range));
    for (const SessionView& session : *sessions) {
        first.offer(range.order->position(to_string(session.id)), &session);
    }
    std::vector<Item> items;
    for (const SessionView* session : first.take()) items.push_back(item_of(*session));
    return items;
}

Result<std::vector<Item>> LockTables::scan_classes(const Range& range) {
    const auto classes = manager_.classes();
    // lookup() returns after all earlier decisions are committed. A class must not be shown before
    // that.
    if (auto committed = manager_.lookup({}); !committed) return std::move(committed).error();
    FirstInRange<const LockClass*> first(keys_of(range));
    for (const LockClass& lock_class : classes) {
        first.offer(range.order->position(lock_class.pattern), &lock_class);
    }
    std::vector<Item> items;
    for (const LockClass* lock_class : first.take()) items.push_back(item_of(*lock_class));
    return items;
}

}  // namespace rocklock
