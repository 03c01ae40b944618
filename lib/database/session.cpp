#include <rocklock/session.hpp>

#include <utility>

#include "database/session_keeper.hpp"
#include "lock/model/modes.hpp"

namespace rocklock {

namespace {

Error empty_handle() {
    return {ErrorCode::invalid_argument,
            "this handle is empty: it was closed, released, detached or moved"};
}

// Whether a request needs all of its locks or any one of them.
enum class Needs : std::uint8_t { all, any };

// Builds the request in place, because it is slow to move.
Request acquire_request(const KeptSession& kept, std::vector<LockRequest> locks,
                        AcquireOptions options, Needs needs) {
    Request request(std::in_place_type<Acquire>);
    Acquire& acquire = *std::get_if<Acquire>(&request);
    acquire.any = needs == Needs::any;
    acquire.priority = options.priority;
    acquire.session = kept.id;
    acquire.locks = std::move(locks);
    acquire.patience = options.patience;
    acquire.held = options.held;
    acquire.note = std::move(options.note);
    acquire.metadata = std::move(options.metadata);
    acquire.max_hold = options.max_hold;
    acquire.min_hold = options.min_hold;
    return request;
}

// Sends a request and ignores the answer. Does not wait for the answer of a daemon, because a
// stopped daemon would delay it. If the manager is in this process, the request is decided when the
// function returns.
template <typename Request>
void end_without_waiting(const KeptSession& kept, Request request) {
    if (kept.remote) {
        kept.service.submit(std::move(request), [](const Result<Answer>&) {});
    } else {
        [[maybe_unused]] const auto ended = kept.service.ask(std::move(request));
    }
}

}  // namespace

// ---- Guard ----

Guard::Guard(std::shared_ptr<KeptSession> kept, Grant&& grant)
    : kept_(std::move(kept)), grant_(std::move(grant)) {}

Guard::Guard(Guard&& other) noexcept
    : kept_(std::move(other.kept_)), grant_(std::move(other.grant_)) {
    // An empty guard names no grant. The rest of its grant is unspecified.
    other.grant_.id = {};
    other.grant_.token = {};
}

Guard& Guard::operator=(Guard&& other) noexcept {
    if (this == &other) return *this;
    release_without_waiting();
    kept_ = std::exchange(other.kept_, nullptr);
    grant_ = std::exchange(other.grant_, {});
    return *this;
}

Guard::~Guard() { release_without_waiting(); }

void Guard::release_without_waiting() {
    if (!kept_) return;
    end_without_waiting(*kept_, Release{kept_->id, grant_.id});
    forget();
}

bool Guard::valid() const { return kept_ && kept_->valid(&grant_); }

std::chrono::milliseconds Guard::remaining() const {
    return kept_ ? kept_->remaining(&grant_) : std::chrono::milliseconds{0};
}

Result<Released> Guard::release() {
    if (!kept_) return empty_handle();
    auto released = kept_->service.ask(Release{kept_->id, grant_.id});
    forget();
    return released;
}

Result<TransactWriteAnswer> Guard::save_and(AfterSave after, TableService& tables,
                                            TransactWrite save) {
    if (!kept_) return empty_handle();
    for (WriteItem& action : save.actions) action.proof = proof();
    save.after = after;
    return tables.transact_write(save);
}

Result<TransactWriteAnswer> Guard::save(TableService& tables, TransactWrite save) {
    return save_and(AfterSave::keep, tables, std::move(save));
}

Result<TransactWriteAnswer> Guard::save_and_release(TableService& tables, TransactWrite save) {
    auto saved = save_and(AfterSave::release, tables, std::move(save));
    if (saved) forget();
    return saved;
}

Result<TransactWriteAnswer> Guard::save_and_downgrade(TableService& tables, TransactWrite save) {
    auto saved = save_and(AfterSave::downgrade, tables, std::move(save));
    if (!saved) return saved;
    for (GrantedLock& lock : grant_.locks) lock.mode = Mode::read;
    kept_->granted(grant_);
    return saved;
}

void Guard::forget() {
    const auto kept = std::exchange(kept_, nullptr);
    if (kept->fork_check.in_child()) return;
    MutexLock lock(kept->mutex);
    kept->lost.erase(grant_.id);
    kept->given_up.erase(grant_.id);
    kept->stops.erase(grant_.id);
}

std::stop_token Guard::stop_token() const {
    if (!kept_ || kept_->fork_check.in_child()) {
        std::stop_source stopped;
        stopped.request_stop();
        return stopped.get_token();
    }
    return kept_->stop_token(grant_);
}

Result<void> Guard::convert(Mode mode, std::chrono::milliseconds patience, std::stop_token stop) {
    if (!kept_) return empty_handle();
    Convert request;
    request.session = kept_->id;
    request.grant = grant_.id;
    request.mode = mode;
    request.patience = patience;
    auto converted = kept_->service.ask(std::move(request), std::move(stop));
    if (!converted) return std::move(converted).error();
    grant_ = *std::move(converted);
    kept_->granted(grant_);
    return {};
}

Grant Guard::detach() {
    kept_ = nullptr;
    return std::exchange(grant_, {});
}

Result<void> Guard::assert_held(std::string_view resource, Mode mode) const {
    if (!kept_) return empty_handle();
    for (const GrantedLock& lock : grant_.locks) {
        const bool below = lock.subtree && resource.size() > lock.resource.size() &&
                           resource.starts_with(lock.resource) &&
                           resource[lock.resource.size()] == '/';
        const bool reaches = lock.resource == resource || below;
        // Permits cover no mode, since several sessions can have them at the same time.
        if (reaches && lock.permits == 0 && covers(lock.mode, mode)) {
            return kept_->assert_held(&grant_, resource, mode);
        }
    }
    return Error(ErrorCode::not_owner, "this grant does not cover \"" + std::string(resource) +
                                           "\" in mode " + std::string(to_string(mode)));
}

// ---- Session ----

Session::Session(Session&& other) noexcept : kept_(std::exchange(other.kept_, nullptr)) {}

Session& Session::operator=(Session&& other) noexcept {
    if (this == &other) return *this;
    close_without_waiting();
    kept_ = std::exchange(other.kept_, nullptr);
    return *this;
}

Session::~Session() { close_without_waiting(); }

void Session::close_without_waiting() {
    if (!kept_) return;
    const auto kept = std::exchange(kept_, nullptr);
    kept->let_go();
    end_without_waiting(*kept, CloseSession{kept->id});
}

SessionId Session::id() const { return kept_ ? kept_->id : SessionId{}; }

SessionCredentials Session::credentials() const {
    return kept_ ? SessionCredentials{kept_->id, kept_->secret} : SessionCredentials{};
}

Result<Guard> Session::acquire(std::string_view resource, AcquireOptions options,
                               std::stop_token stop) {
    std::vector<LockRequest> locks(1);
    // Faster than an assignment of the view.
    locks.front().resource = std::string(resource);
    return acquire(std::move(locks), std::move(options), std::move(stop));
}

Result<Guard> Session::acquire(std::vector<LockRequest> locks, AcquireOptions options,
                               std::stop_token stop) {
    if (!kept_) return empty_handle();
    return guard_of(kept_->service.call(
        acquire_request(*kept_, std::move(locks), std::move(options), Needs::all),
        std::move(stop)));
}

Result<Guard> Session::acquire_any(std::vector<LockRequest> locks, AcquireOptions options,
                                   std::stop_token stop) {
    if (!kept_) return empty_handle();
    return guard_of(kept_->service.call(
        acquire_request(*kept_, std::move(locks), std::move(options), Needs::any),
        std::move(stop)));
}

Result<Guard> Session::guard_of(Result<Answer> answer) const {
    if (!answer) return std::move(answer).error();
    auto& grant = std::get<Grant>(*answer);
    kept_->granted(grant);
    return Guard(kept_, std::move(grant));
}

Ticket Session::async_acquire(std::vector<LockRequest> locks, AcquireOptions options,
                              std::function<void(Result<Guard>)> done) {
    if (!kept_) {
        done(empty_handle());
        return {};
    }
    return submit(acquire_request(*kept_, std::move(locks), std::move(options), Needs::all),
                  std::move(done));
}

Ticket Session::async_acquire_any(std::vector<LockRequest> locks, AcquireOptions options,
                                  std::function<void(Result<Guard>)> done) {
    if (!kept_) {
        done(empty_handle());
        return {};
    }
    return submit(acquire_request(*kept_, std::move(locks), std::move(options), Needs::any),
                  std::move(done));
}

Ticket Session::submit(Request request, std::function<void(Result<Guard>)> done) {
    auto finish = [kept = kept_, done = std::move(done)](Result<Answer> answer) {
        if (!answer) return done(std::move(answer).error());
        Grant grant = std::get<Grant>(*std::move(answer));
        kept->granted(grant);
        done(Guard(kept, std::move(grant)));
    };
    return kept_->service.submit(std::move(request), std::move(finish));
}

void Session::cancel(Ticket ticket) {
    if (kept_) kept_->service.cancel(ticket);
}

Result<std::vector<Guard>> Session::reclaim() {
    if (!kept_) return empty_handle();
    auto grants = kept_->service.grants(kept_->id);
    if (!grants) return std::move(grants).error();
    std::vector<Guard> guards;
    for (Grant& grant : *grants) guards.push_back(Guard(kept_, std::move(grant)));
    return guards;
}

Result<SessionInfo> Session::renew(std::optional<std::chrono::milliseconds> lease) {
    if (!kept_) return empty_handle();
    auto renewed = kept_->service.ask(RenewSession{kept_->id, lease, {}, {}, {}});
    if (!renewed) return renewed;
    kept_->renewed(*renewed, std::chrono::milliseconds{0});
    kept_->keeper.changed(*kept_);
    return renewed;
}

Result<SessionInfo> Session::note_activity() {
    if (!kept_) return empty_handle();
    RenewSession request;
    request.session = kept_->id;
    request.active = true;
    auto renewed = kept_->service.ask(std::move(request));
    if (!renewed) return renewed;
    kept_->renewed(*renewed, std::chrono::milliseconds{0});
    kept_->keeper.changed(*kept_);
    return renewed;
}

Result<Guard> Session::steal(GrantId grant, std::string_view reason) {
    if (!kept_) return empty_handle();
    Steal request;
    request.session = kept_->id;
    request.grant = grant;
    request.reason = reason;
    auto taken = kept_->service.ask(std::move(request));
    if (!taken) return std::move(taken).error();
    kept_->granted(*taken);
    return Guard(kept_, *std::move(taken));
}

Result<Released> Session::answer_wanted(GrantId grant, bool allow) {
    if (!kept_) return empty_handle();
    if (!allow || kept_->fork_check.in_child()) {
        return kept_->service.ask(AnswerWanted{kept_->id, grant, allow});
    }
    // The guard becomes invalid before the grant is released, so before another session can get it.
    kept_->give_up(grant, true);
    auto answered = kept_->service.ask(AnswerWanted{kept_->id, grant, true});
    const bool released = answered && answered->outcome == Outcome::released;
    if (!released) kept_->give_up(grant, false);
    return answered;
}

void Session::on_lost(std::function<void(const LostNotice&)> callback) {
    if (kept_) kept_->on_lost.set(std::move(callback));
}

void Session::on_warning(std::function<void(std::chrono::milliseconds)> callback) {
    if (kept_) kept_->on_warning.set(std::move(callback));
}

void Session::on_wanted(std::function<void(const Wanted&)> callback) {
    if (kept_) kept_->on_wanted.set(std::move(callback));
}

void Session::on_take_over_answer(std::function<void(const TakeOverAnswer&)> callback) {
    if (kept_) kept_->on_take_over_answer.set(std::move(callback));
}

bool Session::valid() const { return kept_ && kept_->valid(nullptr); }

std::chrono::milliseconds Session::remaining() const {
    return kept_ ? kept_->remaining(nullptr) : std::chrono::milliseconds{0};
}

Result<void> Session::assert_held(std::string_view resource, Mode mode) const {
    if (!kept_) return empty_handle();
    return kept_->assert_held(nullptr, resource, mode);
}

Result<ClosedSession> Session::close() {
    if (!kept_) return empty_handle();
    const auto kept = std::exchange(kept_, nullptr);
    kept->let_go();
    return kept->service.ask(CloseSession{kept->id});
}

SessionCredentials Session::detach() {
    if (!kept_) return {};
    const auto kept = std::exchange(kept_, nullptr);
    kept->let_go();
    return {kept->id, kept->secret};
}

}  // namespace rocklock
