#include "wire/frequent_call.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include <rocklock/lock.hpp>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "lock/model/names.hpp"
#include "wire/frame_tag.hpp"
#include "wire/frame_writer.hpp"

namespace rocklock {
namespace {

// 100 days. Longer wait timeouts are rare, and FrameReader reads some of them differently.
constexpr std::int64_t max_patience_ms = 8'640'000'000;

constexpr std::uint16_t acquire_number = FrameTag("Acquire").number;
constexpr std::uint16_t release_number = FrameTag("Release").number;
constexpr std::uint16_t renewal_number = FrameTag("RenewSession").number;

constexpr std::int64_t max_exact = (std::int64_t{1} << 53) - 1;

// Reads members in a fixed order. If the next member has another tag, or its value is invalid, ok()
// returns false from then on.
class Members {
public:
    explicit Members(std::string_view bytes)
        : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    bool ok() const { return ok_; }
    bool done() const { return ok_ && at_ == end_; }

    std::uint64_t number(FrameTag tag) {
        ok_ = ok_ && next(tag, true);
        return ok_ ? varint() : 0;
    }
    template <typename Enum>
    Enum word(FrameTag tag, Enum last) {
        const std::uint64_t value = number(tag);
        ok_ = ok_ && value <= static_cast<std::uint64_t>(last);
        return ok_ ? static_cast<Enum>(value) : last;
    }
    std::string_view bytes(FrameTag tag) {
        ok_ = ok_ && next(tag, false);
        return ok_ ? string() : std::string_view();
    }
    // Reads a whole number of milliseconds. FrameReader refuses larger numbers.
    std::chrono::milliseconds exact(FrameTag tag) {
        const std::int64_t value = unzigzag(number(tag));
        ok_ = ok_ && value <= max_exact && value >= -max_exact;
        return std::chrono::milliseconds{value};
    }
    template <std::size_t size>
    void raw(FrameTag tag, std::array<std::uint8_t, size>& value) {
        copy(bytes(tag), value);
    }

    // Read a member if it is the next one. Otherwise, they return zero or an empty string.
    std::uint64_t optional_number(FrameTag tag, std::uint64_t max) {
        if (!ok_ || !next(tag, true)) return 0;
        const std::uint64_t value = varint();
        ok_ = ok_ && value <= max;
        return value;
    }
    std::string_view optional_bytes(FrameTag tag) {
        return ok_ && next(tag, false) ? string() : std::string_view();
    }
    // Reads the member into `value` if it is the next one.
    template <std::size_t size>
    void optional_raw(FrameTag tag, std::array<std::uint8_t, size>& value) {
        if (ok_ && next(tag, false)) copy(string(), value);
    }

    // Reads a varint, or a length and as many bytes.
    std::uint64_t varint() {
        std::uint64_t value = 0;
        if (at_ != end_ && static_cast<std::uint8_t>(*at_) < 0x80) {
            return static_cast<std::uint8_t>(*at_++);
        }
        const char* const after = decode_varint(at_, end_, value);
        ok_ = ok_ && after != nullptr;
        if (!ok_) return 0;
        at_ = after;
        return value;
    }
    std::string_view string() {
        const std::uint64_t size = varint();
        ok_ = ok_ && size <= static_cast<std::uint64_t>(end_ - at_);
        if (!ok_) return {};
        const std::string_view value(at_, static_cast<std::size_t>(size));
        at_ += size;
        return value;
    }

private:
    // Returns true, and moves to the value, if the next member has this tag.
    bool next(FrameTag tag, bool is_number) {
        const auto wanted =
            big_endian_of(static_cast<std::uint16_t>(tag.number * 2U + (is_number ? 0U : 1U)));
        std::uint16_t found = 0;
        if (end_ - at_ < static_cast<std::ptrdiff_t>(sizeof found)) return false;
        std::memcpy(&found, at_, sizeof found);
        if (found != wanted) return false;
        at_ += sizeof found;
        return true;
    }
    template <std::size_t size>
    void copy(std::string_view found, std::array<std::uint8_t, size>& value) {
        ok_ = ok_ && found.size() == size;
        if (ok_) std::memcpy(value.data(), found.data(), size);
    }

    const char* at_;
    const char* const end_;
    bool ok_ = true;
};

// Returns the members of the only element of a list, or nullopt if the list has no or several
// elements.
std::optional<Members> only_element(std::string_view bytes) {
    Members list(bytes);
    const auto count = list.varint();
    const auto element = list.string();
    if (count != 1 || !list.done()) return std::nullopt;
    return Members(element);
}

// Encodes a frame in a buffer of a fixed size. The caller checks that the frame fits.
class ShortFrame {
public:
    // A call.
    ShortFrame(std::uint64_t number, FrameTag verb) : ShortFrame(FrameKind::call, number) {
        big_endian(verb.number);
    }
    // A reply to a call that has not waited.
    explicit ShortFrame(std::uint64_t number) : ShortFrame(FrameKind::reply, number) { *at_++ = 0; }
    ShortFrame(const ShortFrame&) = delete;
    ShortFrame& operator=(const ShortFrame&) = delete;

    void number(FrameTag tag, std::uint64_t value) {
        big_endian(static_cast<std::uint16_t>(tag.number * 2U));
        at_ += encode_varint(at_, value);
    }
    void bytes(FrameTag tag, std::string_view value) {
        const auto begin = begin_block(tag);
        std::memcpy(at_, value.data(), value.size());
        at_ += value.size();
        end_block(begin);
    }
    template <std::size_t size>
    void raw(FrameTag tag, const std::array<std::uint8_t, size>& value) {
        bytes(tag, {reinterpret_cast<const char*>(value.data()), size});
    }

    // A block is a length of one byte, followed by fewer than 128 bytes.
    char* begin_block(FrameTag tag) {
        big_endian(static_cast<std::uint16_t>(tag.number * 2U + 1U));
        return ++at_;
    }
    // Begins an element of a list, after the count of elements.
    char* begin_only_element() {
        *at_++ = 1;
        return ++at_;
    }
    void end_block(char* begin) const {
        ROCKLOCK_ASSERT(at_ - begin < 0x80);
        begin[-1] = static_cast<char>(at_ - begin);
    }

    void append_to(std::string& out) {
        const auto size = static_cast<std::size_t>(at_ - buffer_.data());
        ROCKLOCK_ASSERT(size <= buffer_.size());
        const auto length = big_endian_of(static_cast<std::uint32_t>(size - sizeof(std::uint32_t)));
        std::memcpy(buffer_.data(), &length, sizeof length);
        out.append(buffer_.data(), size);
    }

private:
    ShortFrame(FrameKind kind, std::uint64_t number) {
        // The length is added by append_to().
        at_ += sizeof(std::uint32_t);
        *at_++ = static_cast<char>(kind);
        big_endian(number);
    }

    template <typename Unsigned>
    void big_endian(Unsigned value) {
        const Unsigned swapped = big_endian_of(value);
        std::memcpy(at_, &swapped, sizeof swapped);
        at_ += sizeof swapped;
    }

    // Not initialized, for speed.
    std::array<char, 384> buffer_;
    char* at_ = buffer_.data();
};

// Longer names and request ids are written by FrameWriter.
constexpr std::size_t max_name = 100;
constexpr std::size_t max_request_id = 32;

bool read_lock(std::string_view locks, std::vector<LockRequest>& read) {
    auto members = only_element(locks);
    if (!members) return false;
    const auto name = members->bytes("Resource");
    if (!members->ok() || !is_utf8(name)) return false;
    LockRequest& lock = read.empty() ? read.emplace_back() : read.front();
    lock.resource = name;
    lock.mode.reset();
    if (members->done()) return true;
    lock.mode = members->word("Mode", Mode::exclusive);
    return members->done();
}

bool read_members(Members& members, Secret& secret, Acquire& acquire) {
    members.raw("Session", acquire.session.emplace().bytes);
    members.raw("Secret", secret.bytes);
    const auto locks = members.bytes("Locks");
    if (!members.ok() || !read_lock(locks, acquire.locks)) return false;
    const std::int64_t patience = unzigzag(members.number("PatienceMs"));
    acquire.held = members.word("Held", Held::count);
    const auto request_id = members.optional_bytes("RequestId");
    if (!is_utf8(request_id)) return false;
    acquire.request_id = request_id;
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

bool read_members(Members& members, Call& call, RenewSession& renewal) {
    members.raw("Session", renewal.session.bytes);
    members.raw("Secret", call.secret.emplace().bytes);
    call.rebind = members.optional_number("Rebind", 1) == 1;
    return members.done();
}

bool is_frequent(const Acquire& acquire) {
    if (!acquire.session || acquire.opens || acquire.locks.size() != 1) return false;
    const LockRequest& lock = acquire.locks.front();
    return lock.resource.size() <= max_name && !lock.to && !lock.subtree && lock.permits == 0 &&
           lock.modes.empty() && !acquire.any && acquire.note.empty() && acquire.metadata.empty() &&
           !acquire.max_hold && !acquire.min_hold && acquire.priority == 0 &&
           acquire.request_id.size() <= max_request_id &&
           (acquire.patience == no_limit ||
            (acquire.patience.count() >= 0 && acquire.patience.count() <= max_patience_ms));
}

void write(ShortFrame& frame, const Acquire& acquire, const Secret& secret) {
    const LockRequest& lock = acquire.locks.front();
    frame.raw("Session", acquire.session->bytes);
    frame.raw("Secret", secret.bytes);
    auto* const locks = frame.begin_block("Locks");
    auto* const element = frame.begin_only_element();
    frame.bytes("Resource", lock.resource);
    if (lock.mode) frame.number("Mode", static_cast<std::uint64_t>(*lock.mode));
    frame.end_block(element);
    frame.end_block(locks);
    const std::int64_t patience = acquire.patience == no_limit ? -1 : acquire.patience.count();
    frame.number("PatienceMs", zigzag(patience));
    frame.number("Held", static_cast<std::uint64_t>(acquire.held));
    if (!acquire.request_id.empty()) frame.bytes("RequestId", acquire.request_id);
}

bool is_frequent(const Grant& grant) {
    if (grant.locks.size() != 1 || grant.cap || grant.ended || grant.own_session) return false;
    const GrantedLock& lock = grant.locks.front();
    return lock.resource.size() <= max_name && !lock.subtree && lock.permits == 0 &&
           lock.cause.empty() && grant.remaining != no_expiry;
}

void write(ShortFrame& frame, const Grant& grant) {
    const GrantedLock& lock = grant.locks.front();
    frame.number("Grant", static_cast<std::uint64_t>(grant.id));
    frame.number("Token", static_cast<std::uint64_t>(grant.token));
    auto* const locks = frame.begin_block("Locks");
    auto* const element = frame.begin_only_element();
    frame.bytes("Resource", lock.resource);
    frame.number("Mode", static_cast<std::uint64_t>(lock.mode));
    frame.end_block(element);
    frame.end_block(locks);
    frame.number("Waited", grant.waited ? 1 : 0);
    if (grant.count != 0) frame.number("Count", grant.count);
    frame.number("RemainingMs", zigzag(grant.remaining.count()));
    frame.number("Deadline", zigzag(grant.deadline_wall.time_since_epoch().count()));
    frame.number("DeadlineBootMs", zigzag(grant.deadline.time_since_epoch().count()));
    if (grant.session != SessionId{}) frame.raw("Session", grant.session.bytes);
}

bool is_frequent(const Released& released) {
    return released.count == 0 && released.by.empty() && released.reason.empty() && !released.at;
}

bool read_granted_lock(std::string_view locks, std::vector<GrantedLock>& read) {
    auto members = only_element(locks);
    if (!members) return false;
    GrantedLock& lock = read.emplace_back();
    lock.resource = members->bytes("Resource");
    lock.mode = members->word("Mode", Mode::exclusive);
    return members->done();
}

template <typename T>
void read_deadline(Members& members, T& value) {
    value.remaining = members.exact("RemainingMs");
    value.deadline_wall = WallTime{members.exact("Deadline")};
    value.deadline = BootTime{std::chrono::nanoseconds{unzigzag(members.number("DeadlineBootMs"))}};
}

bool read_members(Members& members, Grant& grant) {
    grant.id = GrantId{members.number("Grant")};
    grant.token = Token{members.number("Token")};
    const auto locks = members.bytes("Locks");
    if (!members.ok() || !read_granted_lock(locks, grant.locks)) return false;
    const auto waited = members.number("Waited");
    if (waited > 1) return false;
    grant.waited = waited == 1;
    grant.count = static_cast<std::uint32_t>(
        members.optional_number("Count", std::numeric_limits<std::uint32_t>::max()));
    read_deadline(members, grant);
    members.optional_raw("Session", grant.session.bytes);
    return members.done();
}

bool read_members(Members& members, Released& released) {
    released.outcome = members.word("Outcome", Outcome::resumed);
    return members.done();
}

bool read_members(Members& members, SessionInfo& session) {
    members.optional_raw("Session", session.id.bytes);
    members.optional_raw("Secret", session.secret.bytes);
    session.principal = members.optional_bytes("Principal");
    session.lease = members.exact("LeaseMs");
    read_deadline(members, session);
    return members.done();
}

}  // namespace

bool read_frequent_call(std::string_view body, Call& call) {
    Reader reader(body);
    const auto verb = reader.u16();
    Members members(reader.rest());
    if (verb == acquire_number) {
        return read_members(members, call.secret.emplace(), call.body.emplace<Acquire>());
    }
    if (verb == release_number) {
        return read_members(members, call.secret.emplace(), call.body.emplace<Release>());
    }
    if (verb == renewal_number) {
        return read_members(members, call, call.body.emplace<RenewSession>());
    }
    return false;
}

FrequentVerb read_frequent_call(std::string_view body, Acquire& acquire, Release& release,
                                Secret& secret) {
    Reader reader(body);
    const auto verb = reader.u16();
    Members members(reader.rest());
    if (verb == acquire_number && read_members(members, secret, acquire)) {
        return FrequentVerb::acquire;
    }
    if (verb == release_number && read_members(members, secret, release)) {
        return FrequentVerb::release;
    }
    return FrequentVerb::none;
}

bool append_frequent_call(std::string& out, std::uint64_t number, const Call& call) {
    if (!call.secret || call.pid) return false;
    if (const auto* acquire = std::get_if<Acquire>(&call.body)) {
        if (!is_frequent(*acquire)) return false;
        ShortFrame frame(number, "Acquire");
        write(frame, *acquire, *call.secret);
        frame.append_to(out);
        return true;
    }
    if (const auto* release = std::get_if<Release>(&call.body)) {
        ShortFrame frame(number, "Release");
        frame.raw("Session", release->session.bytes);
        frame.raw("Secret", call.secret->bytes);
        frame.number("Grant", static_cast<std::uint64_t>(release->grant));
        frame.append_to(out);
        return true;
    }
    if (const auto* renewal = std::get_if<RenewSession>(&call.body)) {
        if (renewal->lease || renewal->note || renewal->metadata || renewal->active) return false;
        ShortFrame frame(number, "RenewSession");
        frame.raw("Session", renewal->session.bytes);
        frame.raw("Secret", call.secret->bytes);
        if (call.rebind) frame.number("Rebind", 1);
        frame.append_to(out);
        return true;
    }
    return false;
}

bool append_frequent_reply(std::string& out, std::uint64_t number, const Answer& answer) {
    if (const auto* grant = std::get_if<Grant>(&answer)) {
        if (!is_frequent(*grant)) return false;
        ShortFrame frame(number);
        write(frame, *grant);
        frame.append_to(out);
        return true;
    }
    if (const auto* released = std::get_if<Released>(&answer)) {
        if (!is_frequent(*released)) return false;
        ShortFrame frame(number);
        frame.number("Outcome", static_cast<std::uint64_t>(released->outcome));
        frame.append_to(out);
        return true;
    }
    return false;
}

bool read_frequent_reply(const CallBody& asked, std::string_view body,
                         std::chrono::milliseconds& held, Reply& reply) {
    Members members(body);
    const auto waited = members.varint();
    if (!members.ok() || waited > std::uint64_t{1} << 53) return false;
    held = std::chrono::milliseconds{static_cast<std::int64_t>(waited)};
    if (std::holds_alternative<Acquire>(asked)) {
        return read_members(members, reply.emplace<Grant>());
    }
    if (std::holds_alternative<Release>(asked)) {
        return read_members(members, reply.emplace<Released>());
    }
    if (std::holds_alternative<RenewSession>(asked)) {
        return read_members(members, reply.emplace<SessionInfo>());
    }
    return false;
}

}  // namespace rocklock
