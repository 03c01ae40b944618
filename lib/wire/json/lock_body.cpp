#include "wire/json/lock_body.hpp"

#include <chrono>
#include <cstdint>
#include <string>

#include "wire/json/plain_json.hpp"

namespace rocklock {
namespace {

// The names of the members that an object has had.
class Seen {
public:
    // Returns false if the member has occurred before. `number` is less than 32.
    bool first(unsigned number) {
        const auto bit = 1U << number;
        const bool is_first = (members_ & bit) == 0;
        members_ |= bit;
        return is_first;
    }
    bool has(unsigned number) const { return (members_ >> number & 1) != 0; }

private:
    std::uint32_t members_ = 0;
};

bool read_string(PlainJsonReader& json, std::string& value) {
    std::string_view text;
    if (!json.string(text)) return false;
    value = text;
    return true;
}

template <typename Id>
bool read_id(PlainJsonReader& json, std::optional<Id> (*parse)(std::string_view), Id& value) {
    std::string_view text;
    if (!json.string(text)) return false;
    const auto id = parse(text);
    if (id) value = *id;
    return id.has_value();
}

bool read_mode(PlainJsonReader& json, std::optional<Mode>& value) {
    std::string_view text;
    if (!json.string(text)) return false;
    value = parse_mode(text);
    return value.has_value();
}

// Longer timeouts are rare, and the longest ones have a meaning of their own.
bool read_patience(PlainJsonReader& json, std::chrono::milliseconds& value) {
    constexpr std::chrono::milliseconds max_usual_patience = std::chrono::hours{24 * 365};
    if (json.literal("-1")) {
        value = no_limit;
        return true;
    }
    std::uint64_t number = 0;
    if (!json.whole_number(number)) return false;
    if (number > static_cast<std::uint64_t>(max_usual_patience.count())) return false;
    value = std::chrono::milliseconds{static_cast<std::int64_t>(number)};
    return true;
}

bool read_lock(PlainJsonReader& json, LockRequest& lock) {
    enum : unsigned { resource, mode, subtree };
    Seen seen;
    const bool read = json.object([&](std::string_view key) {
        if (key == "Resource") return seen.first(resource) && read_string(json, lock.resource);
        if (key == "Mode") return seen.first(mode) && read_mode(json, lock.mode);
        return key == "Subtree" && seen.first(subtree) && json.truth(lock.subtree);
    });
    return read && seen.has(resource);
}

// Reads an object with the members Session and Secret. Calls `member` with each other key; it must
// read the value.
template <typename Member>
bool read_with_proof(PlainJsonReader& json, SessionId& session, Secret& secret,
                     const Member& member) {
    enum : unsigned { session_member, secret_member };
    Seen seen;
    const bool read = json.object([&](std::string_view key) {
        if (key == "Session") {
            return seen.first(session_member) && read_id(json, parse_session_id, session);
        }
        if (key == "Secret") {
            return seen.first(secret_member) && read_id(json, parse_secret, secret);
        }
        return member(key);
    });
    return read && seen.has(session_member) && seen.has(secret_member) && json.done();
}

}  // namespace

bool read_usual_body(std::string_view body, Acquire& acquire, Secret& secret) {
    enum : unsigned { locks, patience, request_id, note };
    PlainJsonReader json(body);
    Seen seen;
    return read_with_proof(
               json, acquire.session.emplace(), secret,
               [&](std::string_view key) {
                   if (key == "Locks") {
                       return seen.first(locks) && json.array([&] {
                           return read_lock(json, acquire.locks.emplace_back());
                       });
                   }
                   if (key == "PatienceMs") {
                       return seen.first(patience) && read_patience(json, acquire.patience);
                   }
                   if (key == "RequestId") {
                       return seen.first(request_id) && read_string(json, acquire.request_id);
                   }
                   return key == "Note" && seen.first(note) && read_string(json, acquire.note);
               }) &&
           seen.has(locks);
}

bool read_usual_body(std::string_view body, Release& release, Secret& secret) {
    PlainJsonReader json(body);
    Seen seen;
    const bool read = read_with_proof(json, release.session, secret, [&](std::string_view key) {
        std::uint64_t grant = 0;
        if (key != "Grant" || !seen.first(0) || !json.whole_number(grant)) return false;
        release.grant = GrantId{grant};
        return true;
    });
    return read && seen.has(0);
}

bool read_usual_body(std::string_view body, RenewSession& renewal, Secret& secret) {
    PlainJsonReader json(body);
    return read_with_proof(json, renewal.session, secret,
                           [](std::string_view /*key*/) { return false; });
}

}  // namespace rocklock
