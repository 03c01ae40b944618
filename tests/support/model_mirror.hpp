// Compares the lock table with the reference model. Checks that the table delivers the answers and
// notices of the model, and stores those that the table has not delivered yet. Translates between
// the ids of the model and those of the table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

#include "lock/table/lock_table.hpp"
#include "support/reference_model.hpp"

namespace rocklock::proof {

// A function that returns a Complaint returns a description of the difference, or nullopt if there
// is no difference.
class ModelMirror {
public:
    using Complaint = std::optional<std::string>;

    // Applies one event, which contains ids of the table, to the model. The table must then deliver
    // the answers that the model gives.
    void expect(const Event& event, Ticket ticket, const SessionId& fresh, Instant now);
    // Compare an answer or a notice of the table with the expected one.
    Complaint got(Ticket ticket, const Result<Answer>& answer);
    Complaint got(const LostNotice& notice);
    Complaint got(const WantedNotice& notice);
    Complaint got_ask(const WantedNotice& notice);
    // Checks a lookup in the history. The table performs such a lookup for a grant that it no
    // longer contains.
    Complaint got(const HistoryLookup& question);
    // Takes over the ids of a grant from a mirror of the same events.
    Complaint learn(const ModelMirror& other, const Grant& grant);
    // Compares all answers and notices in one decision, and checks that none are missing.
    Complaint got(const Decision& decision, bool time_is_up);
    // Checks that no answer is missing. Missing `lost` notices are reported only if `time_is_up` is
    // true, which means that the table has had enough time to send them.
    Complaint check_served(bool time_is_up) const;
    // Returns a text with all locks, waiters and closed resources of the model, with the ids of the
    // table if they are known.
    std::string print(Instant now) const;
    // Compare the state that the table shows with the state of the model.
    Complaint same_holders(const LockPage& page, Instant now) const;
    Complaint same_sessions(const std::vector<SessionView>& sessions, Instant now) const;
    // Compares the live grants of a session, oldest first, with their tokens and deadlines. Records
    // ids that were not known before.
    Complaint same_grants(const SessionId& session, const std::vector<Grant>& grants, Instant now);

    // Returns the answer that is expected for this ticket, or null if no answer is expected.
    const Result<Answer>* owed(Ticket ticket) const;
    // Forgets the expected answers after a crash of the manager.
    void forget_owed();

    ReferenceModel& model() { return model_; }
    const ReferenceModel& model() const { return model_; }
    // Replaces the model after a crash. `replay` applies the events that survived, which contain
    // ids of the table, to `model`.
    template <typename Replay>
    void replay_into(ReferenceModel& model, const Replay& replay) {
        replay([&](const Event& event, Ticket ticket, const SessionId& fresh, Instant now) {
            model.apply(translated(event), ticket, fresh, now);
        });
        const auto last = std::max(model_.last_token(), model.last_token());
        model_ = model;
        model_.skip_tokens(last);
    }

    GrantId to_model(GrantId real) const;
    std::optional<GrantId> to_real(GrantId model) const;
    std::uint64_t highest_token() const { return highest_; }

private:
    Event translated(Event event) const;
    bool matches(GrantId model, const SessionId& session, std::string_view resource,
                 const Holder* holder) const;
    Complaint cannot_be(std::uint64_t model, std::uint64_t real) const;
    Complaint bind(std::uint64_t model, std::uint64_t real);
    Complaint compare(const Result<Answer>& expected, const Result<Answer>& real);
    Complaint compare(const Grant& expected, const Grant& real);
    Complaint compare(const Error& expected, const Error& real);

    ReferenceModel model_;
    std::map<std::uint64_t, std::uint64_t> real_of_;
    std::map<std::uint64_t, std::uint64_t> model_of_;
    std::uint64_t highest_ = 0;
    // `decision_of_` contains the decision in which the model issued each of its ids. `range_of_`
    // contains the range of ids of the table for each decision.
    std::map<std::uint64_t, std::uint64_t> decision_of_;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> range_of_;
    std::uint64_t decisions_ = 0;
    std::map<Ticket, Result<Answer>> owed_;
    std::map<GrantId, LostNotice> lost_owed_;
    std::map<std::pair<SessionId, GrantId>, int> wanted_owed_;
    // The deadlines (Wanted::answer_by) of requests to take over a grant. Contains the requests of
    // which the holder has not been notified yet. Each notice is delivered once.
    std::map<std::pair<SessionId, GrantId>, std::vector<WallTime>> asked_owed_;
};

}  // namespace rocklock::proof
