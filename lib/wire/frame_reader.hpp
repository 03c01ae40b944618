// Reads the members of frames into values. The functions describe() and describe_call() of
// lock_members.hpp call a FrameReader for each member.
//
// The bytes are untrusted. Every length is compared with the number of remaining bytes before it is
// used. The size of allocated memory depends on the number of received bytes, and not on counts
// that these bytes contain. The first problem is kept, with the path of the member. Values that are
// read after a problem must not be used.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <rocklock/lock.hpp>

#include "base/bytes.hpp"
#include "lock/model/names.hpp"
#include "wire/draft_json.hpp"
#include "wire/first_problem.hpp"
#include "wire/frame_tag.hpp"
#include "wire/frame_writer.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/lock_members.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {

// The path of a member. It is converted to text only if a problem must be reported.
struct MemberPath {
    const MemberPath* above = nullptr;
    std::string_view name;
    std::optional<std::size_t> index{};

    std::string text() const {
        std::string way = above == nullptr ? std::string() : above->text() + ".";
        way += name;
        if (index) way += "[" + std::to_string(*index) + "]";
        return way;
    }
};

class FrameReader {
public:
    static constexpr bool reading = true;

    // Finds all members in `bytes`. A strict reader, which is used for calls, reports unknown
    // members, texts that are not UTF-8, and lists of more than 10,000 elements.
    FrameReader(std::string_view bytes, bool strict, FirstProblem& problem,
                const MemberPath* where = nullptr)
        : strict_(strict), problem_(problem), where_(where) {
        if (!index(bytes)) refuse("its bytes are not members of a frame");
    }

    template <typename T>
    void required(FrameTag tag, T& value) {
        Member* member = find(tag, is_frame_number<T>);
        if (member != nullptr) return read(*member, {where_, tag.name}, value);
        problem_.report(MemberPath{where_, tag.name}.text() + " is missing");
    }
    template <typename T>
    void optional(FrameTag tag, T& value) {
        Member* member = find(tag, is_frame_number<T>);
        if (member != nullptr) read(*member, {where_, tag.name}, value);
    }
    template <typename T>
    void defaulted(FrameTag tag, T& value) {
        optional(tag, value);
    }
    // Reads a wait timeout. A timeout of -1, or longer than `max_wait`, is read as `no_limit`.
    void patience(FrameTag tag, std::chrono::milliseconds& value) {
        Member* member = find(tag, true);
        if (member == nullptr) return;
        read(*member, {where_, tag.name}, value);
        if (value.count() == -1 || value > max_wait) value = no_limit;
    }
    // Reads an optional value. Its members are stored directly among the members of this frame, not
    // in a nested frame. The value is present if the member `tag` is present.
    template <typename T>
    void flat_optional(FrameTag tag, std::optional<T>& value) {
        if (!has(tag)) return;
        T flat{};
        describe(*this, flat);
        value = std::move(flat);
    }

    bool has(FrameTag tag) const {
        if ((present_ & bit_of(tag.number)) == 0) return false;
        return std::any_of(members_.begin(), members_.begin() + count_,
                           [&](const Member& member) { return member.tag >> 1 == tag.number; });
    }

    void refuse(std::string_view what) {
        problem_.report(where_ == nullptr ? std::string(what)
                                          : where_->text() + ": " + std::string(what));
    }

    // Must be called after all members were read. A strict reader then reports the first member
    // that was not read, if there is one.
    void finish() {
        if (!strict_) return;
        for (std::size_t i = 0; i < count_; ++i) {
            if (members_[i].taken) continue;
            return refuse("a member with the number " + std::to_string(members_[i].tag >> 1) +
                          " is unknown in this object");
        }
    }

private:
    static constexpr std::size_t max_members = 64;
    static constexpr std::uint64_t max_elements = 10'000;
    static constexpr std::int64_t max_exact = (std::int64_t{1} << 53) - 1;
    // 100 years. A longer wait timeout is treated as no limit.
    static constexpr std::chrono::milliseconds max_wait = std::chrono::hours{24 * 36'525};

    // One member, or one element of a list. Its value is a number or bytes. For speed, the fields
    // are not initialized. index() and take() set those fields that are used.
    struct Member {
        std::uint16_t tag;
        bool taken;
        std::uint64_t number;
        const char* data;
        std::size_t size;

        std::string_view bytes() const { return {data, size}; }
    };

    static constexpr std::uint64_t bit_of(unsigned number) {
        return std::uint64_t{1} << (number % 64);
    }

    static bool take(Reader& reader, bool is_number, Member& member) {
        if (is_number) {
            const auto number = reader.varint();
            member.number = number.value_or(0);
            return number.has_value();
        }
        const auto bytes = reader.string();
        if (!bytes) return false;
        member.data = bytes->data();
        member.size = bytes->size();
        return true;
    }

    // Finds all members. Returns false if the bytes cannot be parsed.
    bool index(std::string_view bytes) {
        Reader reader(bytes);
        while (!reader.done()) {
            const auto tag = reader.u16();
            if (!tag || count_ == max_members) return false;
            Member& member = members_[count_];
            member.tag = *tag;
            member.taken = false;
            if (!take(reader, (*tag & 1) == 0, member)) return false;
            present_ |= bit_of(*tag >> 1);
            ++count_;
        }
        return true;
    }

    // Returns the member, or null if it is absent. Writer and reader use the same order of members.
    // Therefore, the search begins after the last member that was found.
    Member* find(FrameTag tag, bool is_number) {
        if ((present_ & bit_of(tag.number)) == 0) return nullptr;
        const unsigned wanted = tag.number * 2U + (is_number ? 0U : 1U);
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t at = next_ + i < count_ ? next_ + i : next_ + i - count_;
            if (members_[at].tag != wanted || members_[at].taken) continue;
            members_[at].taken = true;
            next_ = at + 1;
            return &members_[at];
        }
        return nullptr;
    }

    void report(const MemberPath& path, std::string_view what) {
        problem_.report(path.text() + " must be " + std::string(what));
    }
    // Reports why attributes could not be parsed. If they are valid JSON with a value that is not
    // permitted, the reported text is the message of DynamoDB for this fault.
    void report(const MemberPath& path, const Error& fault) {
        if (fault.code == ErrorCode::malformed)
            return report(path, "attributes as JSON: " + fault.message);
        problem_.report(fault.message);
    }

    void read(const Member& member, const MemberPath& path, bool& value) {
        if (member.number > 1) return report(path, "true or false");
        value = member.number == 1;
    }
    template <typename T>
    requires std::is_unsigned_v<T>
    void read(const Member& member, const MemberPath& path, T& value) {
        if (member.number > std::numeric_limits<T>::max()) return report(path, "smaller");
        value = static_cast<T>(member.number);
    }
    template <typename T>
    requires(std::is_signed_v<T>&& std::is_integral_v<T>) void read(const Member& member,
                                                                    const MemberPath& path,
                                                                    T& value) {
        const std::int64_t number = unzigzag(member.number);
        if (number > std::numeric_limits<T>::max() || number < std::numeric_limits<T>::min()) {
            return report(path, "smaller");
        }
        value = static_cast<T>(number);
    }
    void read(const Member& member, const MemberPath& /*path*/, double& value) {
        value = std::bit_cast<double>(member.number);
    }
    void read(const Member& member, const MemberPath& path, AttributeMap& value) {
        auto item = parse_item(member.bytes());
        if (!item) return report(path, item.error());
        value = *std::move(item);
    }
    void read(const Member& member, const MemberPath& path, AttributeValue& value) {
        auto parsed = parse_attribute_value(member.bytes());
        if (!parsed) return report(path, parsed.error());
        value = *std::move(parsed);
    }
    void read(const Member& member, const MemberPath& /*path*/, Token& value) {
        value = Token{member.number};
    }
    void read(const Member& member, const MemberPath& /*path*/, GrantId& value) {
        value = GrantId{member.number};
    }
    void read(const Member& member, const MemberPath& /*path*/, DraftId& value) {
        value = DraftId{member.number};
    }
    // Reads the write of a draft. Keeps `value.expected_version`, which the caller has already read
    // from another member of the draft.
    void read(const Member& member, const MemberPath& path, WriteItem& value) {
        auto write = parse_draft_action(member.bytes());
        if (!write) return report(path, "an action of TransactWriteItems as JSON");
        write->expected_version = value.expected_version;
        value = *std::move(write);
    }
    template <typename T>
    requires std::is_enum_v<T>
    void read(const Member& member, const MemberPath& path, T& value) {
        for (const auto& [known, spelled] : words_of(T{})) {
            if (static_cast<std::uint64_t>(known) != member.number) continue;
            value = known;
            return;
        }
        std::string allowed = "one of";
        for (const auto& [known, spelled] : words_of(T{})) {
            allowed += " " + std::to_string(static_cast<unsigned>(known)) + " (";
            allowed += spelled;
            allowed += ")";
        }
        report(path, allowed);
    }
    void read(const Member& member, const MemberPath& path, std::chrono::milliseconds& value) {
        std::int64_t count = 0;
        if (exact(member, path, count)) value = std::chrono::milliseconds{count};
    }
    void read(const Member& member, const MemberPath& path, WallTime& value) {
        std::int64_t count = 0;
        if (exact(member, path, count)) value = WallTime{std::chrono::milliseconds{count}};
    }
    void read(const Member& member, const MemberPath& /*path*/, std::chrono::nanoseconds& value) {
        value = std::chrono::nanoseconds{unzigzag(member.number)};
    }
    void read(const Member& member, const MemberPath& /*path*/, BootTime& value) {
        value = BootTime{std::chrono::nanoseconds{unzigzag(member.number)}};
    }
    bool exact(const Member& member, const MemberPath& path, std::int64_t& value) {
        value = unzigzag(member.number);
        if (value <= max_exact && value >= -max_exact) return true;
        report(path, "a whole number below 2^53");
        return false;
    }

    void read(const Member& member, const MemberPath& path, std::string& value) {
        if (strict_ && !is_utf8(member.bytes())) return report(path, "valid UTF-8");
        value = member.bytes();
    }
    void read(const Member& member, const MemberPath& path, SessionId& value) {
        read_raw(member, path, value.bytes);
    }
    void read(const Member& member, const MemberPath& path, Secret& value) {
        read_raw(member, path, value.bytes);
    }
    template <std::size_t size>
    void read_raw(const Member& member, const MemberPath& path,
                  std::array<std::uint8_t, size>& value) {
        if (member.size != size) return report(path, std::to_string(size) + " bytes");
        std::copy_n(member.data, size, reinterpret_cast<char*>(value.data()));
    }
    void read(const Member& member, const MemberPath& path, Metadata& value) {
        Reader reader(member.bytes());
        value.clear();
        const auto count = reader.varint().value_or(0);
        for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
            const auto name = reader.string();
            const auto text = reader.string();
            if (!name || !text) break;
            if (strict_ && (!is_utf8(*name) || !is_utf8(*text))) {
                return report(path, "valid UTF-8");
            }
            value.insert_or_assign(std::string(*name), std::string(*text));
        }
        if (!reader.done()) report(path, "as many pairs of texts as its count");
    }
    template <typename T>
    void read(const Member& member, const MemberPath& path, std::optional<T>& value) {
        T there{};
        read(member, path, there);
        value = std::move(there);
    }
    template <typename T>
    void read(const Member& member, const MemberPath& path, std::vector<T>& value) {
        Reader reader(member.bytes());
        value.clear();
        const auto count = reader.varint().value_or(0);
        if (strict_ && count > max_elements) return report(path, "at most 10,000");
        // The count is untrusted, so the reserved size is limited by the number of received bytes.
        value.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(count, member.size / 16)));
        for (std::uint64_t i = 0; i < count && !problem_.found(); ++i) {
            Member element;
            if (!take(reader, is_frame_number<T>, element)) break;
            const MemberPath here{path.above, path.name, static_cast<std::size_t>(i)};
            read(element, here, value.emplace_back());
        }
        if (!reader.done()) report(path, "as many elements as its count");
    }
    template <typename T>
    requires std::is_class_v<T>
    void read(const Member& member, const MemberPath& path, T& value) {
        FrameReader reader(member.bytes(), strict_, problem_, &path);
        describe(reader, value);
        reader.finish();
    }

    const bool strict_;
    FirstProblem& problem_;
    const MemberPath* const where_;
    std::size_t count_ = 0;
    // The index at which the next search begins.
    std::size_t next_ = 0;
    // The bits of all members that were found. A member whose bit is not set is absent.
    std::uint64_t present_ = 0;
    std::array<Member, max_members> members_;
};

}  // namespace rocklock
