// Holds the lock table to the reference model: what the model says must be answered, in which
// numbers the real one answers it, and what is still owed.
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

// Every function that returns an optional string returns what is wrong.
class ModelMirror {
public:
    using Complaint = std::optional<std::string>;

    // Applies one event, in real numbers, to the model. Its answers are owed from then on.
    void expect(const Event& event, Ticket ticket, const SessionId& fresh, Instant now);
    // Answers that came.
    Complaint got(Ticket ticket, const Result<Answer>& answer);
    Complaint got(const LostNotice& notice);
    Complaint got(const WantedNotice& notice);
    Complaint got_ask(const WantedNotice& notice);
    // The table says that it does not know the grant any more.
    Complaint got(const HistoryLookup& question);
    // All that one decision said, and that nothing is missing of it.
    Complaint got(const Decision& decision, bool time_is_up);
    // Nothing is owed any more; `lost` only when the table has had its time to clean up.
    Complaint check_served(bool time_is_up) const;
    // All that the model knows to be held, waited for or closed, in real numbers where they are
    // known.
    std::string print(Instant now) const;
    // The table's own view of itself agrees with the model's.
    Complaint same_holders(const LockPage& page, Instant now) const;
    Complaint same_sessions(const std::vector<SessionView>& sessions, Instant now) const;
    // The live grants of a session, oldest first, with their tokens and deadlines. Numbers that
    // nobody was told before are known from then on.
    Complaint same_grants(const SessionId& session, const std::vector<Grant>& grants, Instant now);

    // What the model owes for this ticket, if anything.
    const Result<Answer>* owed(Ticket ticket) const;
    // Forgets what is owed: the manager died.
    void forget_owed();

    ReferenceModel& model() { return model_; }
    const ReferenceModel& model() const { return model_; }
    // In place of another life: `tell` applies to `model` what survived of it, in real numbers.
    template <typename Tell>
    void replay_into(ReferenceModel& model, const Tell& tell) {
        tell([&](const Event& event, Ticket ticket, const SessionId& fresh, Instant now) {
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
    bool looks_like(GrantId model, const SessionId& session, std::string_view resource,
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
    // In which decision the model gave a number, and what real numbers each decision gave.
    std::map<std::uint64_t, std::uint64_t> decision_of_;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> range_of_;
    std::uint64_t decisions_ = 0;
    std::map<Ticket, Result<Answer>> owed_;
    std::map<GrantId, LostNotice> lost_owed_;
    std::map<std::pair<SessionId, GrantId>, int> wanted_owed_;
    // Asked to give it up, until when; each is told once.
    std::map<std::pair<SessionId, GrantId>, std::vector<WallTime>> asked_owed_;
};

}  // namespace rocklock::proof
