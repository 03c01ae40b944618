// Checks that the store of a killed worker is in an allowed state.
//
// The judge applies the operations of the worker to the reference model, in the order and at the
// times of their decisions. The recovered state must equal the state of the model after a prefix of
// the decisions. This prefix must contain each decision whose response promised that it was
// written.
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

// The state of a reopened store.
struct Found {
    Complaint wrong;
    Instant now;
    // True if the machine has not been restarted, so that deadlines must be exact.
    bool exact = true;
    LockPage holders;
    std::vector<SessionView> sessions;
    std::map<SessionId, std::vector<Grant>> grants;
    std::vector<LockClass> classes;
};

// Opens the store and reads its state. If `close` is true, closes the store. Otherwise, abandons it
// as a crash does.
Found inspect(const std::string& directory, const std::string& boot_id, bool close);

struct Verdict {
    Complaint wrong;
    std::uint64_t decided = 0;
    std::uint64_t answered = 0;
    std::uint64_t survived = 0;
    // The number of grants that were compared.
    std::uint64_t grants = 0;
};

// The state of a store, as far as it is known from the responses of the workers. Copies can be used
// to try a history.
class Outside {
public:
    // Checks the state `found` against the recorded life of a worker. If the state is correct, it
    // becomes the state for the next worker.
    Verdict judge(const Life& life, const Found& found);
    // Returns the model after all decisions. It still expects the responses that were not given.
    proof::ModelMirror played(const Life& life) const;

private:
    struct Replies;

    proof::ModelMirror replay(const Life& life, std::uint64_t decisions, Replies& replies) const;
    Complaint judge_numbers(const Life& life) const;
    void remember_numbers(const Life& life, const Found& found);
    static Complaint compare(proof::ModelMirror& mirror, const Found& found);

    proof::ModelMirror mirror_;
    // All numbers of grants and tokens that this store has issued, and the greatest of them.
    std::set<std::uint64_t> numbers_;
    std::uint64_t highest_ = 0;
};

}  // namespace rocklock::crash
