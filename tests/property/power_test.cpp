// Simulates a power failure at every byte of the log. A lock manager executes a script; after each
// operation the log is cut at every position, the rest is opened again, and the result is compared
// with what was promised.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/lock.hpp>
#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FaultyStorage;
using testing::SimulatedClock;
using Complaint = std::optional<std::string>;
using State = std::set<std::string>;

LockManagerOptions by_hand() {
    LockManagerOptions options;
    options.background = false;
    return options;
}

LockRequest lock(const std::string& resource, Mode mode, bool subtree = false) {
    LockRequest request;
    request.resource = resource;
    request.mode = mode;
    request.subtree = subtree;
    return request;
}

std::vector<Holder> holders(LockManager& manager) {
    ListLocks everything;
    everything.limit = 10'000;
    return manager.list(everything).value().locks;
}

std::string text(GrantId grant) { return std::to_string(number(grant)); }

// The durable promises of all answers so far, stored outside the lock manager's store.
struct Promises {
    struct Held {
        Token token{};
        SessionId session;
        // A request that ends the grant, or changes its token, has been sent and not been answered.
        bool may_end = false;
        bool may_change = false;
    };
    std::map<GrantId, Held> held;
    // Grants that have ended, with an answer that promises durability.
    std::set<GrantId> ended;
    std::map<SessionId, BootTime> deadlines;
    Token highest{};
};

// The state that was found after a crash.
struct Found {
    Complaint wrong;
    State state;
    std::map<GrantId, Holder> holders;
    std::map<SessionId, milliseconds> remaining;
    Token next{};
};

State state_of(LockManager& manager) {
    State state;
    for (const Holder& holder : holders(manager)) {
        state.insert("lock " + holder.resource + " " + std::string(to_string(holder.mode)) +
                     (holder.subtree ? " subtree " : " ") + std::to_string(holder.permits) +
                     " grant " + text(holder.grant) + " token " +
                     std::to_string(number(holder.token)) + " of " + to_string(holder.session) +
                     " cause " + holder.cause);
    }
    const std::vector<SessionView> sessions = manager.sessions("").value();
    for (const SessionView& session : sessions) {
        state.insert("session " + to_string(session.id) + " " + session.principal + " " +
                     std::to_string(session.lease.count()));
        const std::vector<Grant> grants = manager.grants(session.id).value();
        for (const Grant& grant : grants) {
            state.insert("count " + text(grant.id) + " " + std::to_string(grant.count));
        }
    }
    for (const LockClass& known : manager.classes()) {
        state.insert("class " + known.pattern + " " + std::string(to_string(known.policy)) + " " +
                     std::string(to_string(known.steal)) + " " + std::to_string(known.permits));
    }
    return state;
}

// Opens the store that a crash has left, and acquires a lock in it.
Found inspect(FaultyStorage& storage, Clock& clock) {
    Found found;
    auto opened = LockManager::open(storage, clock, by_hand());
    if (!opened) {
        found.wrong = "it does not open: " + opened.error().message;
        return found;
    }
    LockManager& manager = **opened;
    found.wrong = manager.audit_invariants();
    if (found.wrong) return found;
    found.state = state_of(manager);
    for (const Holder& holder : holders(manager)) {
        found.holders[holder.grant] = holder;
    }
    const std::vector<SessionView> sessions = manager.sessions("").value();
    for (const SessionView& session : sessions) {
        found.remaining[session.id] = session.remaining;
    }
    OpenSession probe;
    probe.principal = "probe";
    Acquire acquire;
    acquire.session = manager.ask(probe).value().id;
    acquire.locks = {lock("probe", Mode::write)};
    found.next = manager.ask(acquire).value().token;
    found.wrong = manager.audit_invariants();
    return found;
}

Complaint judge_grant(const Found& found, GrantId id, const Promises::Held& held) {
    const auto holder = found.holders.find(id);
    if (holder == found.holders.end()) {
        if (held.may_end) return std::nullopt;
        return "grant " + text(id) + " was promised and is gone";
    }
    if (holder->second.session != held.session) return "grant " + text(id) + " changed hands";
    const Token token = holder->second.token;
    if (token == held.token || (held.may_change && token > held.token)) return std::nullopt;
    return "grant " + text(id) + " has another token than was promised";
}

// Checks that the recovered state keeps all promises that had been made at `crash`.
Complaint judge(const Found& found, const Promises& promises, BootTime crash) {
    if (found.wrong) return found.wrong;
    for (const auto& [id, held] : promises.held) {
        if (auto wrong = judge_grant(found, id, held)) return wrong;
    }
    for (const GrantId id : promises.ended) {
        if (found.holders.contains(id)) return "grant " + text(id) + " has come back";
    }
    Token highest = promises.highest;
    for (const auto& [id, holder] : found.holders) highest = std::max(highest, holder.token);
    if (found.next <= highest) return "a new token is not greater than all earlier tokens";
    for (const auto& [id, deadline] : promises.deadlines) {
        const auto remaining = found.remaining.find(id);
        if (remaining == found.remaining.end()) continue;
        if (crash + remaining->second + milliseconds{1} < deadline) {
            return "session " + to_string(id) + " ends before what was promised";
        }
    }
    return std::nullopt;
}

// The durability that the answer to an operation requires; see docs/semantics.md.
enum class Kept { deferred, written, durable };

struct Step {
    std::string what;
    Kept kept = Kept::durable;
    // The grants that the step ends, and the grant that may get a new token.
    std::vector<GrantId> ends;
    GrantId changes{};
};

// A manager. After each step, crashes are simulated by cutting its log.
class Life {
public:
    Life() { open(); }

    // Sends one request, then simulates the crashes. Returns the answer if there is one already.
    std::optional<Result<Answer>> act(const Step& step, Request request);
    template <typename R>
    typename R::Answer must(const Step& step, R request) {
        const std::string what = step.what;
        auto answer = act(step, Request(std::move(request)));
        BOOST_REQUIRE_MESSAGE(answer, what << ": no answer");
        // The text is needed even for a success if successes are logged.
        const std::string why = *answer ? std::string() : answer->error().message;
        BOOST_REQUIRE_MESSAGE(*answer, what << ": " << why);
        return std::get<typename R::Answer>(**std::move(answer));
    }
    // Returns the answer to a step that had to wait.
    Result<Answer> answer(const std::string& what) { return answers_.at(what); }
    SessionId session(const std::string& principal, seconds lease = seconds{60});
    Grant acquire(const std::string& what, const SessionId& session,
                  std::vector<LockRequest> locks);

    SimulatedClock& clock() { return clock_; }
    int cuts() const { return cuts_; }
    int steps() const { return steps_; }
    const Promises& promises() const { return promises_; }
    Found reopened() { return reopened(storage_->log().size(), false); }
    BootTime now() { return clock_.now().boot; }

private:
    struct Cut {
        std::size_t records;
        std::string where;
        State state;
    };

    void open() {
        storage_ = std::make_unique<FaultyStorage>(clock_);
        manager_ = LockManager::open(*storage_, clock_, by_hand()).value();
        known_ = {state_of(*manager_)};
    }
    void note(const Step& step, const Result<Answer>& answer);
    Found reopened(std::size_t bytes, bool same_boot);
    void cut(const std::string& when, std::size_t bytes, bool same_boot);
    void cut_everywhere(const Step& step, std::size_t first);
    void cut_between(const Step& step, const std::string& when);
    void resolve(std::size_t first);

    SimulatedClock clock_;
    std::unique_ptr<FaultyStorage> storage_;
    std::unique_ptr<LockManager> manager_;
    Promises promises_;
    std::map<std::string, Result<Answer>> answers_;
    // known_[n] is the state after the first n records of the log.
    std::vector<State> known_;
    // Cuts that have not been compared with a state yet.
    std::vector<Cut> open_cuts_;
    int cuts_ = 0;
    int steps_ = 0;
};

void Life::note(const Step& step, const Result<Answer>& answer) {
    answers_.insert_or_assign(step.what, answer);
    if (!answer) {
        for (const GrantId id : step.ends) promises_.held[id].may_end = false;
        return;
    }
    for (const GrantId id : step.ends) {
        promises_.held.erase(id);
        if (step.kept == Kept::durable) promises_.ended.insert(id);
    }
    if (const auto* grant = std::get_if<Grant>(&*answer)) {
        promises_.held[grant->id] = {grant->token, grant->session};
        promises_.highest = std::max(promises_.highest, grant->token);
        if (!grant->cap) promises_.deadlines[grant->session] = grant->deadline;
    }
    if (const auto* session = std::get_if<SessionInfo>(&*answer)) {
        promises_.deadlines[session->id] = session->deadline;
    }
}

Found Life::reopened(std::size_t bytes, bool same_boot) {
    ++cuts_;
    const auto storage = storage_->reopen_after_power_cut(bytes);
    SimulatedClock clock;
    clock.set_boot(clock_.now().boot);
    clock.set_wall(clock_.now().wall);
    if (!same_boot) clock.reboot("boot-2");
    return inspect(*storage, clock);
}

void Life::cut(const std::string& when, std::size_t bytes, bool same_boot) {
    Found found = reopened(bytes, same_boot);
    const auto ends = storage_->log_ends();
    const std::string where = when + (same_boot ? ", killed after " : ", power cut after ") +
                              std::to_string(bytes) + " bytes of " +
                              std::to_string(storage_->log().size());
    const auto wrong = judge(found, promises_, clock_.now().boot);
    BOOST_CHECK_MESSAGE(!wrong, where << ": " << wrong.value_or(""));
    const auto records =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), bytes) - ends.begin());
    open_cuts_.push_back({records, where, std::move(found.state)});
}

// Cuts at each byte of the records that the step has written: those from `first` on.
void Life::cut_everywhere(const Step& step, std::size_t first) {
    const auto ends = storage_->log_ends();
    const std::size_t begin = first == 0 ? 0 : ends[first - 1];
    for (std::size_t bytes = begin; bytes <= storage_->log().size(); ++bytes) {
        cut(step.what + " is written", bytes, true);
        cut(step.what + " is written", bytes, false);
    }
}

// Cuts between all records (a power failure), and after the last one (the process is killed).
void Life::cut_between(const Step& step, const std::string& when) {
    cut(step.what + when, 0, false);
    for (const std::size_t end : storage_->log_ends()) cut(step.what + when, end, false);
    cut(step.what + when, storage_->log().size(), true);
}

// Compares the state of each cut with the states before and after the step.
void Life::resolve(std::size_t first) {
    const State after = state_of(*manager_);
    const State before = known_.back();
    for (const Cut& cut : open_cuts_) {
        bool equal = false;
        if (cut.records <= first) equal = cut.state == known_.at(cut.records);
        if (cut.records > first) equal = cut.state == after;
        BOOST_CHECK_MESSAGE(equal, cut.where << ": the state is none that there was");
    }
    open_cuts_.clear();
    const std::size_t left = storage_->log_ends().size();
    if (left == 0) known_.clear();
    known_.resize(left + 1, after);
}

std::optional<Result<Answer>> Life::act(const Step& step, Request request) {
    ++steps_;
    clock_.advance(milliseconds{7});
    const std::size_t first = storage_->log_ends().size();
    for (const GrantId id : step.ends) promises_.held.at(id).may_end = true;
    if (step.changes != GrantId{}) promises_.held.at(step.changes).may_change = true;
    manager_->submit(std::move(request),
                     [this, step](const Result<Answer>& answer) { note(step, answer); });
    if (storage_->queued() > 0) BOOST_REQUIRE(storage_->write_next(storage_->queued()));
    cut_everywhere(step, first);
    // An answer before the sync is allowed only for operations that may be lost in a power failure
    // (requirement D3).
    manager_->deliver_done();
    const bool early = answers_.contains(step.what) && answers_.at(step.what);
    BOOST_CHECK_MESSAGE(!early || step.kept != Kept::durable,
                        step.what << " is answered before it is synced");
    // An answer that claims durability must survive even the loss of the whole log.
    cut(step.what + " is written and delivered", 0, false);
    manager_->tick();
    resolve(first);
    cut_between(step, " is answered");
    resolve(storage_->log_ends().size());
    const auto found = answers_.find(step.what);
    if (found == answers_.end()) return std::nullopt;
    return found->second;
}

SessionId Life::session(const std::string& principal, seconds lease) {
    OpenSession open;
    open.principal = principal;
    open.lease = lease;
    return must({"open " + principal, Kept::written, {}, {}}, open).id;
}

Grant Life::acquire(const std::string& what, const SessionId& session,
                    std::vector<LockRequest> locks) {
    Acquire acquire;
    acquire.session = session;
    acquire.locks = std::move(locks);
    return must({what, Kept::durable, {}, {}}, acquire);
}

LockClass stealable() {
    LockClass docs;
    docs.pattern = "docs/*";
    docs.policy = Policy::read_write;
    docs.steal = StealPolicy::anyone;
    return docs;
}

LockClass counted() {
    LockClass seats;
    seats.pattern = "seats";
    seats.permits = 3;
    return seats;
}

// Acquires locks of all kinds, in two sessions.
struct Cast {
    SessionId ann;
    SessionId bob;
    Grant doc;
    Grant set;
};

Cast take_everything(Life& life) {
    Cast cast;
    cast.ann = life.session("ann");
    cast.bob = life.session("bob", seconds{90});
    life.must({"put docs", Kept::durable, {}, {}}, PutClass{stealable()});
    life.must({"put seats", Kept::durable, {}, {}}, PutClass{counted()});
    cast.doc = life.acquire("one", cast.ann, {lock("docs/1", Mode::read)});
    cast.set =
        life.acquire("a set", cast.ann,
                     {lock("a", Mode::write), lock("b", Mode::read), lock("c/d", Mode::exclusive)});
    life.acquire("a subtree", cast.bob, {lock("tree", Mode::write, true)});
    LockRequest two;
    two.resource = "seats";
    two.permits = 2;
    life.acquire("permits", cast.bob, {two});
    return cast;
}

void renew_and_convert(Life& life, const Cast& cast) {
    life.must({"renew", Kept::written, {}, {}}, RenewSession{cast.ann, {}, {}, {}, {}});
    life.must({"renew longer", Kept::durable, {}, {}},
              RenewSession{cast.ann, seconds{120}, {}, {}, {}});
    life.must({"renew again", Kept::written, {}, {}}, RenewSession{cast.ann, {}, {}, {}, {}});
    Convert up;
    up.session = cast.ann;
    up.grant = cast.doc.id;
    up.mode = Mode::write;
    life.must({"convert up", Kept::durable, {}, cast.doc.id}, up);
    Convert down = up;
    down.mode = Mode::read;
    life.must({"convert down", Kept::written, {}, {}}, down);
}

void count_twice(Life& life, const Cast& cast) {
    const Grant counted = life.acquire("to count", cast.bob, {lock("counted", Mode::write)});
    Acquire again;
    again.session = cast.bob;
    again.locks = {lock("counted", Mode::write)};
    again.held = Held::count;
    life.must({"count", Kept::durable, {}, {}}, again);
    life.must({"lower the count", Kept::deferred, {}, {}}, Release{cast.bob, counted.id});
    life.must({"release", Kept::deferred, {counted.id}, {}}, Release{cast.bob, counted.id});
}

// A release that is answered at once, and a waiting request that the release lets through, which is
// not answered yet.
void hand_on(Life& life, const Cast& cast) {
    Acquire wait;
    wait.session = cast.bob;
    wait.locks = {lock("b", Mode::write)};
    wait.patience = no_limit;
    BOOST_CHECK(!life.act({"wait", Kept::durable, {}, {}}, wait));
    life.must({"release to a waiter", Kept::deferred, {cast.set.id}, {}},
              Release{cast.ann, cast.set.id});
    BOOST_CHECK(life.answer("wait"));
}

void take_by_force(Life& life, const Cast& cast) {
    const Grant stolen = life.must({"steal", Kept::durable, {cast.doc.id}, {}},
                                   Steal{cast.bob, cast.doc.id, "ann is on holiday", false});
    const Grant moved = life.must({"transfer", Kept::durable, {stolen.id}, {}},
                                  Transfer{cast.bob, stolen.id, cast.ann});
    life.must({"break", Kept::durable, {moved.id}, {}}, Break{moved.id, "to test it", "root"});
    life.must({"reacquire", Kept::durable, {}, {}}, Reacquire{cast.ann, moved.id});
}

void live(Life& life) {
    const Cast cast = take_everything(life);
    renew_and_convert(life, cast);
    count_twice(life, cast);
    hand_on(life, cast);
    take_by_force(life, cast);
    const Grant last = life.acquire("the last", cast.ann, {lock("last", Mode::write)});
    std::vector<GrantId> of_ann;
    for (const auto& [id, held] : life.promises().held) {
        if (held.session == cast.ann) of_ann.push_back(id);
    }
    BOOST_CHECK(std::count(of_ann.begin(), of_ann.end(), last.id) == 1);
    life.must({"close", Kept::deferred, of_ann, {}}, CloseSession{cast.ann});
    life.must({"delete docs", Kept::durable, {}, {}}, DeleteClass{"docs/*"});
}

BOOST_AUTO_TEST_SUITE(a_power_cut)

// Answered grants survive (requirement D1), with the releases that they depend on (requirement D4).
// A lost release or renewal shortens no lease (invariant D2). The recovered state is always one
// that there was after a decision (invariants D3 and D4).
BOOST_AUTO_TEST_CASE(at_any_byte_of_any_operation_keeps_every_promise) {
    Life life;
    live(life);
    BOOST_TEST_MESSAGE(life.steps() << " steps, " << life.cuts() << " cuts");
    BOOST_CHECK_GE(life.steps(), 25);
    BOOST_CHECK_GE(life.cuts(), 5000);
}

// Even if grants are lost, no token is reused: the range of tokens was reserved by a commit that
// was synced (F2, S4).
BOOST_AUTO_TEST_CASE(that_loses_unsynced_writes_repeats_no_token) {
    SimulatedClock clock;
    FaultyStorage storage(clock);
    LockManagerOptions options = by_hand();
    options.durability = Durability::written;
    options.table.reserve = 16;
    auto manager = LockManager::open(storage, clock, options).value();
    OpenSession open;
    open.principal = "ann";
    Acquire acquire;
    acquire.session = manager->ask(open).value().id;
    std::size_t max_lost = 0;
    for (int i = 0; i < 100; ++i) {
        acquire.locks = {lock("a" + std::to_string(i), Mode::write)};
        const Token last = manager->ask(acquire).value().token;
        std::vector<std::size_t> cuts = storage.log_ends();
        max_lost = std::max(max_lost, cuts.size());
        cuts.push_back(0);
        for (const std::size_t cut : cuts) {
            const auto left = storage.reopen_after_power_cut(cut);
            SimulatedClock later;
            later.reboot("boot-2");
            const Found found = inspect(*left, later);
            BOOST_CHECK_MESSAGE(!found.wrong && found.next > last,
                                "grant " << i << ", cut at " << cut << ": token "
                                         << number(found.next) << " after " << number(last) << ' '
                                         << found.wrong.value_or(""));
        }
    }
    BOOST_CHECK_GE(max_lost, 4U);
}

// Checks the checker: each wrong promise must be detected.
BOOST_AUTO_TEST_CASE(that_breaks_a_promise_is_detected) {
    Life life;
    take_everything(life);
    const Found found = life.reopened();
    const Promises promises = life.promises();
    BOOST_CHECK(!judge(found, promises, life.now()));

    Promises lost = promises;
    lost.held[GrantId{1}] = {Token{1}, {}};
    BOOST_CHECK(judge(found, lost, life.now()));

    Promises other_token = promises;
    other_token.held.begin()->second.token = Token{number(promises.highest) + 1};
    BOOST_CHECK(judge(found, other_token, life.now()));

    Promises other_holder = promises;
    other_holder.held.begin()->second.session = SessionId{};
    BOOST_CHECK(judge(found, other_holder, life.now()));

    Promises ended = promises;
    ended.ended.insert(promises.held.begin()->first);
    BOOST_CHECK(judge(found, ended, life.now()));

    Promises higher = promises;
    higher.highest = found.next;
    BOOST_CHECK(judge(found, higher, life.now()));

    Promises longer = promises;
    longer.deadlines.begin()->second += seconds{1000};
    BOOST_CHECK(judge(found, longer, life.now()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
