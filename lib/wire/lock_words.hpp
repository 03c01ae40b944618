// The words that represent the enumerators of lock requests and replies in the protocol.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include <rocklock/lock.hpp>
#include <rocklock/lock_proof.hpp>
#include <rocklock/types.hpp>

#include "wire/cluster_calls.hpp"

namespace rocklock {

template <typename Enum, std::size_t size>
using Words = std::array<std::pair<Enum, std::string_view>, size>;

inline constexpr Words<Mode, 3> words_of(Mode /*type*/) {
    return {{{Mode::read, "read"}, {Mode::write, "write"}, {Mode::exclusive, "exclusive"}}};
}

inline constexpr Words<Intent, 2> words_of(Intent /*type*/) {
    return {{{Intent::read, "read"}, {Intent::edit, "edit"}}};
}

inline constexpr Words<Held, 3> words_of(Held /*type*/) {
    return {{{Held::refuse, "refuse"}, {Held::join, "join"}, {Held::count, "count"}}};
}

inline constexpr Words<Bound, 3> words_of(Bound /*type*/) {
    return {
        {{Bound::none, "none"}, {Bound::process, "process"}, {Bound::connection, "connection"}}};
}

inline constexpr Words<AfterSave, 3> words_of(AfterSave /*type*/) {
    return {{{AfterSave::keep, "keep"},
             {AfterSave::release, "release"},
             {AfterSave::downgrade, "downgrade"}}};
}

inline constexpr Words<Policy, 3> words_of(Policy /*type*/) {
    return {{{Policy::exclusive_write, "exclusive_write"},
             {Policy::exclusive_read, "exclusive_read"},
             {Policy::read_write, "read_write"}}};
}

inline constexpr Words<StealPolicy, 4> words_of(StealPolicy /*type*/) {
    return {{{StealPolicy::never, "never"},
             {StealPolicy::anyone, "anyone"},
             {StealPolicy::idle, "idle"},
             {StealPolicy::ask, "ask"}}};
}

inline constexpr Words<Outcome, 10> words_of(Outcome /*type*/) {
    return {{{Outcome::held, "held"},
             {Outcome::released, "released"},
             {Outcome::expired, "expired"},
             {Outcome::stolen, "stolen"},
             {Outcome::broken, "broken"},
             {Outcome::transferred, "transferred"},
             {Outcome::already_released, "already_released"},
             {Outcome::converted, "converted"},
             {Outcome::drained, "drained"},
             {Outcome::resumed, "resumed"}}};
}

inline constexpr Words<EventType, 9> words_of(EventType /*type*/) {
    return {{{EventType::granted, "granted"},
             {EventType::wanted, "wanted"},
             {EventType::warned, "warned"},
             {EventType::converted, "converted"},
             {EventType::transferred, "transferred"},
             {EventType::released, "released"},
             {EventType::expired, "expired"},
             {EventType::stolen, "stolen"},
             {EventType::broken, "broken"}}};
}

inline constexpr Words<NodeRole, 3> words_of(NodeRole /*type*/) {
    return {{{NodeRole::manager, "manager"},
             {NodeRole::standby, "standby"},
             {NodeRole::waiting, "waiting"}}};
}

template <typename Enum>
constexpr std::string_view word(Enum value) {
    for (const auto& [known, text] : words_of(value)) {
        if (known == value) return text;
    }
    return "unknown";
}

}  // namespace rocklock
