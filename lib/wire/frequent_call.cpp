#include "wire/frequent_call.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

#include "base/bytes.hpp"
#include "lock/model/names.hpp"
#include "wire/frame_tag.hpp"
#include "wire/frame_writer.hpp"

namespace rocklock {
namespace {

// 100 days. Longer wait timeouts are rare, and FrameReader reads some of them differently.
constexpr std::int64_t max_patience_ms = 8'640'000'000;

// Reads members in a fixed order. If the next member has another tag, or its value is invalid, ok()
// returns false from then on.
class Members {
public:
    explicit Members(std::string_view bytes) : reader_(bytes) {}

    bool ok() const { return ok_ && reader_.ok(); }
    bool done() const { return ok_ && reader_.done(); }

    // Reads the tag if it is the next one.
    bool next(FrameTag tag, bool is_number) {
        const auto rest = reader_.rest();
        if (rest.size() < 2) return false;
        const auto found = static_cast<unsigned>(static_cast<unsigned char>(rest[0])) << 8 |
                           static_cast<unsigned char>(rest[1]);
        if (found != tag.number * 2U + (is_number ? 0U : 1U)) return false;
        return reader_.u16().has_value();
    }

    std::uint64_t number(FrameTag tag) {
        ok_ = ok_ && next(tag, true);
        return ok_ ? reader_.varint().value_or(0) : 0;
    }
    template <typename Enum>
    Enum word(FrameTag tag, Enum last) {
        const std::uint64_t value = number(tag);
        ok_ = ok_ && value <= static_cast<std::uint64_t>(last);
        return ok_ ? static_cast<Enum>(value) : last;
    }
    std::string_view bytes(FrameTag tag) {
        ok_ = ok_ && next(tag, false);
        return ok_ ? reader_.string().value_or(std::string_view()) : std::string_view();
    }
    template <std::size_t size>
    void raw(FrameTag tag, std::array<std::uint8_t, size>& value) {
        const auto found = bytes(tag);
        ok_ = ok_ && found.size() == size;
        if (ok_) std::copy(found.begin(), found.end(), value.begin());
    }

private:
    Reader reader_;
    bool ok_ = true;
};

// Not inlined, because g++ 12 then warns about an overlap that cannot occur.
[[gnu::noinline]] void assign(std::string& to, std::string_view from) { to.assign(from); }

bool read_lock(std::string_view locks, std::vector<LockRequest>& read) {
    Reader list(locks);
    const auto count = list.varint();
    const auto element = list.string();
    if (count != 1U || !element || !list.done()) return false;
    Members members(*element);
    const auto name = members.bytes("Resource");
    if (!members.ok() || !is_utf8(name)) return false;
    LockRequest& lock = read.empty() ? read.emplace_back() : read.front();
    assign(lock.resource, name);
    lock.mode.reset();
    if (members.done()) return true;
    lock.mode = members.word("Mode", Mode::exclusive);
    return members.done();
}

bool read_members(Members& members, Secret& secret, Acquire& acquire) {
    members.raw("Session", acquire.session.emplace().bytes);
    members.raw("Secret", secret.bytes);
    const auto locks = members.bytes("Locks");
    if (!members.ok() || !read_lock(locks, acquire.locks)) return false;
    const std::int64_t patience = unzigzag(members.number("PatienceMs"));
    acquire.held = members.word("Held", Held::count);
    if (patience < -1 || patience > max_patience_ms) return false;
    acquire.patience = patience == -1 ? no_limit : std::chrono::milliseconds{patience};
    return members.done();
}

bool read_members(Members& members, Secret& secret, Release& release) {
    members.raw("Session", release.session.bytes);
    members.raw("Secret", secret.bytes);
    release.grant = GrantId{members.number("Grant")};
    return members.done();
}

FrequentVerb frequent_verb(const std::optional<std::uint16_t>& number) {
    static const std::uint16_t acquire = verb_number(Acquire());
    static const std::uint16_t release = verb_number(Release());
    if (number == acquire) return FrequentVerb::acquire;
    return number == release ? FrequentVerb::release : FrequentVerb::none;
}

}  // namespace

bool read_frequent_call(std::string_view body, Call& call) {
    Reader reader(body);
    const auto verb = frequent_verb(reader.u16());
    if (verb == FrequentVerb::none) return false;
    Members members(reader.rest());
    Secret& secret = call.secret.emplace();
    if (verb == FrequentVerb::acquire) {
        return read_members(members, secret, call.body.emplace<Acquire>());
    }
    return read_members(members, secret, call.body.emplace<Release>());
}

// Inlining everything halves the number of instructions.
[[gnu::flatten]] FrequentVerb read_frequent_call(std::string_view body, Acquire& acquire,
                                                 Release& release, Secret& secret) {
    Reader reader(body);
    const auto verb = frequent_verb(reader.u16());
    if (verb == FrequentVerb::none) return verb;
    Members members(reader.rest());
    const bool read = verb == FrequentVerb::acquire ? read_members(members, secret, acquire)
                                                    : read_members(members, secret, release);
    return read ? verb : FrequentVerb::none;
}

}  // namespace rocklock
