#include "simulation/world.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"
#include "simulation/random.hpp"
#include "simulation/watcher.hpp"
#include "support/model_mirror.hpp"

namespace rocklock::simulation {
namespace {

using namespace std::chrono_literals;
using proof::ModelMirror;
using proof::ReferenceModel;
using std::chrono::milliseconds;
using testing::FaultyStorage;
using testing::SimulatedClock;

// The store that the manager sees. It makes progress only when the world says so, but for the
// moments in which a manager opens; once dead it answers nothing.
class SteppedStorage final : public Storage {
public:
    explicit SteppedStorage(std::unique_ptr<FaultyStorage> disk) : disk_(std::move(disk)) {}

    CommitNumber enqueue(Batch batch, Durability durability, rocklock::Verdict* verdict) override {
        if (dead) return last_;
        last_ = disk_->enqueue(std::move(batch), durability, verdict);
        return last_;
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        if (dead) return Error(ErrorCode::io_error, "the process is dead");
        if (obliging) {
            if (auto pumped = disk_->pump(); !pumped) return pumped;
        }
        return disk_->wait(number, durability);
    }
    bool done(CommitNumber number, Durability durability) const override {
        return !dead && disk_->done(number, durability);
    }
    std::unique_ptr<Snapshot> snapshot() const override { return disk_->snapshot(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return disk_->get(family, key);
    }
    std::optional<Error> failure() const override {
        if (dead) return Error(ErrorCode::io_error, "the process is dead");
        return disk_->failure();
    }
    bool suspect() const override { return disk_->suspect(); }
    Result<void> mark_sound() override { return disk_->mark_sound(); }
    Result<void> close() override { return dead ? Result<void>() : disk_->close(); }

    FaultyStorage& disk() { return *disk_; }
    const FaultyStorage& disk() const { return *disk_; }
    CommitNumber last() const { return last_; }

    bool obliging = false;
    bool dead = false;

private:
    std::unique_ptr<FaultyStorage> disk_;
    CommitNumber last_ = 0;
};

// What happened in this life of the manager, to be told to a new model after a crash.
struct Happened {
    enum class Kind : std::uint8_t { event, restart } kind = Kind::event;
    Event event;
    Ticket ticket{};
    SessionId fresh;
    Instant now;
    // The last commit when it was decided.
    CommitNumber commit = 0;
    bool exact = true;
    std::uint64_t skip_to = 0;
};

// One request of a client, however often it is sent.
struct Call {
    Event event;
    std::size_t client = 0;
    BootTime sent;
    bool forgotten = false;
};

struct Client {
    std::string principal;
    std::uint32_t uid = 0;
    std::optional<SessionId> session;
    std::string opening;
    // T6: what it knows by itself of its own lease.
    BootTime valid_until{};
    std::map<GrantId, Grant> believed;
    // Grants that it has asked to give up, transfer or convert: no longer relied upon.
    std::set<GrantId> given_up;
    std::uint64_t requests = 0;
};

// What somebody was told, and must find so after any crash.
struct Promise {
    SessionId session;
    std::vector<GrantedLock> locks;
};

class World {
public:
    World(std::uint64_t seed, bool trace, Counts& counts)
        : random_(seed * 0x2545F4914F6CDD1DU + 1), counts_(counts), trace_on_(trace) {
        verdict_.seed = seed;
    }

    Verdict run() {
        set_up();
        const auto steps = 60 + random_.below(240);
        for (std::uint64_t i = 0; i < steps && !verdict_.wrong; ++i) {
            ++verdict_.steps;
            step();
            check();
        }
        if (!verdict_.wrong) quiet();
        bury();
        return std::move(verdict_);
    }

private:
    // ---- Making the world
    // --------------------------------------------------------------------------------
    void set_up() {
        storage_ = std::make_unique<SteppedStorage>(
            std::make_unique<FaultyStorage>(clock_, FaultyStorage::Pump::by_hand));
        open(true);
        const std::size_t clients = 2 + random_.below(4);
        run_together_ = random_.percent(25);
        for (std::size_t i = 0; i < clients; ++i) {
            Client client;
            // Some are the same person in two tabs.
            client.principal = std::string(1, static_cast<char>('a' + (i == 3 ? 0 : i)));
            client.uid = static_cast<std::uint32_t>(i);
            // Some would be taken for one another if the parts of a key ran together (S10).
            if (run_together_ && i != 3) {
                client.uid = 0;
                client.principal = "a" + std::string(i, '1');
            }
            clients_.push_back(client);
        }
        const std::vector<std::string> all{"a", "b", "a/x", "a/x/1", "a/y", "b/x", "d", "e"};
        // In some they all meet at one, or at two.
        const std::size_t few =
            random_.percent(30) ? 1 + random_.below(2) : 2 + random_.below(all.size() - 1);
        names_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(few));
        closures_ = random_.percent(30);
        if (random_.percent(30))
            put_class("p/*", [&](LockClass& c) {
                c.permits = static_cast<std::uint32_t>(1 + random_.below(3));
                counting_.emplace_back("p/1");
                counting_.emplace_back("p/2");
            });
        if (random_.percent(60)) put_class("*", [&](LockClass&) {});
        if (random_.percent(40)) put_class("a/*", [&](LockClass&) {});
        if (random_.percent(30))
            put_class("d", [&](LockClass& c) {
                c.dependants.push_back({"e", random_.percent(50) ? Mode::read : Mode::write});
            });
        quiet();
    }

    template <typename F>
    void put_class(const std::string& pattern, const F& change) {
        LockClass made;
        made.pattern = pattern;
        made.policy = static_cast<Policy>(random_.below(3));
        made.lease = milliseconds{200 + random_.below(2000)};
        if (random_.percent(20)) made.max_lease = made.lease + milliseconds{random_.below(4000)};
        if (random_.percent(20)) made.max_hold = milliseconds{300 + random_.below(2000)};
        if (closures_ && made.max_hold == 0ms && random_.percent(50))
            made.min_hold = milliseconds{100 + random_.below(1000)};
        if (closures_ && random_.percent(50))
            made.lock_delay = milliseconds{100 + random_.below(1000)};
        made.steal =
            random_.pick(std::vector{StealPolicy::anyone, StealPolicy::anyone, StealPolicy::idle,
                                     StealPolicy::ask, StealPolicy::never});
        if (made.steal == StealPolicy::idle || made.steal == StealPolicy::ask)
            made.steal_after = milliseconds{20 + random_.below(600)};
        if (random_.percent(15))
            made.queue_limit = static_cast<std::uint32_t>(1 + random_.below(3));
        change(made);
        send(0, Request(PutClass{made}));
        deliver_to_manager();
    }

    void open(bool first) {
        storage_->obliging = true;
        LockManagerOptions options;
        options.background = false;
        options.session_ids = [this] { return fresh_; };
        options.table.reserve = 64;
        if (watched()) options.events_kept = 100'000;
        auto opened = LockManager::open(*storage_, clock_, std::move(options));
        storage_->obliging = false;
        if (!opened) return fail("opening: " + opened.error().message);
        manager_ = *std::move(opened);
        ++life_;
        manager_->on_lost([this, life = life_](const LostNotice& notice) {
            if (life == life_) heard(notice);
        });
        manager_->on_wanted([this, life = life_](const WantedNotice& notice) {
            if (life != life_) return;
            if (notice.wanted.answer_by) {
                count_kind("wanted: asked");
            } else {
                waited_for_ = notice.wanted.grant;
            }
            complain(mirror_.got(notice));
        });
        if (first) return;
    }

    // The object goes, and nothing it does on its way reaches the store or a client.
    void bury() {
        if (manager_ == nullptr) return;
        ++life_;
        storage_->dead = true;
        manager_.reset();
    }

    // ---- Steps
    // -------------------------------------------------------------------------------------------
    void step() {
        const auto dice = random_.below(1000);
        if (manager_->failure() || storage_->disk().failure()) return crash();
        if (dice < 330) return act();
        if (dice < 600) return deliver_to_manager();
        if (dice < 670) return write();
        if (dice < 740) return sync();
        if (dice < 820) return deliver();
        if (dice < 910) return pass_time();
        if (dice < 920) return stall();
        if (dice < 940) return cancel();
        if (dice < 955) return wall();
        if (dice < 975) return quiet();
        if (dice < 990) return crash();
        if (dice < 995) return plan_failure();
        return deliver_to_manager();
    }

    void write() {
        if (storage_->disk().failure()) return;
        const auto count = 1 + random_.below(3);
        say("write " + std::to_string(count));
        if (!storage_->disk().write_next(count)) count_kind("storage: a write failed");
    }

    void sync() {
        if (storage_->disk().failure()) return;
        say("sync");
        if (!storage_->disk().sync()) count_kind("storage: a sync failed");
    }

    void deliver() {
        say("deliver");
        manager_->deliver_done();
    }

    void plan_failure() {
        // A minimum hold begins anew when nobody knows how much of it has passed; the model does
        // not.
        if (closures_) return;
        const bool on_sync = random_.percent(60);
        say(on_sync ? "the next sync will fail" : "a write will fail soon");
        storage_->disk().fail_nth(on_sync ? FaultyStorage::Call::sync : FaultyStorage::Call::write,
                                  1 + random_.below(2));
    }

    void wall() {
        const std::vector<milliseconds> jumps{1s, -1s, 1h, -1h, 24h * 3650, -24h * 3650, 1ms, -7ms};
        const auto by = random_.pick(jumps);
        say("wall clock jumps " + std::to_string(by.count()) + " ms");
        clock_.jump_wall(by);
        count_kind("clock: the wall clock jumps");
    }

    // To the next moment at which something is due, or nearly, or beyond it.
    void pass_time() {
        const auto next = mirror_.model().next_change();
        const auto now = clock_.now().boot;
        std::chrono::nanoseconds by = milliseconds{random_.below(400)};
        if (next && *next > now && *next - now < 1h) {
            if (random_.percent(40)) by = *next - now;
            if (random_.percent(10)) by = *next - now - 1ns;
            // T2: whatever is due is decided at its very moment.
            by = std::min<std::chrono::nanoseconds>(by, *next - now);
        }
        if (next && *next <= now) by = 0ns;
        clock_.advance(by);
        say("+" +
            std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(by).count()) +
            "us");
        tick();
    }

    void tick() {
        if (manager_->failure()) return;
        if (storage_->disk().failure()) return;
        Happened tick;
        tick.event = Tick{};
        tick.now = clock_.now();
        tick.ticket = Ticket{++tickets_};
        expect(tick);
        [[maybe_unused]] const auto next = manager_->decide_due();
        log_.back().commit = storage_->last();
        ticked_ = true;
    }

    // The manager stands still for a while; then the renewals that were waiting for it are judged
    // first.
    void stall() {
        const auto before = manager_->last_decision();
        clock_.advance(milliseconds{250 + random_.below(2500)});
        say("stalled");
        count_kind("clock: the manager was stalled");
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            auto& client = clients_[i];
            if (!client.session || !random_.percent(60)) continue;
            RenewSession late;
            late.session = *client.session;
            late.as_of = before;
            // It was sent while the manager stood still.
            send(i, Request(late), before);
            deliver_to_manager(calls_waiting_.size() - 1, false);
            count_kind("renew: late, after a stall");
        }
        tick();
    }

    void cancel() {
        if (in_flight_.empty()) return;
        auto chosen = in_flight_.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(in_flight_.size())));
        tick();
        Happened happened;
        happened.event = CancelWait{chosen->first};
        happened.now = clock_.now();
        happened.ticket = Ticket{++tickets_};
        say("cancel #" + std::to_string(static_cast<std::uint64_t>(chosen->first)));
        expect(happened);
        manager_->cancel(chosen->second);
        log_.back().commit = storage_->last();
    }

    // Everything that can happen has happened; then all must agree.
    void quiet() {
        say("quiet");
        if (manager_->failure() || storage_->disk().failure()) return crash();
        while (!calls_waiting_.empty() && !verdict_.wrong) {
            if (storage_->disk().failure()) return;
            deliver_to_manager(0, true);
        }
        tick();
        if (storage_->disk().failure()) return;
        // A planned failure may strike now.
        for (int rounds = 0; rounds < 4; ++rounds) {
            if (!storage_->disk().pump()) return count_kind("storage: a write failed");
            manager_->deliver_done();
        }
        count_kind("quiet: everything compared");
        complain(mirror_.check_served(true));
        watch();
        compare("at rest");
        const auto stuck = mirror_.model().stuck(clock_.now().boot);
        if (!stuck.empty()) fail("Q6: a cycle persists");
    }

    // In some worlds there is somebody who follows what happens.
    bool watched() const { return verdict_.seed % 4 != 0; }

    void watch() {
        if (!watched() || verdict_.wrong || manager_->failure() || storage_->disk().failure()) {
            return;
        }
        WatchRequest request;
        request.after = watcher_.after();
        request.limit = 10'000;
        manager_->submit_watch(request, [this](const Result<EventPage>& page) {
            if (!page) return fail("watching: " + page.error().message);
            for (const LockEvent& event : page->events) {
                count_kind("event: " + std::string(to_string(event.type)));
            }
            complain(after_restart_ ? watch_anew(*page) : watcher_.hear(*page));
        });
    }

    std::optional<std::string> watch_anew(const EventPage& page) {
        ListLocks all;
        all.limit = 10'000;
        const auto table = manager_->list(all);
        if (!table) return table.error().message;
        return watcher_.restart(page, *table, [this](const std::string& resource) {
            return manager_->history({resource, 1000, ""});
        });
    }

    void compare(const std::string& when) {
        const auto now = clock_.now();
        ListLocks all;
        all.limit = 10'000;
        const auto page = manager_->list(all);
        if (!page) return fail(when + ": " + page.error().message);
        if (auto wrong = mirror_.same_holders(*page, now)) return fail(when + ": " + *wrong);
        if (watched() && !after_restart_) complain(watcher_.same(*page));
        const auto sessions = manager_->sessions({});
        if (!sessions) return fail(when + ": " + sessions.error().message);
        if (auto wrong = mirror_.same_sessions(*sessions, now)) return fail(when + ": " + *wrong);
        exclude(*page, when);
        for (const auto& holder : page->locks) {
            if (told_lost_.contains(holder.grant)) {
                fail(when + ": grant " + std::to_string(number(holder.grant)) +
                     " is held, and its session was told that it was lost");
            }
            if (holder.remaining < 0ms) fail(when + ": a negative duration");
        }
    }

    // S1, from the list alone: nobody's model is asked.
    void exclude(const LockPage& page, const std::string& when) {
        const auto covers = [](const Holder& above, const Holder& below) {
            return above.resource == below.resource ||
                   (above.subtree && below.resource.starts_with(above.resource + "/"));
        };
        for (const auto& one : page.locks) {
            for (const auto& other : page.locks) {
                if (one.session == other.session || one.permits > 0 || other.permits > 0) continue;
                if (one.mode == Mode::read && other.mode == Mode::read) continue;
                if (covers(one, other)) fail(when + ": S1: " + one.resource + " is held twice");
            }
        }
    }

    // ---- Clients
    // -----------------------------------------------------------------------------------------
    void act() {
        if (refused_steal_ != GrantId{} && random_.percent(40)) return come_again();
        const std::size_t index = random_.below(clients_.size());
        auto& client = clients_[index];
        if (!client.session || random_.percent(3)) {
            OpenSession open;
            open.principal = client.principal;
            open.uid = client.uid;
            open.lease = milliseconds{100 + random_.below(random_.percent(20) ? 1000 : 20'000)};
            if (client.opening.empty() || random_.percent(20)) {
                client.opening = run_together_ ? std::string(1 + random_.below(3), '1')
                                               : "open" + std::to_string(++client.requests);
            }
            open.request_id = client.opening;
            return send(index, Request(open));
        }
        const auto dice = random_.below(100);
        if (dice < 44) return acquire(index);
        if (dice < 62) return release(index);
        if (dice < 74) return renew(index);
        if (dice < 85) return convert(index);
        if (dice < 88)
            return send(index, Request(Transfer{*client.session, any_grant(index, 85),
                                                any_session(index)}));
        if (dice < 92) return steal(index);
        if (dice < 93) return answer_wanted(index);
        if (dice < 94) return send(index, Request(Break{any_grant(index, 30), "broken", "root"}));
        if (dice < 96) {
            return send(index, Request(Reacquire{*client.session, any_grant(index, 70)}));
        }
        if (dice < 97) {
            if (random_.below(4) > 0) return send(index, Request(CloseSession{*client.session}));
            return send(index, Request(EndSession{any_session(index), "ended", "root"}));
        }
        return repeat(index);
    }

    void acquire(std::size_t index) {
        auto& client = clients_[index];
        Acquire request;
        if (random_.percent(8)) {
            OpenSession own;
            own.principal = client.principal;
            own.uid = client.uid;
            if (random_.percent(50)) own.lease = milliseconds{100 + random_.below(1000)};
            request.opens = own;
        } else {
            request.session = random_.percent(95) ? *client.session : any_session(index);
        }
        const std::size_t wanted = random_.percent(70) ? 1 : 2 + random_.below(2);
        for (std::size_t i = 0; i < wanted; ++i) {
            LockRequest lock;
            if (!counting_.empty() && random_.percent(30)) {
                lock.resource = random_.pick(counting_);
                lock.permits = static_cast<std::uint32_t>(random_.below(3));
            } else {
                lock.resource = random_.pick(names_);
                const auto kind = random_.below(10);
                if (kind < 4) lock.mode = Mode::read;
                if (kind >= 4 && kind < 7) lock.mode = Mode::write;
                if (kind == 7) lock.mode = Mode::exclusive;
                if (kind == 8) lock.to = Intent::read;
                lock.subtree = random_.percent(15);
            }
            // A name twice is refused in more than one way when it is wrong otherwise, too.
            const bool twice =
                std::any_of(request.locks.begin(), request.locks.end(),
                            [&](const auto& l) { return l.resource == lock.resource; });
            if (!twice) request.locks.push_back(lock);
        }
        if (random_.percent(65)) request.patience = milliseconds{1 + random_.below(3000)};
        if (random_.percent(8)) request.patience = no_limit;
        if (random_.percent(10)) request.held = Held::join;
        if (random_.percent(10)) request.held = Held::count;
        if (random_.percent(8)) request.max_hold = milliseconds{50 + random_.below(2000)};
        if (random_.percent(70)) request.request_id = "r" + std::to_string(++client.requests);
        send(index, Request(request));
    }

    void release(std::size_t index) {
        auto& client = clients_[index];
        const auto grant = any_grant(index, 90);
        client.given_up.insert(grant);
        send(index, Request(Release{*client.session, grant}));
    }

    void renew(std::size_t index) {
        auto& client = clients_[index];
        RenewSession request;
        request.session = random_.percent(97) ? *client.session : any_session(index);
        if (random_.percent(20)) request.lease = milliseconds{100 + random_.below(8000)};
        request.active = random_.percent(30);
        if (request.lease) {
            // From now on, whenever it may arrive.
            auto& shortest = min_.try_emplace(request.session, *request.lease).first->second;
            shortest = std::min(shortest, *request.lease);
            for (auto& other : clients_) {
                if (other.session != request.session) continue;
                other.valid_until = std::min(other.valid_until, clock_.now().boot + shortest);
            }
        }
        send(index, Request(request));
    }

    void convert(std::size_t index) {
        auto& client = clients_[index];
        Convert request;
        request.session = *client.session;
        request.grant = any_grant(index, 92);
        const auto known = grants_.find(request.grant);
        const auto mode = static_cast<Mode>(random_.below(3));
        if (known != grants_.end() && known->second.locks.size() > 1 && random_.percent(40)) {
            LockRequest lock;
            lock.resource = random_.pick(known->second.locks).resource;
            lock.mode = mode;
            request.locks.push_back(lock);
        } else {
            request.mode = mode;
        }
        if (random_.percent(60)) request.patience = milliseconds{1 + random_.below(2000)};
        client.given_up.insert(request.grant);
        send(index, Request(request));
    }

    // Mostly what was refused before: whoever has asked comes again.
    void steal(std::size_t index) {
        auto& client = clients_[index];
        Steal request{*client.session, any_grant(index, 10), "wanted"};
        if (refused_steal_ != GrantId{} && random_.percent(60)) request.grant = refused_steal_;
        request.administrator = random_.percent(30);
        request.force = random_.percent(10);
        send(index, Request(request));
    }

    // Whoever was refused comes again, or is answered before.
    void come_again() {
        const auto* grant = mirror_.model().grant(mirror_.to_model(refused_steal_));
        const auto& thief = clients_[refused_thief_];
        if (grant == nullptr || grant->outcome != Outcome::held || !thief.session) {
            refused_steal_ = {};
        } else if (random_.percent(30)) {
            answer_wanted(refused_thief_);
        } else {
            send(refused_thief_, Request(Steal{*thief.session, refused_steal_, "wanted"}));
        }
    }

    // Mostly by the one who was asked, if its owner is one of the clients.
    void answer_wanted(std::size_t index) {
        AnswerWanted request{*clients_[index].session, any_grant(index, 90), random_.percent(60)};
        if (random_.percent(60)) {
            const auto wanted = random_.percent(50) ? refused_steal_ : waited_for_;
            const auto known = grants_.find(wanted);
            if (known != grants_.end()) {
                request.grant = wanted;
                request.session = known->second.session;
            }
        }
        clients_[index].given_up.insert(request.grant);
        send(index, Request(request));
    }

    // Something that was asked before, once more, as it was.
    void repeat(std::size_t index) {
        std::vector<const Call*> own;
        for (const auto& [ticket, call] : calls_) {
            const auto* request = std::get_if<Request>(&call.event);
            if (call.client != index || request == nullptr) continue;
            const auto* renewal = std::get_if<RenewSession>(request);
            if (renewal != nullptr && renewal->as_of) continue;
            own.push_back(&call);
        }
        if (own.empty()) return;
        const Event event = random_.pick(own)->event;
        count_kind("network: an old message again");
        send(index, event);
    }

    GrantId any_grant(std::size_t index, std::uint64_t own_percent) {
        std::vector<GrantId> own;
        std::vector<GrantId> others;
        for (const auto& [id, promise] : grants_) {
            const auto* grant = mirror_.model().grant(mirror_.to_model(id));
            const bool alive = grant != nullptr && grant->outcome == Outcome::held;
            if (!alive && !random_.percent(15)) continue;
            (promise.session == clients_[index].session ? own : others).push_back(id);
        }
        if (!own.empty() && random_.percent(own_percent)) return random_.pick(own);
        if (!others.empty()) return random_.pick(others);
        return own.empty() ? GrantId{1 + random_.below(5)} : random_.pick(own);
    }

    SessionId any_session(std::size_t index) {
        std::vector<SessionId> others;
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            if (i != index && clients_[i].session) others.push_back(*clients_[i].session);
        }
        if (others.empty() || random_.percent(5)) return SessionId{};
        return random_.pick(others);
    }

    // ---- The network
    // -------------------------------------------------------------------------------------
    void send(std::size_t client, Event event, std::optional<BootTime> sent = {}) {
        Call call;
        call.event = std::move(event);
        call.client = client;
        call.sent = sent.value_or(clock_.now().boot);
        calls_waiting_.push_back(call);
        // Sent twice, on a bad day.
        if (random_.percent(3)) {
            count_kind("network: a message twice");
            calls_waiting_.push_back(call);
        }
    }

    // Any message that is under way, not the oldest first.
    void deliver_to_manager() {
        if (calls_waiting_.empty()) return;
        const auto index = random_.percent(60) ? 0 : random_.below(calls_waiting_.size());
        if (index > 0) count_kind("network: messages reordered");
        deliver_to_manager(index, true);
    }

    void deliver_to_manager(std::size_t index, bool on_time) {
        if (manager_->failure() || storage_->disk().failure()) return;
        Call call = calls_waiting_[index];
        calls_waiting_.erase(calls_waiting_.begin() + static_cast<std::ptrdiff_t>(index));
        if (random_.percent(2)) return count_kind("network: a message lost");
        if (on_time) tick();
        const auto& request = std::get<Request>(call.event);
        if (waits_for_it_already(request)) return;
        const bool reacquires = std::holds_alternative<Reacquire>(request);
        // Its second half is decided when the history was read: in one go here, so that one knows
        // when.
        if (reacquires && !finish_storage()) return;
        Happened happened;
        happened.event = call.event;
        happened.ticket = Ticket{++tickets_};
        happened.now = clock_.now();
        next_session();
        happened.fresh = fresh_;
        const Ticket own = happened.ticket;
        say("#" + std::to_string(static_cast<std::uint64_t>(own)) + " " +
            clients_[call.client].principal + ": " + proof::describe(call.event));
        expect(happened);
        calls_.emplace(own, call);
        const Ticket real =
            manager_->submit(request, [this, own, life = life_](const Result<Answer>& answer) {
                if (life == life_) answered(own, answer);
            });
        log_.back().commit = storage_->last();
        const auto* acquire = std::get_if<Acquire>(&request);
        const auto* converting = std::get_if<Convert>(&request);
        if ((acquire != nullptr && acquire->patience > 0ms) ||
            (converting != nullptr && converting->patience > 0ms)) {
            if (calls_.contains(own)) in_flight_[own] = real;
        }
        if (reacquires) {
            finish_storage();
            log_.back().commit = storage_->last();
        }
    }

    // Which of two requests of one session for one thing is served first is promised to nobody.
    bool waits_for_it_already(const Request& request) const {
        const auto* acquire = std::get_if<Acquire>(&request);
        if (acquire == nullptr || !acquire->session) return false;
        for (const auto& waiter : mirror_.model().waiters()) {
            if (waiter.session != *acquire->session || waiter.converting) continue;
            const auto& id = waiter.acquire.request_id;
            if (!id.empty() && id == acquire->request_id) continue;
            for (const auto& wanted : waiter.wanted) {
                for (const auto& lock : acquire->locks) {
                    if (wanted.resource == lock.resource) return true;
                }
            }
        }
        return false;
    }

    bool finish_storage() {
        for (int rounds = 0; rounds < 3; ++rounds) {
            if (!storage_->disk().pump()) return false;
            manager_->deliver_done();
        }
        return true;
    }

    void next_session() {
        ++sessions_made_;
        fresh_ = {};
        for (int i = 0; i < 4; ++i)
            fresh_.bytes[static_cast<std::size_t>(i)] =
                static_cast<std::uint8_t>(sessions_made_ >> (8 * i));
        fresh_.bytes[8] = 1;
    }

    void expect(const Happened& happened) {
        mirror_.expect(happened.event, happened.ticket, happened.fresh, happened.now);
        log_.push_back(happened);
    }

    // ---- What comes back
    // ---------------------------------------------------------------------------------
    void answered(Ticket own, const Result<Answer>& answer) {
        in_flight_.erase(own);
        const auto call = calls_.at(own);
        say("   #" + std::to_string(static_cast<std::uint64_t>(own)) + " <- " +
            proof::describe(answer));
        if (!answer && (answer.error().code == ErrorCode::io_error ||
                        answer.error().code == ErrorCode::closing)) {
            count_kind("answer: " + std::string(to_string(answer.error().code)));
            if (!storage_->disk().failure())
                fail("an error of the storage without one: " + answer.error().message);
            return;
        }
        if (answer && failed_closed_ && std::holds_alternative<Grant>(*answer)) {
            fail("S13: granted after the storage had failed");
        }
        complain(mirror_.got(own, answer));
        count_answer(call, answer);
        if (!answer) return;
        if (const auto* grant = std::get_if<Grant>(&*answer)) promised(*grant);
        // The client may never see it; what was promised was promised.
        auto& client = clients_[call.client];
        if (random_.percent(15)) {
            count_kind("network: an answer lost");
            if (random_.percent(80) && std::holds_alternative<Request>(call.event)) {
                const auto* renewal = std::get_if<RenewSession>(&std::get<Request>(call.event));
                if (renewal == nullptr || !renewal->as_of) send(call.client, call.event);
            }
            return;
        }
        seen(client, call, *answer);
    }

    void promised(const Grant& grant) {
        if (grant.ended) return;
        if (number(grant.token) > highest_token_) highest_token_ = number(grant.token);
        grants_[grant.id] = Promise{grant.session, grant.locks};
        acknowledged_.insert(grant.id);
    }

    void seen(Client& client, const Call& call, const Answer& answer) {
        const auto& request = std::get<Request>(call.event);
        if (const auto* session = std::get_if<SessionInfo>(&answer)) {
            auto& shortest = min_.try_emplace(session->id, session->lease).first->second;
            shortest = std::min(shortest, session->lease);
            if (std::holds_alternative<OpenSession>(request)) {
                if (client.session != session->id) {
                    client.session = session->id;
                    client.believed.clear();
                    // A repeated opening renews nothing: what counts is the deadline it tells. It
                    // may be told late, after a renewal of its own that made the lease shorter.
                    client.valid_until = std::min(session->deadline, call.sent + shortest);
                }
            }
            if (client.session == session->id && std::holds_alternative<RenewSession>(request))
                renewed(client, call);
            return;
        }
        const auto* grant = std::get_if<Grant>(&answer);
        if (grant == nullptr || grant->ended || grant->session != client.session) return;
        // Only a request that was its own and sets the lease anew; a repeated answer tells nothing
        // new.
        client.believed[grant->id] = *grant;
    }

    // T6: counted from before the request was sent, by the shortest lease that may be in force.
    void renewed(Client& client, const Call& call) {
        const auto shortest = min_.at(*client.session);
        client.valid_until = std::max(client.valid_until, call.sent + shortest);
        client.valid_until = std::min(client.valid_until, clock_.now().boot + shortest);
    }

    void heard(const LostNotice& notice) {
        say("   " + to_string(notice.session).substr(0, 6) + " lost " +
            std::to_string(number(notice.grant.id)) + " " +
            std::string(to_string(notice.ending.outcome)));
        complain(mirror_.got(notice));
        count_kind("ended: " + std::string(to_string(notice.ending.outcome)));
        if (!told_lost_.insert(notice.grant.id).second)
            fail("L9: told twice that a grant was lost");
        for (auto& client : clients_) client.believed.erase(notice.grant.id);
    }

    void count_answer(const Call& call, const Result<Answer>& answer) {
        const auto& request = std::get<Request>(call.event);
        if (!answer) {
            if (answer.error().policy) {
                if (answer.error().policy != StealPolicy::never) {
                    refused_steal_ = std::get<Steal>(request).grant;
                    refused_thief_ = call.client;
                }
                count_kind("refused: steal, " + std::string(to_string(*answer.error().policy)));
            }
            return count_kind("refused: " + std::string(to_string(answer.error().code)));
        }
        if (const auto* grant = std::get_if<Grant>(&*answer)) {
            std::string kind = "granted";
            if (std::holds_alternative<Convert>(request)) kind = "converted";
            if (const auto* steal = std::get_if<Steal>(&request)) {
                kind = "stolen";
                if (!steal->administrator && steal->grant == refused_steal_)
                    count_kind("stolen: what was refused before");
            }
            if (std::holds_alternative<Transfer>(request)) kind = "transferred";
            if (std::holds_alternative<Reacquire>(request)) kind = "reacquired";
            if (grant->ended) return count_kind(kind + ": again, ended since");
            if (const auto* acquire = std::get_if<Acquire>(&request)) {
                if (acquire->held == Held::count && grant->count > 0)
                    count_kind("granted: counted");
                if (grant->own_session) count_kind("granted: with its own session");
                if (grant->locks.size() > 1) count_kind("granted: a set");
                for (const auto& lock : grant->locks) {
                    if (!lock.cause.empty()) count_kind("granted: a dependant");
                    if (lock.permits > 0) count_kind("granted: permits");
                    if (lock.subtree) count_kind("granted: a subtree");
                }
            }
            return count_kind(kind + (grant->waited ? ": after a wait" : ": at once"));
        }
        if (const auto* released = std::get_if<Released>(&*answer)) {
            const bool answered = std::holds_alternative<AnswerWanted>(request);
            return count_kind((answered ? "answered: " : "released: ") +
                              std::string(to_string(released->outcome)));
        }
        if (std::holds_alternative<ClosedSession>(*answer)) return count_kind("session: closed");
        if (std::holds_alternative<RenewSession>(request)) return count_kind("session: renewed");
        if (std::holds_alternative<OpenSession>(request)) return count_kind("session: opened");
    }

    // ---- Crashes
    // -----------------------------------------------------------------------------------------
    void crash() {
        auto& disk = storage_->disk();
        const bool failed = disk.failure().has_value();
        const auto log_ends = disk.log_ends();
        const auto synced = disk.synced_through();
        const auto log = disk.log();
        // Without power the machine starts anew; after a failed sync part of the log may be missing
        // even on the same boot.
        const bool power = !closures_ && random_.percent(50);
        const bool forgetful = failed && !power && !closures_ && random_.percent(50);
        std::unique_ptr<FaultyStorage> survivor;
        CommitNumber through = synced + log_ends.size();
        std::string how = "killed";
        if (power || forgetful) {
            const auto cut = random_.percent(20) ? 0 : random_.below(log.size() + 1);
            survivor = disk.reopen_after_power_cut(cut);
            through = synced +
                      static_cast<CommitNumber>(std::count_if(
                          log_ends.begin(), log_ends.end(), [&](auto end) { return end <= cut; }));
            how = "power cut at byte " + std::to_string(cut) + " of " + std::to_string(log.size());
            if (cut != 0 && std::find(log_ends.begin(), log_ends.end(), cut) == log_ends.end()) {
                count_kind("crash: torn record");
            }
        } else {
            survivor = disk.reopen_after_kill();
        }
        count_kind(std::string("crash: ") + (power ? "power cut" : "killed") +
                   (failed ? " after a failure" : ""));
        if (through < storage_->last()) count_kind("crash: commits were lost");
        const bool suspect = survivor->suspect();
        // What every client was promised must be found again: look now, before the model goes back
        // in time.
        const auto before = mirror_.model();
        bury();
        storage_ = std::make_unique<SteppedStorage>(std::move(survivor));
        const bool new_boot = power || (!closures_ && random_.percent(5));
        const auto down = milliseconds{random_.below(1500)};
        if (new_boot) {
            ++boots_;
            clock_.reboot("boot " + std::to_string(boots_),
                          BootTime{std::chrono::seconds{10}} + down);
            for (auto& client : clients_) client.valid_until = {};
            for (auto& call : calls_waiting_) call.sent = clock_.now().boot;
            count_kind("crash: another boot");
        } else {
            clock_.advance(down);
        }
        const bool exact = !new_boot && !suspect;
        say(how + ", commits up to " + std::to_string(through) + " of " +
            std::to_string(last_of_life()) + " survive, " +
            (exact ? "same boot" : "leases begin anew"));
        rewind(through, exact);
        open(false);
        if (verdict_.wrong) return;
        failed_closed_ = false;
        in_flight_.clear();
        storage_->obliging = true;
        after_restart_ = true;
        compare("after the crash");
        remember(before, !power && !forgetful);
        watch();
        after_restart_ = false;
        storage_->obliging = false;
        after_crash_ = true;
    }

    CommitNumber last_of_life() const { return log_.empty() ? 0 : log_.back().commit; }

    // A new model is told what survived; the commits of the next life count anew.
    void rewind(CommitNumber through, bool exact) {
        std::vector<Happened> survived;
        for (auto& happened : log_) {
            if (happened.commit > through) break;
            happened.commit = 0;
            survived.push_back(happened);
        }
        Happened restart;
        restart.kind = Happened::Kind::restart;
        restart.now = clock_.now();
        restart.exact = exact;
        restart.skip_to = mirror_.model().last_token();
        survived.push_back(restart);
        log_ = std::move(survived);
        ReferenceModel again;
        // The events name real grants; in the mirror's numbers they are the same as the first time.
        mirror_.replay_into(again, [&](const auto& apply) {
            for (const auto& happened : log_) {
                if (happened.kind == Happened::Kind::restart) {
                    again.restart(happened.now, happened.exact);
                    again.skip_tokens(happened.skip_to);
                } else {
                    apply(happened.event, happened.ticket, happened.fresh, happened.now);
                }
            }
        });
        mirror_.forget_owed();
    }

    // D1: what was acknowledged and not ended, by anybody's decision, is held; on the same boot at
    // least as long as promised.
    void remember(const ReferenceModel& before, bool all_written_survive) {
        const auto now = clock_.now();
        const auto& after = mirror_.model();
        for (const auto id : acknowledged_) {
            const auto* was = before.grant(mirror_.to_model(id));
            if (was == nullptr || was->outcome != Outcome::held) continue;
            const auto* is = after.grant(mirror_.to_model(id));
            if (is == nullptr)
                return fail("D1: the acknowledged grant " + std::to_string(number(id)) +
                            " is forgotten");
            if (is->outcome != Outcome::held) {
                return fail("D1: the acknowledged grant " + std::to_string(number(id)) +
                            " has ended");
            }
            if (number(is->token) < number(was->token) && acknowledged_tokens_.contains(id)) {
                return fail("D1: a token went back");
            }
        }
        // Opening and renewing are in the operating system only.
        if (!all_written_survive) return;
        for (const auto& client : clients_) {
            if (!client.session || now.boot >= client.valid_until) continue;
            const auto* session = after.session(*client.session);
            const auto* once = before.session(*client.session);
            if (once == nullptr || once->ended) continue;
            if (session == nullptr || session->ended || *session->deadline < client.valid_until) {
                return fail("T1: the session of " + client.principal +
                            " was promised more than it has");
            }
        }
    }

    // ---- What must hold after every step
    // -----------------------------------------------------------------
    void check() {
        if (verdict_.wrong || manager_ == nullptr) return;
        if (storage_->disk().failure()) {
            if (manager_->failure()) failed_closed_ = true;
            return;
        }
        watch();
        const auto now = clock_.now();
        if (ticked_) {
            if (auto wrong = manager_->audit_invariants()) return fail("audit: " + *wrong);
            ticked_ = false;
        }
        const auto counts = manager_->statistics();
        const auto ended =
            counts.released + counts.expired + counts.stolen + counts.broken + counts.transferred;
        if (counts.granted + counts.recovered != counts.held + ended)
            return fail("A5: the statistics do not add up");
        if (counts.sweep_finds != 0) return fail("Q1: the search found a forgotten waiter");
        if (auto wrong = mirror_.model().contradiction(now.boot)) return fail("S1: " + *wrong);
        // T6: whoever believes to hold does hold.
        for (const auto& client : clients_) {
            if (!client.session || now.boot >= client.valid_until) continue;
            for (const auto& [id, grant] : client.believed) {
                if (client.given_up.contains(id)) continue;
                const auto* known = mirror_.model().grant(mirror_.to_model(id));
                // Taken by force, transferred or closed by its own session, or at its cap.
                if (known == nullptr || known->outcome != Outcome::held) continue;
                if (known->cap && *known->cap <= now.boot) continue;
                for (const auto& lock : grant.locks) {
                    if (lock.permits > 0) continue;
                    if (!manager_->holds(*client.session, lock.resource, Mode::read)) {
                        return fail("T6: " + client.principal + " believes to hold " +
                                    lock.resource);
                    }
                }
            }
        }
    }

    // ---- Telling
    // -----------------------------------------------------------------------------------------
    void count_kind(const std::string& kind) { ++counts_[kind]; }
    void complain(const std::optional<std::string>& wrong) {
        if (wrong) fail(*wrong);
    }
    void fail(const std::string& what) {
        if (verdict_.wrong) return;
        verdict_.wrong = "step " + std::to_string(verdict_.steps) + ": " + what;
        say("WRONG: " + what + "\n  the model has:\n" + mirror_.print(clock_.now()));
    }
    void say(const std::string& what) {
        if (!trace_on_) return;
        const auto now = clock_.now().boot.time_since_epoch();
        verdict_.trace +=
            std::to_string(verdict_.steps) + " [" +
            std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) +
            "us] " + what + "\n";
    }

    Random random_;
    Counts& counts_;
    const bool trace_on_;
    Verdict verdict_;
    SimulatedClock clock_;
    std::unique_ptr<SteppedStorage> storage_;
    std::unique_ptr<LockManager> manager_;
    ModelMirror mirror_;
    std::vector<Happened> log_;
    std::vector<Client> clients_;
    std::vector<std::string> names_;
    std::vector<std::string> counting_;
    bool closures_ = false;
    bool run_together_ = false;
    SessionId fresh_;
    std::uint64_t sessions_made_ = 0;
    std::uint64_t tickets_ = 0;
    std::uint64_t life_ = 0;
    std::uint64_t boots_ = 1;
    bool ticked_ = false;
    bool failed_closed_ = false;
    bool after_crash_ = false;
    Watcher watcher_;
    bool after_restart_ = false;
    std::vector<Call> calls_waiting_;
    std::map<Ticket, Call> calls_;
    std::map<Ticket, Ticket> in_flight_;
    // The shortest lease that was ever asked for, for each session.
    std::map<SessionId, milliseconds> min_;
    std::map<GrantId, Promise> grants_;
    std::set<GrantId> acknowledged_;
    std::set<GrantId> acknowledged_tokens_;
    std::set<GrantId> told_lost_;
    // The last that somebody may not steal yet, and the last that somebody waits for.
    GrantId refused_steal_{};
    std::size_t refused_thief_ = 0;
    GrantId waited_for_{};
    std::uint64_t highest_token_ = 0;
};

// What a run of some thousand seeds has always seen.
const char* const required[] = {
    "granted: at once",
    "granted: after a wait",
    "granted: a set",
    "granted: a subtree",
    "granted: a dependant",
    "granted: permits",
    "granted: counted",
    "granted: with its own session",
    "granted: again, ended since",
    "converted: at once",
    "converted: after a wait",
    "stolen: at once",
    "transferred: at once",
    "reacquired: at once",
    "released: released",
    "released: held",
    "released: already_released",
    "released: expired",
    "released: stolen",
    "released: broken",
    "released: transferred",
    "ended: expired",
    "ended: stolen",
    "ended: broken",
    "event: granted",
    "event: wanted",
    "event: warned",
    "event: converted",
    "event: transferred",
    "event: released",
    "event: expired",
    "event: stolen",
    "event: broken",
    "refused: conflict",
    "refused: patience_expired",
    "refused: cancelled",
    "refused: deadlock",
    "refused: already_held",
    "refused: session_expired",
    "refused: session_not_found",
    "refused: grant_ended",
    "refused: not_owner",
    "refused: steal_refused",
    "refused: steal, never",
    "refused: steal, idle",
    "refused: steal, ask",
    "refused: access_denied",
    "stolen: what was refused before",
    "wanted: asked",
    "answered: held",
    "answered: released",
    "refused: queue_full",
    "refused: kind_mismatch",
    "refused: invalid_argument",
    "refused: precondition_failed",
    "session: opened",
    "session: renewed",
    "session: closed",
    "renew: late, after a stall",
    "network: a message lost",
    "network: a message twice",
    "network: messages reordered",
    "network: an old message again",
    "network: an answer lost",
    "clock: the wall clock jumps",
    "clock: the manager was stalled",
    "storage: a write failed",
    "storage: a sync failed",
    "crash: killed",
    "crash: power cut",
    "crash: killed after a failure",
    "crash: power cut after a failure",
    "crash: torn record",
    "crash: commits were lost",
    "crash: another boot",
    "quiet: everything compared",
    nullptr,
};

}  // namespace

const char* const* required_kinds() { return required; }

Verdict play(std::uint64_t seed, bool trace, Counts& counts) {
    return World(seed, trace, counts).run();
}

Summary play_all(std::uint64_t from, std::uint64_t to, double seconds) {
    Summary summary;
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (std::uint64_t seed = from; seed < to && passed() < seconds; ++seed) {
        auto verdict = play(seed, false, summary.counts);
        ++summary.seeds;
        summary.steps += verdict.steps;
        if (!verdict.wrong) continue;
        // Once more, aloud.
        Counts again;
        summary.failed = play(seed, true, again);
        if (!summary.failed->wrong)
            summary.failed->wrong = *verdict.wrong + " (and not when played again!)";
        break;
    }
    summary.seconds = passed();
    return summary;
}

std::string Summary::missing() const {
    std::string text;
    for (const auto* const* kind = required_kinds(); *kind != nullptr; ++kind) {
        if (!counts.contains(*kind)) text += std::string(*kind) + "\n";
    }
    return text;
}

}  // namespace rocklock::simulation
