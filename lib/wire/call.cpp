#include "wire/call.hpp"

#include <array>
#include <utility>

namespace rocklock {
namespace {

// In the order of CallBody.
constexpr std::array<std::string_view, std::variant_size_v<CallBody>> verb_names = {
    "OpenSession", "RenewSession", "JoinProcess", "CloseSession", "Acquire",  "Convert",
    "Release",     "Transfer",     "Steal",       "Break",        "PutClass", "DeleteClass",
    "ListClasses", "ShowLock",     "ListLocks",   "ListSessions", "Ping",     "AnswerWanted",
    "Reacquire",   "Backup",       "Watch",       "ListHistory",
};

template <std::size_t... index>
CallBody body_at(std::size_t wanted, std::index_sequence<index...> /*all*/) {
    CallBody body;
    ((index == wanted ? static_cast<void>(body.emplace<index>()) : void()), ...);
    return body;
}

}  // namespace

std::string_view verb_name(const CallBody& body) { return verb_names[body.index()]; }

std::string_view verb_name_at(std::size_t index) { return verb_names.at(index); }

std::optional<Call> call_named(std::string_view verb) {
    for (std::size_t i = 0; i < verb_names.size(); ++i) {
        if (verb_names[i] != verb) continue;
        Call call;
        call.body = body_at(i, std::make_index_sequence<verb_names.size()>());
        return call;
    }
    return std::nullopt;
}

}  // namespace rocklock
