#include "stale/stale_world.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <rocklock/database.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "support/forwarding_storage.hpp"
#include "support/stores/test_store.hpp"

namespace rocklock::proof {
namespace {

using testing::ForwardingSnapshot;
using testing::ForwardingStorage;
using testing::SimulatedClock;
using namespace std::chrono_literals;
using Kind = WriteItem::Kind;

constexpr std::chrono::seconds held_for{10};

// Stops a write before the yield point with a given number.
class Yields {
public:
    // Starts to count yield points. At yield point `point`, `strike` is called.
    void begin(std::size_t point, std::function<void()> strike) {
        left_ = point;
        strike_ = std::move(strike);
        counting_ = true;
    }
    void end() {
        counting_ = false;
        strike_ = nullptr;
    }
    bool struck() const { return struck_; }
    // Returns whether ann's commit was already queued when she was stopped.
    bool struck_after_commit() const { return after_commit_; }

    void reach() {
        if (!counting_ || !strike_) return;
        if (left_-- > 0) return;
        counting_ = false;
        struck_ = true;
        after_commit_ = queued_;
        std::exchange(strike_, nullptr)();
        counting_ = true;
    }
    void queued() {
        if (counting_) queued_ = true;
    }
    // A write that is refused at its commit is decided again.
    void refused() {
        if (counting_) queued_ = false;
    }

private:
    std::function<void()> strike_;
    std::size_t left_ = 0;
    bool counting_ = false;
    bool struck_ = false;
    bool queued_ = false;
    bool after_commit_ = false;
};

class YieldingSnapshot final : public ForwardingSnapshot {
public:
    YieldingSnapshot(std::unique_ptr<Snapshot> snapshot, Yields& yields)
        : ForwardingSnapshot(std::move(snapshot)), yields_(yields) {}

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        yields_.reach();
        return ForwardingSnapshot::get(family, key);
    }

private:
    Yields& yields_;
};

class YieldingStorage final : public ForwardingStorage {
public:
    YieldingStorage(std::unique_ptr<Storage> storage, Yields& yields)
        : ForwardingStorage(std::move(storage)), yields_(yields) {}

    // Commits of the lock manager are not yield points, since it may hold its mutex.
    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        const bool items =
            std::any_of(batch.writes.begin(), batch.writes.end(),
                        [](const Write& write) { return write.family == Family::items; });
        if (items) yields_.reach();
        const auto number = ForwardingStorage::enqueue(std::move(batch), durability, verdict);
        if (items) {
            awaited_ = number;
            yields_.queued();
        }
        return number;
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        const bool hers = awaited_ == number;
        if (hers) {
            awaited_.reset();
            yields_.reach();
        }
        auto done = ForwardingStorage::wait(number, durability);
        if (hers && !done) yields_.refused();
        if (hers) yields_.reach();
        return done;
    }
    std::unique_ptr<Snapshot> snapshot() const override {
        return std::make_unique<YieldingSnapshot>(ForwardingStorage::snapshot(), yields_);
    }

private:
    Yields& yields_;
    std::optional<CommitNumber> awaited_;
};

// The stored items and index entries.
using Contents = std::map<std::pair<int, std::string>, std::string>;

class StaleWorld {
public:
    explicit StaleWorld(std::uint64_t seed) : random_(seed) {
        auto storage = std::make_unique<YieldingStorage>(testing::make_test_store(clock_), yields_);
        storage_ = storage.get();
        DatabaseOptions options;
        options.background = false;
        options.clock = &clock_;
        database_.emplace(Database::open_on(std::move(storage), options).value());
        tables_ = database_->tables().value();
        prepare();
    }

    StaleRun run();

private:
    enum class Loss : std::uint8_t { lease, broken, stolen, released, transferred, renewed, none };
    static constexpr int losses = 7;

    bool chance(int of) { return draw(of) == 0; }
    int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

    void prepare();
    Session open(const std::string& name) {
        SessionOptions options;
        options.lease = held_for;
        return database_->open_session(name, options).value();
    }
    static Item order(const std::string& id, const std::string& text) {
        return Item{{"id", id}, {"text", text}, {"by", text}};
    }
    // Ends ann's lock in the given way. If the lock is then free, bob acquires it.
    void strike(Loss loss);
    WriteItem action(const std::string& id, const LockProof& proof);
    // Returns whether the write succeeded.
    bool write_of_ann();
    bool written(const Error* error);
    Contents contents();
    std::string text() const;
    std::string judge(bool done, bool kept, const Contents& before);

    SimulatedClock clock_;
    Yields yields_;
    YieldingStorage* storage_ = nullptr;
    std::mt19937_64 random_;
    std::optional<Database> database_;
    TableService* tables_ = nullptr;
    Session ann_;
    Session bob_;
    std::optional<Guard> guard_;
    std::optional<Guard> next_;
    LockProof proof_;
    int tokens_ = 0;
    bool removes_ = false;
    std::string unexpected_;
};

void StaleWorld::prepare() {
    CreateTable orders;
    orders.table = "orders";
    orders.attributes = {{"id", AttributeType::string}, {"by", AttributeType::string}};
    orders.key = {{"id", KeyType::hash}};
    orders.billing = BillingMode::pay_per_request;
    orders.global_indexes = {
        {{"by-writer", {{"by", KeyType::hash}}, IndexProjection{ProjectionType::all, {}}, {}}}};
    tables_->create_table(orders).value();
    LockClass stolen;
    stolen.pattern = "orders/*";
    stolen.steal = StealPolicy::anyone;
    database_->put_class(stolen).value();
    if (!chance(3)) {
        WriteItem old;
        old.table = "orders";
        old.item = order("1", "old");
        tables_->write_item(old).value();
    }
    if (!chance(4)) tables_->bind_table({"orders", "orders/{id}", false}).value();
    ann_ = open("ann");
    bob_ = open("bob");
    guard_.emplace(ann_.acquire("orders/1").value());
    proof_ = guard_->proof();
}

void StaleWorld::strike(Loss loss) {
    const auto take = [&] {
        if (!next_ && !chance(5)) next_.emplace(bob_.acquire("orders/1").value());
    };
    switch (loss) {
        case Loss::lease:
            clock_.advance(held_for + 1s);
            if (chance(2)) database_->tick();
            bob_ = open("bob");
            return take();
        case Loss::broken:
            database_->break_grant(guard_->id(), "root", "test").value();
            return take();
        case Loss::stolen:
            next_.emplace(bob_.steal(guard_->id(), "test").value());
            return;
        case Loss::released:
            std::ignore = database_->service().ask(Release{ann_.id(), guard_->id()});
            return take();
        case Loss::transferred: {
            Transfer transfer;
            transfer.session = ann_.id();
            transfer.grant = guard_->id();
            transfer.to = bob_.id();
            const auto moved = database_->service().ask(transfer);
            if (!moved) unexpected_ = "a transfer: " + moved.error().message;
            auto held = bob_.reclaim().value();
            if (!held.empty()) next_.emplace(std::move(held.front()));
            return;
        }
        case Loss::renewed:
            clock_.advance(held_for / 2);
            ann_.renew().value();
            clock_.advance(held_for / 2 + 1s);
            return;
        case Loss::none:
            clock_.advance(held_for / 2);
            return;
    }
}

WriteItem StaleWorld::action(const std::string& id, const LockProof& proof) {
    WriteItem write;
    write.table = "orders";
    write.proof = proof;
    write.item = order(id, "ann's");
    return write;
}

bool StaleWorld::written(const Error* error) {
    if (error == nullptr) return true;
    ErrorCode code = error->code;
    if (code == ErrorCode::transaction_cancelled) {
        for (const auto& reason : error->reasons) code = reason.code.value_or(code);
    }
    if (code != ErrorCode::stale_token && code != ErrorCode::lock_required) {
        unexpected_ = "refused otherwise: " + error->message;
    }
    return false;
}

bool StaleWorld::write_of_ann() {
    const auto outcome_of = [&](const auto& result) {
        return written(result ? nullptr : &result.error());
    };
    WriteItem write = action("1", proof_);
    const int form = draw(6);
    if (form == 1) {
        write.kind = Kind::remove;
        write.item = Item{{"id", "1"}};
        removes_ = true;
    }
    if (form == 2) {
        write.kind = Kind::update;
        write.item = Item{{"id", "1"}};
        write.expressions.update = "SET #t = :t, #b = :t";
        write.expressions.placeholders.names = {{{"#t", "text"}, {"#b", "by"}}};
        write.expressions.placeholders.values = {{{":t", "ann's"}}};
    }
    if (form == 3) {
        BatchWrite batch;
        batch.writes = {write};
        return outcome_of(tables_->batch_write(batch));
    }
    if (form >= 4) {
        TransactWrite together;
        together.actions = {write};
        if (form == 5) together.token = "token " + std::to_string(++tokens_);
        if (chance(3)) together.after = chance(2) ? AfterSave::release : AfterSave::downgrade;
        return outcome_of(tables_->transact_write(together));
    }
    if (chance(3)) write.after = chance(2) ? AfterSave::release : AfterSave::downgrade;
    if (chance(3)) {
        if (auto pending = tables_->begin_write(write)) {
            yields_.reach();
            if (auto answer = pending->finish()) return outcome_of(*answer);
        }
    }
    return outcome_of(tables_->write_item(write));
}

Contents StaleWorld::contents() {
    Contents all;
    const auto snapshot = database_->storage().snapshot();
    for (const Family family : {Family::items, Family::index}) {
        const auto cursor = snapshot->scan(family, "", "\xff\xff\xff\xff");
        for (; cursor->valid(); cursor->next()) {
            all[{static_cast<int>(family), std::string(cursor->key())}] = cursor->value();
        }
    }
    return all;
}

std::string StaleWorld::text() const {
    GetItem get;
    get.table = "orders";
    get.key = AttributeMap{{"id", "1"}};
    get.consistent = true;
    if (next_) get.proof = next_->proof();
    const auto answer = tables_->get_item(get);
    if (!answer) return answer.error().message;
    return answer->item ? *answer->item->find("text")->get_if<std::string>() : "none";
}

// Returns what is wrong with the result of ann's first write, or an empty text.
std::string StaleWorld::judge(bool done, bool kept, const Contents& before) {
    if (!unexpected_.empty()) return unexpected_;
    if (kept && !done) return "a live holder was refused";
    if (!kept && done && !yields_.struck_after_commit()) return "a stale holder has written";
    if (!done && contents() != before) return "a refused write has left something";
    if (done && !next_ && text() != (removes_ ? "none" : "ann's"))
        return "what was done is not there";
    return {};
}

StaleRun StaleWorld::run() {
    StaleRun run;
    constexpr int max_points = 6;
    const auto loss = static_cast<Loss>(draw(losses));
    const Contents before = contents();
    yields_.begin(static_cast<std::size_t>(draw(max_points)), [&] { strike(loss); });
    const bool done = write_of_ann();
    yields_.end();
    run.stopped = yields_.struck();
    run.refused = !done;
    run.overtaken = next_.has_value() && !yields_.struck_after_commit();
    const bool kept = loss == Loss::renewed || loss == Loss::none || !run.stopped;
    run.wrong = judge(done, kept, before);
    if (!run.wrong.empty() || !next_) return run;
    WriteItem own = action("1", next_->proof());
    own.item = order("1", "bob's");
    if (const auto wrote = tables_->write_item(own); !wrote) {
        run.wrong = "the next holder was refused: " + wrote.error().message;
    } else if (write_of_ann()) {
        run.wrong = "a stale holder has written when it tried again";
    } else if (text() != "bob's") {
        run.wrong = "the item is not the next holder's";
    } else {
        run.wrong = unexpected_;
    }
    return run;
}

}  // namespace

StaleRun run_stale_world(std::uint64_t seed) { return StaleWorld(seed).run(); }

}  // namespace rocklock::proof
