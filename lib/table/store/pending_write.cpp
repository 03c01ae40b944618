// PutItem, UpdateItem and DeleteItem for threads that must not block: decided with cached data and
// queued; another thread waits for the commit.
#include <mutex>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "table/schema/request_limits.hpp"
#include "table/store/table_store.hpp"
#include "table/write/answer_limit.hpp"

namespace rocklock::table {

class TableStore::Pending final : public PendingWrite {
public:
    explicit Pending(TableStore& store) : store_(store) {}
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    ~Pending() override {
        if (queued_) std::ignore = finish();
    }

    void begin(const WriteItem& request);
    bool is_queued() const override { return begun_; }
    std::optional<Result<WriteAnswer>> finish() override;
    Result<WriteAnswer> write() override;

private:
    // Returns false if the write cannot be decided without blocking.
    bool decide();
    bool enqueue(DecidedWrite decided, const PlannedWrite& plan,
                 const std::optional<StoredItem>& current);

    TableStore& store_;
    std::optional<ReadWrite> read_;
    // Whether the write is decided, and queued if it changes anything.
    bool begun_ = false;
    std::optional<Result<WriteAnswer>> answer_;
    std::vector<CountChange> count_changes_;
    // Set while the write is in the queue.
    std::optional<CommitNumber> queued_;
    Verdict verdict_;
};

void TableStore::Pending::begin(const WriteItem& request) {
    ROCKLOCK_ASSERT(!read_ && !begun_);
    auto read = read_write(request);
    if (!read) {
        answer_ = std::move(read).error();
        begun_ = true;
        return;
    }
    read_ = *std::move(read);
    begun_ = decide();
}

bool TableStore::Pending::decide() {
    const WriteItem& request = *read_->request;
    auto schema = store_.schema(request.table);
    // A query of the locks could block.
    if (!schema || (*schema)->binding) return false;
    const auto plan = bind_write(*read_, *std::move(schema));
    if (!plan || store_.retry_queue_.is_contended({RetryQueue::index_of(plan->row)})) return false;
    const auto found = store_.storage_.get_cached(Family::items, plan->row, small_row_bytes);
    if (!found.is_known) return false;
    const auto current = decode_current(*plan, found.value);
    if (!current) return false;
    const auto version = store_.versions_.next();
    if (!version) return false;
    const auto now = store_.clock_.now().wall;
    auto decided = decide_write(*plan, *current, stamp_of(*version, request, std::nullopt, now));
    if (!decided) {
        answer_ = std::move(decided).error();
        return true;
    }
    return enqueue(*std::move(decided), *plan, *current);
}

bool TableStore::Pending::enqueue(DecidedWrite decided, const PlannedWrite& plan,
                                  const std::optional<StoredItem>& current) {
    if (auto over = store_.users_.check(decided.changes.writes, decided.changes.count_changes)) {
        answer_ = *std::move(over);
        return true;
    }
    if (auto fits = AnswerLimit::check(decided.answer); !fits) {
        answer_ = std::move(fits).error();
        return true;
    }
    answer_ = std::move(decided.answer);
    if (decided.changes.writes.empty()) return true;
    count_changes_ = std::move(decided.changes.count_changes);
    Batch batch;
    batch.writes = std::move(decided.changes.writes);
    if (!mutated(Mutant::write_unguarded)) add_preconditions(plan, current, batch.preconditions);
    if (store_.closing_) return false;
    const std::shared_lock open_until_queued(store_.committing_);
    if (!store_.opened_) return false;
    ROCKLOCK_ASSERT(!queued_ && !batch.writes.empty());
    ++store_.queued_;
    queued_ = store_.storage_.enqueue(std::move(batch), store_.options_.durability, &verdict_);
    return true;
}

std::optional<Result<WriteAnswer>> TableStore::Pending::finish() {
    if (!begun_) return std::nullopt;
    if (!queued_) return std::exchange(answer_, std::nullopt);
    const auto committed =
        store_.storage_.wait(*std::exchange(queued_, std::nullopt), store_.options_.durability);
    const bool applied = committed && !verdict_.refused;
    if (applied) apply(count_changes_);
    const auto before = store_.queued_--;
    ROCKLOCK_ASSERT(before > 0);
    if (!committed) return Error(committed.error());
    if (!applied) return std::nullopt;
    return std::exchange(answer_, std::nullopt);
}

Result<WriteAnswer> TableStore::Pending::write() {
    ROCKLOCK_ASSERT(read_ && !queued_);
    return store_.write_planned(*read_);
}

std::unique_ptr<PendingWrite> TableStore::begin_write(const WriteItem& request) {
    const bool asks_locks = request.proof || request.after != AfterSave::keep || request.from_draft;
    if (request.kind == WriteItem::Kind::check || asks_locks || index_lag_) return nullptr;
    auto pending = std::make_unique<Pending>(*this);
    pending->begin(request);
    return pending;
}

}  // namespace rocklock::table
