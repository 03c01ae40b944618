#include "wire/call.hpp"

#include <array>
#include <utility>

#include "base/is_one_of.hpp"
#include "wire/frame_tag.hpp"

namespace rocklock {
namespace {

// In the order of the types in CallBody.
constexpr std::array<std::string_view, std::variant_size_v<CallBody>> verb_names = {
    "OpenSession",  "RenewSession",  "JoinProcess", "CloseSession", "Acquire",     "Convert",
    "Release",      "Transfer",      "Steal",       "Break",        "PutClass",    "DeleteClass",
    "ListClasses",  "ShowLock",      "ListLocks",   "ListSessions", "Ping",        "AnswerWanted",
    "Reacquire",    "Backup",        "Watch",       "ListHistory",  "ShowSession", "ShowStatistics",
    "ListWaits",    "ListDeadlocks", "ListAudit",   "ListOutliers", "BindTable",   "UnbindTable",
    "ListBindings", "ListDrafts",    "TakeDraft",   "DiscardDraft", "EndSession",  "EndSessions",
    "AwaitNotices", "DrainClass",    "ResumeClass", "TrimAudit",    "ListNodes",   "HandOver",
    "CheckNode",
};

constexpr auto verb_numbers = [] {
    std::array<std::uint16_t, verb_names.size()> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = frame_number(verb_names[i]);
    return numbers;
}();

constexpr bool all_differ() {
    for (std::size_t i = 0; i < verb_numbers.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (verb_numbers[i] == verb_numbers[k]) return false;
        }
    }
    return true;
}
static_assert(all_differ(), "two verbs have one number in frames: give one another name");

// The functions that make a body empty, and of the verb with the same index.
template <std::size_t... index>
constexpr auto make_emplacers(std::index_sequence<index...> /*all*/) {
    using Emplace = void (*)(CallBody&);
    return std::array<Emplace, sizeof...(index)>{[](CallBody& body) { body.emplace<index>(); }...};
}
constexpr auto emplacers = make_emplacers(std::make_index_sequence<verb_names.size()>());

}  // namespace

const SessionId* proven_session(const CallBody& body) {
    return std::visit(
        [](const auto& verb) -> const SessionId* {
            using Verb = std::decay_t<decltype(verb)>;
            using MayBeProven = std::variant<Acquire, ListDrafts, TakeDraft, DiscardDraft>;
            // The session in EndSession is not the caller's own, so an administrator cannot prove
            // its ownership.
            constexpr bool is_proven = !std::is_same_v<Verb, EndSession>;
            if constexpr (is_one_of<Verb, MayBeProven>) {
                return verb.session ? &*verb.session : nullptr;
            } else if constexpr (is_proven && requires { verb.session.bytes; }) {
                return &verb.session;
            } else {
                return nullptr;
            }
        },
        body);
}

bool opens_with_connection(const CallBody& body) {
    if (const auto* open = std::get_if<OpenSession>(&body)) return open->bound == Bound::connection;
    const auto* acquire = std::get_if<Acquire>(&body);
    return acquire != nullptr && acquire->opens && acquire->opens->bound == Bound::connection;
}

bool reads_whole_store(const CallBody& body) {
    return std::holds_alternative<Backup>(body) || std::holds_alternative<CheckNode>(body);
}

std::string_view verb_name(const CallBody& body) { return verb_names[body.index()]; }

std::string_view verb_name_at(std::size_t index) { return verb_names.at(index); }

std::uint16_t verb_number(const CallBody& body) { return verb_numbers[body.index()]; }

namespace {

// Makes the call empty, and of the verb with this name or number.
template <typename Names, typename Name>
bool begin_call_with(const Names& names, const Name& wanted, Call& call) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] != wanted) continue;
        emplacers[i](call.body);
        return true;
    }
    return false;
}

}  // namespace

std::optional<Call> call_named(std::string_view verb) {
    std::optional<Call> call(std::in_place);
    if (!begin_call_with(verb_names, verb, *call)) call.reset();
    return call;
}

bool begin_call(Call& call, std::uint16_t number) {
    return begin_call_with(verb_numbers, number, call);
}

}  // namespace rocklock
