#include "table/guard/draft_record.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/item_codec.hpp"
#include "item/key_codec.hpp"

namespace rocklock::table {

std::string drafts_prefix(std::string_view principal) {
    return std::string(draft_prefix).append(principal) + end_of_principal;
}

std::string draft_key(std::string_view principal, std::uint64_t draft) {
    std::string key = drafts_prefix(principal);
    append_u64(key, draft);
    return key;
}

std::string locations_prefix(std::string_view principal) {
    return std::string(location_prefix).append(principal) + end_of_principal;
}

std::string location_key(std::string_view principal, Token token, std::string_view row) {
    std::string key = locations_prefix(principal);
    append_u64(key, number(token));
    key += row;
    return key;
}

std::string mark_key(std::string_view principal) {
    return std::string(mark_prefix).append(principal);
}

namespace {

using Kind = WriteItem::Kind;

// The size of the largest item, and space for expressions.
constexpr std::size_t max_draft_bytes = 512U << 10;

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

// Appends 1 and then calls `append`, or appends 0 if there is no value.
template <typename T, typename Append>
void append_maybe(std::string& out, const std::optional<T>& maybe, const Append& append) {
    append_u8(out, maybe ? 1 : 0);
    if (maybe) append(*maybe);
}

// As append_maybe(), with the number of elements and each element.
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

// Appends a user. The number of a user of the manager's host has 4 bytes, as in stores of earlier
// versions; the number of a user of another host has 8 bytes.
void append_user(std::string& out, UserId user) {
    if (node_number_of(user) == 0) return append_u32(out, uid_of(user));
    append_u64(out, user);
}

// Reads a user, which is followed by `bytes_after` bytes until the end of the record.
std::optional<UserId> read_user(Reader& reader, std::size_t bytes_after) {
    if (reader.rest().size() != sizeof(std::uint32_t) + bytes_after) return reader.u64();
    const auto uid = reader.u32();
    return uid ? std::optional(UserId{*uid}) : std::nullopt;
}

// Reads the parts of a record. If a part is invalid, sets `damaged_` and returns a default value.
class DraftReader {
public:
    explicit DraftReader(std::string_view bytes) : reader_(bytes) {}

    // Reads a user at the end of the record.
    UserId user() { return known(read_user(reader_, 0)); }
    std::uint64_t u64() { return known(reader_.u64()); }
    WallTime time() {
        return WallTime(std::chrono::milliseconds(static_cast<std::int64_t>(u64())));
    }
    std::string text() { return std::string(known(reader_.string())); }
    // Reads an enumerator; `last` is the last valid one.
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
    bool at_end() const { return damaged_ || reader_.rest().empty(); }
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
    // The order is defined: initializers in braces are evaluated from left to right.
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

}  // namespace

bool fits_draft(const WriteItem& write) {
    std::string bytes;
    append_write(bytes, write);
    return bytes.size() <= max_draft_bytes;
}

std::string encode_location(const DraftLocation& location) {
    ROCKLOCK_ASSERT(location.draft != 0);
    std::string value;
    append_u64(value, location.draft);
    if (!location.user) return value;
    append_user(value, *location.user);
    append_u64(value, static_cast<std::uint64_t>(location.bytes));
    return value;
}

Result<DraftLocation> decode_location(std::string_view value) {
    Reader reader(value);
    DraftLocation location;
    location.draft = reader.u64().value_or(0);
    if (reader.ok() && !reader.rest().empty()) {
        location.user = read_user(reader, sizeof(std::int64_t));
        location.bytes = static_cast<std::int64_t>(reader.u64().value_or(0));
    }
    if (!reader.done())
        return Error(ErrorCode::corrupt, "the record of the position of a draft is damaged");
    return location;
}

std::string encode_draft(const KeptWrite& kept, std::uint64_t draft, WallTime now) {
    ROCKLOCK_ASSERT(draft != 0 && !kept.row.empty());
    std::string value;
    append_u64(value, draft);
    append_time(value, now);
    append_u64(value, number(*kept.request->proof->token));
    append_string(value, kept.row);
    append_string(value, kept.late.resource);
    append_write(value, *kept.request);
    append_user(value, kept.late.uid);
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
    if (!in.at_end()) stored.owner = in.user();
    if (in.damaged()) return Error(ErrorCode::corrupt, "a draft is damaged");
    return stored;
}

bool is_too_old(const Draft& draft, WallTime now, std::chrono::milliseconds age) {
    return now - draft.at >= age;
}

bool may_see(const std::optional<UserId>& only_of, const StoredDraft& stored) {
    return !only_of || stored.owner == only_of;
}

Error no_such_draft(const std::string& principal, DraftId draft) {
    return {ErrorCode::resource_not_found,
            "there is no draft " + std::to_string(number(draft)) + " of " + principal +
                ": it never existed, or it was taken, discarded, saved or replaced by a newer one"};
}

}  // namespace rocklock::table
