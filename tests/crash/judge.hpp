// Whether what a killed worker has left in its store is what it may have left.
//
// All that the worker did is played once more to the reference model, in the order and at the
// moments of its decisions. What is recovered must be the model's state after so many of them: a
// prefix, which nothing that was answered as written may be missing from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "crash/journal.hpp"
#include "support/model_mirror.hpp"

namespace rocklock::crash {

using Complaint = std::optional<std::string>;

// What is seen of a store that was opened again.
struct Found {
    Complaint wrong;
    Instant now;
    // On the same boot.
    bool exact = true;
    LockPage holders;
    std::vector<SessionView> sessions;
    std::map<SessionId, std::vector<Grant>> grants;
    std::vector<LockClass> classes;
};

// Opens it and looks. `close`: ends it in an orderly way, not as a crash does.
Found look(const std::string& directory, const std::string& boot_id, bool close);

struct Verdict {
    Complaint wrong;
    std::uint64_t decided = 0;
    std::uint64_t answered = 0;
    std::uint64_t survived = 0;
    // Of the state compared.
    std::uint64_t grants = 0;
};

// The life of one store, as far as it is known outside. A copy may be used up for a question.
class Outside {
public:
    // What must be true of `found`, after the worker's life has ended that way.
    Verdict judge(const Life& life, const Found& found);
    // The model after all that was decided, which owes what was not answered.
    proof::ModelMirror played(const Life& life) const;

private:
    struct Told;

    proof::ModelMirror replay(const Life& life, std::uint64_t decisions, Told& told) const;
    Complaint judge_numbers(const Life& life) const;
    void remember_numbers(const Life& life, const Found& found);
    static Complaint compare(proof::ModelMirror& mirror, const Found& found);

    proof::ModelMirror mirror_;
    // Every number that was seen in this store, and the greatest of them.
    std::set<std::uint64_t> numbers_;
    std::uint64_t highest_ = 0;
};

}  // namespace rocklock::crash
