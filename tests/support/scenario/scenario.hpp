// Runs a script on a lock table, line by line:
//
//     ann   acquire order#42 write patience=5s -> waits
//     +5s                                      -> ann patience_expired
//
// The right side lists all results of the left side, separated by `; `, in any order. The answer to
// the acting client is written without a name. The notices to other clients begin with the names of
// these clients. docs/testing.md describes the words.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lock/table/lock_table.hpp"

namespace rocklock::proof {

// The implementation on which a script is run.
class Subject {
public:
    Subject() = default;
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    virtual ~Subject() = default;

    virtual void apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
                       Decision& decision) = 0;
    virtual std::optional<BootTime> next_wake() const = 0;
    // Restarts from the committed state. If `exact` is true, the machine was not rebooted.
    virtual void restart(Instant now, bool exact) = 0;
    virtual LockPage list(Instant now) const = 0;
    virtual bool holds(const SessionId& session, std::string_view resource, Mode mode,
                       Instant now) const = 0;
    virtual std::optional<std::string> audit(Instant now) const = 0;
    // Returns whether a deadlock error contains the cycle.
    virtual bool reports_cycles() const { return true; }
};

// The lock table with a store in memory.
std::unique_ptr<Subject> make_table_subject();
// The reference model.
std::unique_ptr<Subject> make_model_subject();

// Returns a line of text for each unexpected result. The result is empty if every line of the
// script had the expected results.
std::vector<std::string> play(const std::filesystem::path& script, Subject& subject,
                              bool beside_model);

}  // namespace rocklock::proof
