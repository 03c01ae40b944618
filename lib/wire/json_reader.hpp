// Reads the members of JSON objects into values. The functions describe() and describe_call() of
// lock_members.hpp call a JsonReader for each member.
//
// The first problem is kept, with the path of the member ("Locks[2].Mode must be one of ...").
// Values that are read after a problem must not be used.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <rocklock/lock.hpp>

#include "base/time_format.hpp"
#include "wire/draft_json.hpp"
#include "wire/first_problem.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {

class JsonReader {
public:
    static constexpr bool reading = true;

    // `where` is the path of this object with a trailing dot. It is empty for the whole body. A
    // strict reader reports unknown members.
    JsonReader(const boost::json::object& object, std::string where, bool strict,
               FirstProblem& problem)
        : object_(object), where_(std::move(where)), strict_(strict), problem_(problem) {}

    template <typename T>
    void required(std::string_view name, T& value) {
        const auto* member = find(name);
        if (member == nullptr) {
            problem_.report(where_ + std::string(name) + " is missing");
            return;
        }
        read(*member, name, value);
    }

    template <typename T>
    void optional(std::string_view name, T& value) {
        if (const auto* member = find(name)) read(*member, name, value);
    }

    template <typename T>
    void defaulted(std::string_view name, T& value) {
        optional(name, value);
    }

    // Reads a wait timeout. A timeout of -1, or longer than `max_wait`, is read as `no_limit`.
    void patience(std::string_view name, std::chrono::milliseconds& value) {
        const auto* member = find(name);
        if (member == nullptr) return;
        const auto* number = member->if_int64();
        if (number != nullptr && *number == -1) {
            value = no_limit;
            return;
        }
        if (number == nullptr || *number < 0) {
            return report(
                name, "a whole number of milliseconds; 0: do not wait; -1: wait without a limit");
        }
        read(*member, name, value);
        if (value > max_wait) value = no_limit;
    }

    // Reads an optional value. Its members are stored directly in this JSON object, not in a nested
    // object. The value is present if the member `name` is present.
    template <typename T>
    void flat_optional(std::string_view name, std::optional<T>& value) {
        T flat{};
        if (has(name)) {
            describe(*this, flat);
            value = std::move(flat);
        }
    }

    // Reads a deadline. It is a time of the boot clock or, if the reply was written with a
    // ForeignReply, a time since the arrival of the call.
    template <typename T>
    void boot_deadline(T& reply) {
        if (!has("HeldMs")) return required("DeadlineBootMs", reply.deadline);
        std::chrono::milliseconds held{};
        required("HeldMs", held);
        reply.deadline = BootTime(held + reply.remaining);
    }
    template <typename T>
    void boot_cap(T& grant) {
        if (!has("HeldMs")) return optional("CapBootMs", grant.cap);
        std::optional<std::chrono::milliseconds> cap;
        optional("CapMs", cap);
        if (cap) grant.cap = BootTime(*cap);
    }

    bool has(std::string_view name) const { return object_.contains(name); }

    // Returns a member, or null if it is absent. The caller reads the value itself.
    const boost::json::value* other(std::string_view name) { return find(name); }

    void refuse(std::string_view what) {
        // The problem concerns the object itself, not a member, so the trailing dot of `where_` is
        // removed.
        const std::string_view path = where_;
        problem_.report(path.empty() ? std::string(what)
                                     : std::string(path.substr(0, path.size() - 1)) + ": " +
                                           std::string(what));
    }

    // Must be called after all members were read. A strict reader then reports the first member
    // that was not read, if there is one.
    void finish() {
        if (!strict_ || known_.size() == object_.size()) return;
        for (const auto& member : object_) {
            if (is_known(member.key())) continue;
            std::string message = where_ + std::string(member.key()) + " is not a known member; ";
            if (asked_.empty()) message += "this request has no members";
            const char* comma = "the known members are ";
            for (const auto name : asked_) {
                message += comma;
                message += name;
                comma = ", ";
            }
            problem_.report(std::move(message));
            return;
        }
    }

private:
    static constexpr std::uint64_t max_exact = (std::uint64_t{1} << 53) - 1;
    // 100 years. A longer wait timeout is treated as no limit.
    static constexpr std::chrono::milliseconds max_wait = std::chrono::hours{24 * 36'525};

    const boost::json::value* find(std::string_view name) {
        asked_.push_back(name);
        const auto* member = object_.if_contains(name);
        if (member != nullptr) known_.push_back(name);
        return member;
    }

    bool is_known(std::string_view name) const {
        for (const auto known : known_) {
            if (known == name) return true;
        }
        return false;
    }

    void report(std::string_view name, std::string_view what) {
        problem_.report(where_ + std::string(name) + " must be " + std::string(what));
    }

    std::optional<std::uint64_t> whole_number(const boost::json::value& json, std::string_view name,
                                              std::uint64_t largest) {
        if (const auto* number = json.if_int64();
            number != nullptr && *number >= 0 && static_cast<std::uint64_t>(*number) <= largest) {
            return static_cast<std::uint64_t>(*number);
        }
        report(name, "a whole number from 0 to " + std::to_string(largest));
        return std::nullopt;
    }

    void read(const boost::json::value& json, std::string_view name, bool& value) {
        const auto* truth = json.if_bool();
        if (truth == nullptr) return report(name, "true or false");
        value = *truth;
    }
    void read(const boost::json::value& json, std::string_view name, std::uint32_t& value) {
        const auto number = whole_number(json, name, std::numeric_limits<std::uint32_t>::max());
        if (number) value = static_cast<std::uint32_t>(*number);
    }
    void read(const boost::json::value& json, std::string_view name, std::int32_t& value) {
        const auto number = whole_number(json, name, std::numeric_limits<std::int32_t>::max());
        if (number) value = static_cast<std::int32_t>(*number);
    }
    void read(const boost::json::value& json, std::string_view name, std::uint64_t& value) {
        const auto number = whole_number(json, name, max_exact);
        if (number) value = *number;
    }
    void read(const boost::json::value& json, std::string_view name, std::int64_t& value) {
        const auto number = whole_number(json, name, max_exact);
        if (number) value = static_cast<std::int64_t>(*number);
    }
    void read(const boost::json::value& json, std::string_view name, Token& value) {
        const auto number = whole_number(json, name, max_exact);
        if (number) value = Token{*number};
    }
    void read(const boost::json::value& json, std::string_view name, GrantId& value) {
        const auto number = whole_number(json, name, max_exact);
        if (number) value = GrantId{*number};
    }
    void read(const boost::json::value& json, std::string_view name, DraftId& value) {
        const auto number = whole_number(json, name, max_exact);
        if (number) value = DraftId{*number};
    }
    // Reads the write of a draft. Keeps `value.expected_version`, which the caller has already read
    // from another member of the draft.
    void read(const boost::json::value& json, std::string_view name, WriteItem& value) {
        auto write = read_draft_action(json);
        if (!write)
            return report(name, "an action of TransactWriteItems: " + write.error().message);
        write->expected_version = value.expected_version;
        value = *std::move(write);
    }
    void read(const boost::json::value& json, std::string_view name,
              std::chrono::milliseconds& value) {
        const auto number = whole_number(json, name, max_exact);
        if (number) value = std::chrono::milliseconds{static_cast<std::int64_t>(*number)};
    }
    // Durations in nanoseconds are sent as microseconds.
    void read(const boost::json::value& json, std::string_view name,
              std::chrono::nanoseconds& value) {
        const auto number = whole_number(json, name, max_exact);
        if (number) value = std::chrono::microseconds{static_cast<std::int64_t>(*number)};
    }
    // Milliseconds of the boot clock.
    void read(const boost::json::value& json, std::string_view name, BootTime& value) {
        const auto number = whole_number(json, name, std::uint64_t{1} << 42);
        if (number) value = BootTime{std::chrono::milliseconds{static_cast<std::int64_t>(*number)}};
    }
    void read(const boost::json::value& json, std::string_view name, std::string& value) {
        const auto* text = json.if_string();
        if (text == nullptr) return report(name, "a string");
        value = *text;
    }
    void read(const boost::json::value& json, std::string_view name, WallTime& value) {
        const auto* text = json.if_string();
        const auto time = text == nullptr ? std::nullopt : parse_time(*text);
        if (!time) return report(name, "a time in UTC such as 2026-11-21T09:30:00.000Z");
        value = *time;
    }
    void read(const boost::json::value& json, std::string_view name, SessionId& value) {
        const auto* text = json.if_string();
        const auto id = text == nullptr ? std::nullopt : parse_session_id(*text);
        if (!id) return report(name, "a session as OpenSession returns it: 22 characters");
        value = *id;
    }
    void read(const boost::json::value& json, std::string_view name, Secret& value) {
        const auto* text = json.if_string();
        const auto secret = text == nullptr ? std::nullopt : parse_secret(*text);
        if (!secret) return report(name, "a session's secret: 43 characters");
        value = *secret;
    }
    void read(const boost::json::value& json, std::string_view name, Metadata& value) {
        const auto* object = json.if_object();
        if (object == nullptr) return report(name, "an object of strings");
        value.clear();
        for (const auto& member : *object) {
            const auto* text = member.value().if_string();
            if (text == nullptr) return report(name, "an object of strings");
            value[std::string(member.key())] = *text;
        }
    }

    template <typename T>
    void read(const boost::json::value& json, std::string_view name, std::optional<T>& value) {
        T there{};
        read(json, name, there);
        value = std::move(there);
    }

    template <typename T>
    void read(const boost::json::value& json, std::string_view name, std::vector<T>& value) {
        const auto* array = json.if_array();
        if (array == nullptr) return report(name, "an array");
        value.clear();
        value.reserve(array->size());
        for (const auto& element : *array) {
            const std::string path = std::string(name) + "[" + std::to_string(value.size()) + "]";
            read(element, path, value.emplace_back());
            if (problem_.found()) return;
        }
    }

    template <typename T>
    requires std::is_enum_v<T>
    void read(const boost::json::value& json, std::string_view name, T& value) {
        const auto* text = json.if_string();
        std::string allowed;
        for (const auto& [known, spelled] : words_of(T{})) {
            if (text != nullptr && *text == spelled) {
                value = known;
                return;
            }
            allowed += (allowed.empty() ? "" : ", ") + std::string(spelled);
        }
        report(name, "one of " + allowed);
    }

    template <typename T>
    requires std::is_class_v<T>
    void read(const boost::json::value& json, std::string_view name, T& value) {
        const auto* object = json.if_object();
        if (object == nullptr) return report(name, "an object");
        JsonReader reader(*object, where_ + std::string(name) + ".", strict_, problem_);
        describe(reader, value);
        reader.finish();
    }

    const boost::json::object& object_;
    std::string where_;
    bool strict_;
    FirstProblem& problem_;
    std::vector<std::string_view> asked_;
    std::vector<std::string_view> known_;
};

}  // namespace rocklock
