// The two implementations on which scripts are run: the lock table and the reference model.
#include <memory>
#include <utility>

#include "support/listing.hpp"
#include "support/model_mirror.hpp"
#include "support/scenario/scenario.hpp"
#include "support/scenario/scenario_words.hpp"

namespace rocklock::proof {
namespace {

class TableSubject final : public Subject {
public:
    TableSubject() { begin(Instant{BootTime{std::chrono::hours{1}}, {}}, true); }

    void apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
               Decision& decision) override {
        table_->apply(event, ticket, fresh, now, decision);
        keep(decision);
    }
    std::optional<BootTime> next_wake() const override { return table_->next_wake(); }
    void restart(Instant now, bool exact) override { begin(now, exact); }
    LockPage list(Instant now) const override {
        ListLocks all;
        all.limit = 10'000;
        return proof::list(*table_, all, now).value();
    }
    bool holds(const SessionId& session, std::string_view resource, Mode mode,
               Instant now) const override {
        return table_->holds(session, resource, mode, now);
    }
    std::optional<std::string> audit(Instant now) const override {
        return table_->audit_invariants(now);
    }

private:
    class FixedClock final : public Clock {
    public:
        Instant now() override { return {}; }
        std::string boot_id() override { return "boot"; }
    };

    void begin(Instant now, bool exact) {
        table_ = std::make_unique<LockTable>(LockTableOptions{}, SessionKey{});
        RecoveryFacts facts;
        facts.exact = exact;
        facts.boot_epoch = exact ? epoch_ : ++epoch_;
        facts.now = now;
        Decision decision;
        const auto snapshot = storage_->snapshot();
        if (auto recovered = table_->recover(*snapshot, facts, decision); !recovered) {
            throw BadScript("recovery: " + recovered.error().message);
        }
        keep(decision);
    }

    void keep(const Decision& decision) {
        if (decision.batch.empty()) return;
        if (auto kept = storage_->commit(decision.batch); !kept)
            throw BadScript("commit: " + kept.error().message);
    }

    FixedClock clock_;
    std::unique_ptr<Storage> storage_ = make_memory_storage(clock_);
    std::unique_ptr<LockTable> table_;
    std::uint32_t epoch_ = 1;
};

class ModelSubject final : public Subject {
public:
    void apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
               Decision& decision) override {
        auto expected = model_.apply(event, ticket, fresh, now);
        decision.replies = std::move(expected.replies);
        for (auto& notice : expected.lost) {
            if (notice.ending.outcome != Outcome::expired) notice.ending.by = by(event);
            decision.lost.push_back(notice);
        }
        for (auto& notice : expected.wanted) {
            notice.wanted.by = by(event);
            decision.wanted.push_back(notice);
        }
    }
    std::optional<BootTime> next_wake() const override { return model_.next_change(); }
    void restart(Instant now, bool exact) override { model_.restart(now, exact); }
    LockPage list(Instant now) const override {
        LockPage page;
        for (const auto& grant : model_.grants()) {
            if (!model_.lives(grant, now.boot)) continue;
            for (const auto& lock : grant.locks) {
                Holder holder;
                holder.resource = lock.resource;
                holder.mode = lock.mode;
                holder.subtree = lock.subtree;
                holder.permits = lock.permits;
                holder.grant = grant.id;
                holder.session = grant.session;
                holder.cause = lock.cause;
                page.locks.push_back(holder);
            }
        }
        return page;
    }
    bool holds(const SessionId& session, std::string_view resource, Mode mode,
               Instant now) const override {
        for (const auto& grant : model_.grants()) {
            if (grant.session != session || !model_.lives(grant, now.boot)) continue;
            for (const auto& lock : grant.locks) {
                ModelLock target;
                target.resource = resource;
                if (lock.permits == 0 && lock.mode >= mode &&
                    (lock.resource == resource ||
                     (lock.subtree && ReferenceModel::overlap(lock, target)))) {
                    return true;
                }
            }
        }
        return false;
    }
    std::optional<std::string> audit(Instant now) const override {
        return model_.contradiction(now.boot);
    }
    bool reports_cycles() const override { return false; }

private:
    std::string by(const Event& event) const {
        const auto* request = std::get_if<Request>(&event);
        if (request == nullptr) return {};
        const ModelSession* asker = nullptr;
        if (const auto* acquire = std::get_if<Acquire>(request)) {
            if (!acquire->session) return acquire->opens->principal;
            asker = model_.session(*acquire->session);
        }
        if (const auto* forced = std::get_if<Break>(request)) return forced->by;
        if (const auto* ended = std::get_if<EndSession>(request)) return ended->by;
        if (const auto* theft = std::get_if<Steal>(request)) asker = model_.session(theft->session);
        if (const auto* convert = std::get_if<Convert>(request))
            asker = model_.session(convert->session);
        return asker != nullptr ? asker->principal : "";
    }

    ReferenceModel model_;
};

}  // namespace

std::unique_ptr<Subject> make_table_subject() { return std::make_unique<TableSubject>(); }
std::unique_ptr<Subject> make_model_subject() { return std::make_unique<ModelSubject>(); }

}  // namespace rocklock::proof
