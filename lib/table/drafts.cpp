// ListDrafts, TakeDraft, DiscardDraft, and how a draft is stored.
#include "table/drafts.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes.hpp"
#include "item/item_codec.hpp"
#include "item/key_codec.hpp"
#include "table/faults.hpp"
#include "table/table_store.hpp"

namespace rocklock::table {
namespace {

using Kind = WriteItem::Kind;

// Of a page, and of what a sweep removes in one commit.
constexpr std::size_t most_page_bytes = 1U << 20;
constexpr std::size_t thrown_away_at_once = 25;
// The largest item, and room for expressions.
constexpr std::size_t most_draft_bytes = 512U << 10;

// No principal has the byte that follows it.
constexpr std::string_view draft_prefix = "draft ";
constexpr std::string_view place_prefix = "draft-of ";
constexpr std::string_view mark_prefix = "drafts ";
constexpr std::string_view marks_end = "drafts!";
constexpr char end_of_principal = '\0';

std::string drafts_prefix(std::string_view principal) {
    return std::string(draft_prefix).append(principal) + end_of_principal;
}

std::string draft_key(std::string_view principal, std::uint64_t draft) {
    std::string key = drafts_prefix(principal);
    append_u64(key, draft);
    return key;
}

std::string places_prefix(std::string_view principal) {
    return std::string(place_prefix).append(principal) + end_of_principal;
}

std::string place_key(std::string_view principal, Token token, std::string_view row) {
    std::string key = places_prefix(principal);
    append_u64(key, number(token));
    key += row;
    return key;
}

std::string mark_key(std::string_view principal) {
    return std::string(mark_prefix).append(principal);
}

std::unique_ptr<Snapshot::Cursor> scan_prefix(const Snapshot& snapshot, const std::string& prefix) {
    return snapshot.scan(Family::meta, prefix, end_of_prefix(prefix));
}

// ---- A draft as it is stored ----

void append_time(std::string& out, WallTime time) {
    append_u64(out, static_cast<std::uint64_t>(time.time_since_epoch().count()));
}

void append_packed(std::string& out, const AttributeMap& map) {
    std::string bytes;
    append_item(bytes, map);
    append_string(out, bytes);
}

void append_packed(std::string& out, const AttributeValue& value) {
    std::string bytes;
    append_value(bytes, value);
    append_string(out, bytes);
}

// 1 and what `append` appends, or 0.
template <typename T, typename Append>
void append_maybe(std::string& out, const std::optional<T>& maybe, const Append& append) {
    append_u8(out, maybe ? 1 : 0);
    if (maybe) append(*maybe);
}

// As append_maybe(): how many, and each.
template <typename T, typename Append>
void append_list(std::string& out, const std::optional<std::vector<T>>& maybe,
                 const Append& append) {
    append_maybe(out, maybe, [&](const std::vector<T>& list) {
        append_varint(out, list.size());
        for (const T& each : list) append(each);
    });
}

void append_write(std::string& out, const WriteItem& write) {
    const auto text = [&](const std::string& value) { append_string(out, value); };
    const auto bytes = [&](const AttributeValue& value) { append_packed(out, value); };
    const auto byte = [&](auto value) { append_u8(out, static_cast<std::uint8_t>(value)); };
    text(write.table);
    byte(write.kind);
    append_packed(out, write.item);
    append_maybe(out, write.expected_version,
                 [&](std::uint64_t version) { append_u64(out, version); });
    const ExpressionParameters& asked = write.expressions;
    append_maybe(out, asked.update, text);
    append_maybe(out, asked.condition, text);
    append_list(out, asked.placeholders.names, [&](const NamePlaceholder& each) {
        text(each.placeholder);
        text(each.name);
    });
    append_list(out, asked.placeholders.values, [&](const ValuePlaceholder& each) {
        text(each.placeholder);
        bytes(each.value);
    });
    append_list(out, asked.attribute_updates, [&](const AttributeUpdate& each) {
        text(each.attribute);
        byte(each.action);
        append_maybe(out, each.value, bytes);
    });
    append_list(out, asked.expected, [&](const ExpectedAttribute& each) {
        text(each.attribute);
        append_maybe(out, each.value, bytes);
        append_maybe(out, each.exists, byte);
        append_maybe(out, each.comparison, byte);
        append_list(out, each.values, bytes);
    });
    append_maybe(out, asked.conditional_operator, byte);
}

// Reads the parts of a record; what is not as it should be is remembered.
class DraftReader {
public:
    explicit DraftReader(std::string_view bytes) : reader_(bytes) {}

    std::uint64_t u64() { return known(reader_.u64()); }
    WallTime time() {
        return WallTime(std::chrono::milliseconds(static_cast<std::int64_t>(u64())));
    }
    std::string text() { return std::string(known(reader_.string())); }
    // A byte up to the last one that there is.
    template <typename Enum>
    Enum word(Enum last) {
        const std::uint8_t value = known(reader_.u8());
        if (value > static_cast<std::uint8_t>(last)) damaged_ = true;
        return damaged_ ? Enum() : static_cast<Enum>(value);
    }
    bool truth() { return word(std::uint8_t{1}) == 1; }
    AttributeMap map() { return decoded(decode_item(known(reader_.string()))); }
    AttributeValue value() { return decoded(decode_value(known(reader_.string()))); }
    template <typename Read>
    auto maybe(const Read& read) {
        std::optional<decltype(read())> there;
        if (truth()) there = read();
        return there;
    }
    template <typename Read>
    auto list(const Read& read) {
        return maybe([&] {
            std::vector<decltype(read())> all;
            const auto count = known(reader_.varint());
            for (std::uint64_t i = 0; i < count && !damaged_; ++i) all.push_back(read());
            return all;
        });
    }
    bool damaged() const { return damaged_ || !reader_.done(); }

private:
    template <typename T>
    T known(const std::optional<T>& value) {
        if (!value) damaged_ = true;
        return value.value_or(T());
    }
    template <typename T>
    T decoded(Result<T> read) {
        if (!read) damaged_ = true;
        return read ? *std::move(read) : T();
    }

    Reader reader_;
    bool damaged_ = false;
};

WriteItem read_kept_write(DraftReader& in) {
    const auto text = [&] { return in.text(); };
    const auto value = [&] { return in.value(); };
    WriteItem write;
    write.table = in.text();
    write.kind = in.word(Kind::remove);
    write.item = in.map();
    write.expected_version = in.maybe([&] { return in.u64(); });
    ExpressionParameters& asked = write.expressions;
    asked.update = in.maybe(text);
    asked.condition = in.maybe(text);
    // In the braces from left to right.
    asked.placeholders.names = in.list([&] { return NamePlaceholder{in.text(), in.text()}; });
    asked.placeholders.values = in.list([&] { return ValuePlaceholder{in.text(), in.value()}; });
    asked.attribute_updates = in.list([&] {
        return AttributeUpdate{in.text(), in.word(AttributeUpdate::Action::remove),
                               in.maybe(value)};
    });
    asked.expected = in.list([&] {
        return ExpectedAttribute{in.text(), in.maybe(value), in.maybe([&] { return in.truth(); }),
                                 in.maybe([&] { return in.word(ComparisonOperator::begins_with); }),
                                 in.list(value)};
    });
    asked.conditional_operator = in.maybe([&] { return in.word(ConditionalOperator::any); });
    return write;
}

struct StoredDraft {
    Draft draft;
    std::string row;
};

std::string encode_draft(const KeptWrite& kept, std::uint64_t draft, WallTime now) {
    std::string value;
    append_u64(value, draft);
    append_time(value, now);
    append_u64(value, number(*kept.request->proof->token));
    append_string(value, kept.row);
    append_string(value, kept.late.resource);
    append_write(value, *kept.request);
    return value;
}

Result<StoredDraft> decode_draft(std::string_view principal, std::string_view value) {
    StoredDraft stored;
    Draft& draft = stored.draft;
    DraftReader in(value);
    draft.id = DraftId{in.u64()};
    draft.principal = principal;
    draft.at = in.time();
    draft.token = Token{in.u64()};
    stored.row = in.text();
    draft.resource = in.text();
    draft.write = read_kept_write(in);
    if (in.damaged()) return Error(ErrorCode::corrupt, "a draft is damaged");
    return stored;
}

bool is_too_old(const Draft& draft, WallTime now) { return now - draft.at >= limits::draft_age; }

// ---- Keeping and removing ----

Error no_such_draft(const std::string& principal, DraftId draft) {
    return {ErrorCode::resource_not_found,
            "there is no draft " + std::to_string(number(draft)) + " of " + principal +
                ": it never was, or it was taken, discarded or saved, or has given way to a newer "
                "one"};
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

bool fits_draft(const WriteItem& write) {
    std::string bytes;
    append_write(bytes, write);
    return bytes.size() <= most_draft_bytes;
}

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

Result<void> TableStore::save_from(const std::vector<DraftId>& drafts,
                                   const std::vector<std::string>& writers, Batch& batch) const {
    if (drafts.empty()) return {};
    if (writers.empty()) {
        return fault("To save a draft, show the session and token of a lock that covers its item");
    }
    const auto snapshot = storage_.snapshot();
    for (const DraftId draft : drafts) {
        const auto again = std::count(drafts.begin(), drafts.end(), draft);
        if (again > 1) return fault("A draft can be saved once only, and is named twice");
        auto removed = remove_draft(*snapshot, writers, draft, clock_.now().wall, batch);
        if (!removed) return std::move(removed).error();
    }
    return {};
}

Result<DraftPage> TableStore::list_drafts(const DraftsRequest& request) {
    if (request.limit == 0 || request.limit > limits::drafts_per_principal) {
        return fault("The limit of a page of drafts must be from 1 to " +
                     std::to_string(limits::drafts_per_principal));
    }
    DraftPage page;
    // Behind it begins what would be another's name.
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
        if (is_too_old(stored->draft, now)) continue;
        if (page.drafts.size() == request.limit || bytes >= most_page_bytes) {
            page.next = stored->draft.id;
            return page;
        }
        bytes += cursor->value().size();
        page.drafts.push_back(std::move(stored->draft));
    }
    if (auto status = cursor->status(); !status) return std::move(status).error();
    return page;
}

Result<Draft> TableStore::take_draft(const std::string& principal, DraftId draft) {
    if (principal.find(end_of_principal) != std::string::npos) {
        return no_such_draft(principal, draft);
    }
    Draft taken;
    const auto decide = [&]() -> Result<Decision> {
        Decision decision;
        auto removed = remove_draft(*storage_.snapshot(), {principal}, draft, clock_.now().wall,
                                    decision.batch);
        if (!removed) return std::move(removed).error();
        taken = *std::move(removed);
        return decision;
    };
    auto committed =
        commit_decision({draft_key(principal, number(draft))}, options_.durability, decide);
    if (!committed) return std::move(committed).error();
    return taken;
}

Result<void> TableStore::discard_draft(const std::string& principal, DraftId draft) {
    auto taken = take_draft(principal, draft);
    if (!taken) return std::move(taken).error();
    return {};
}

}  // namespace rocklock::table
