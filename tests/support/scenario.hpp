// Runs a script against a lock table, line by line:
//
//     ann   acquire order#42 write patience=5s -> waits
//     +5s                                      -> ann patience_expired
//
// The right side lists everything that comes of the left: the answer to the one who acts, without a
// name, and what others are told, with theirs, separated by `; ` in any order. docs/testing.md has
// the words.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lock/table/lock_table.hpp"

namespace rocklock::proof {

// What a script is played on.
class Subject {
public:
    Subject() = default;
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    virtual ~Subject() = default;

    virtual void apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
                       Decision& decision) = 0;
    virtual std::optional<BootTime> next_wake() const = 0;
    // Begins anew from what was committed; with `exact` on the same boot.
    virtual void restart(Instant now, bool exact) = 0;
    virtual LockPage list(Instant now) const = 0;
    virtual bool holds(const SessionId& session, std::string_view resource, Mode mode,
                       Instant now) const = 0;
    virtual std::optional<std::string> audit(Instant now) const = 0;
    // Whether a deadlock comes with its cycle.
    virtual bool tells_cycles() const { return true; }
};

// The lock table itself, on a store in memory.
std::unique_ptr<Subject> make_table_subject();
// The reference model in its place.
std::unique_ptr<Subject> make_model_subject();

// What is wrong with it, a line each; nothing when the script went as written.
std::vector<std::string> play(const std::filesystem::path& script, Subject& subject,
                              bool beside_model);

}  // namespace rocklock::proof
