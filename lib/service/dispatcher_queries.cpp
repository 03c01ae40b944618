// The queries of the dispatcher: calls that the lock table does not decide, such as lists, drafts
// and the bindings of tables.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <variant>

#include <rocklock/version.hpp>

#include "base/time_format.hpp"
#include "lock/model/lock_class.hpp"
#include "lock/model/row_bytes.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {

namespace {

template <typename T>
Result<Reply> as_reply(Result<T> result) {
    if (!result) return std::move(result).error();
    return Reply(*std::move(result));
}

}  // namespace

Result<Reply> Dispatcher::answer_query(const Call& call, bool administrator) {
    const CallBody& body = call.body;
    if (const auto* show = std::get_if<ShowLock>(&body)) {
        return as_reply(service_.show(show->resource));
    }
    if (const auto* list = std::get_if<ListLocks>(&body)) return as_reply(service_.list(*list));
    if (const auto* sessions = std::get_if<ListSessions>(&body)) {
        return as_reply(list_sessions(*sessions));
    }
    if (const auto* session = std::get_if<ShowSession>(&body)) {
        return as_reply(show_session(*session, call.secret.value_or(Secret{})));
    }
    if (const auto* audit = std::get_if<ListAudit>(&body)) {
        auto rows = service_.audit(audit->after, std::min(audit->limit, 10'000U));
        if (!rows) return std::move(rows).error();
        return Reply(AuditPage{*std::move(rows)});
    }
    if (const auto* trim = std::get_if<TrimAudit>(&body)) {
        const auto deleted = service_.trim_audit(trim->through);
        if (!deleted) return Error(deleted.error());
        return Reply(TrimmedAudit{*deleted});
    }
    if (const auto* history = std::get_if<HistoryRequest>(&body)) {
        return as_reply(service_.history(*history));
    }
    if (const auto* outliers = std::get_if<ListOutliers>(&body)) {
        return as_reply(service_.outliers(outliers->limit));
    }
    const bool binds = std::holds_alternative<BindTable>(body) ||
                       std::holds_alternative<UnbindTable>(body) ||
                       std::holds_alternative<ListBindings>(body);
    if (binds) return bindings(body);
    const bool drafts_asked = std::holds_alternative<ListDrafts>(body) ||
                              std::holds_alternative<TakeDraft>(body) ||
                              std::holds_alternative<DiscardDraft>(body);
    if (drafts_asked) return drafts(call, administrator);
    if (std::holds_alternative<ListClasses>(body)) return Reply(ClassList{service_.classes()});
    if (std::holds_alternative<ShowStatistics>(body)) return Reply(service_.statistics());
    if (std::holds_alternative<ListWaits>(body)) return Reply(WaitList{service_.wait_graph()});
    if (std::holds_alternative<ListDeadlocks>(body)) {
        return Reply(DeadlockList{service_.recent_deadlocks()});
    }
    if (std::holds_alternative<ListNodes>(body) || std::holds_alternative<HandOver>(body)) {
        return cluster_call(body);
    }
    using std::chrono::floor;
    using std::chrono::milliseconds;
    return Reply(Pong{std::string(version()),
                      static_cast<std::int32_t>(::getpid()),
                      options_.store,
                      options_.durability,
                      floor<milliseconds>(std::chrono::steady_clock::now() - started_),
                      floor<milliseconds>(clock().now().boot.time_since_epoch()),
                      boot_id_,
                      options_.low_space && options_.low_space(),
                      {},
                      options_.own_host.node,
                      options_.shared_memory});
}

Result<Reply> Dispatcher::cluster_call(const CallBody& body) {
    if (options_.cluster == nullptr) {
        return Error(ErrorCode::invalid_argument,
                     "this lock manager is not a node of a cluster: nodes are started with "
                     "`rocklock serve --store etcd://...`");
    }
    if (std::holds_alternative<HandOver>(body)) return as_reply(options_.cluster->hand_over());
    if (std::holds_alternative<CheckNode>(body)) return as_reply(options_.cluster->check());
    return as_reply(options_.cluster->nodes());
}

namespace {

// Returns an error unless the caller may change the binding of a table. The right is required for
// the class of the resource to which the table is bound now, and for the class of `resource`, to
// which it is to be bound. Both resources are templates; an element in braces matches `*` in
// patterns.
std::optional<Error> check_bind(const std::vector<LockClass>& classes,
                                const std::optional<std::vector<std::string>>& identities,
                                const std::vector<TableBinding>& bindings, const std::string& table,
                                const std::string* resource) {
    if (!identities) return std::nullopt;
    ClassTable known;
    for (const LockClass& lock_class : classes) known.put(lock_class);
    std::vector<std::string> resources;
    for (const TableBinding& binding : bindings) {
        if (binding.table == table) resources.push_back(binding.resource);
    }
    if (resource != nullptr) resources.push_back(*resource);
    for (const std::string& bound : resources) {
        const auto& right = known.of(bound).bind_by;
        if (names_any(right, *identities)) continue;
        return Error(ErrorCode::access_denied, "tables can be bound to \"" + bound +
                                                   "\", and such bindings removed, only by " +
                                                   named_in(right));
    }
    return std::nullopt;
}

}  // namespace

Result<Reply> Dispatcher::bindings(const CallBody& body) {
    if (options_.tables == nullptr) {
        return Error(ErrorCode::invalid_argument, "this lock manager has no tables to bind");
    }
    auto all = options_.tables->list_bindings();
    if (!all) return std::move(all).error();
    if (const auto* bind = std::get_if<BindTable>(&body)) {
        const auto error = check_bind(service_.classes(), bind->identities, *all,
                                      bind->binding.table, &bind->binding.resource);
        if (error) return *error;
        return as_reply(options_.tables->bind_table(bind->binding));
    }
    if (const auto* unbind = std::get_if<UnbindTable>(&body)) {
        const auto error =
            check_bind(service_.classes(), unbind->identities, *all, unbind->table, nullptr);
        if (error) return *error;
        return as_reply(options_.tables->unbind_table(unbind->table));
    }
    return Reply(BindingList{*std::move(all)});
}

// Returns the principal of the session or, if the call has no session, the principal that the call
// names. Only administrators may omit the session. If no rule limits the principals of users, every
// client can open a session for any principal. Such a session therefore gives access only to the
// drafts of its own user.
Result<Dispatcher::DraftOwner> Dispatcher::draft_owner(const Call& call,
                                                       const std::optional<SessionId>& session,
                                                       const std::string& named,
                                                       bool administrator) {
    if (!session) return DraftOwner{named, {}};
    auto known = service_.authenticate(*session, call.secret.value_or(Secret{}));
    if (!known) return std::move(known).error();
    DraftOwner owner{std::move(known->principal), {}};
    if (!administrator && !principals_.proves(known->uid, owner.principal)) {
        owner.only_of = known->uid;
    }
    return owner;
}

Result<Reply> Dispatcher::drafts(const Call& call, bool administrator) {
    if (options_.tables == nullptr) {
        return Error(ErrorCode::invalid_argument,
                     "this lock manager has no tables, and so no drafts");
    }
    if (const auto* list = std::get_if<ListDrafts>(&call.body)) {
        auto owner = draft_owner(call, list->session, list->request.principal, administrator);
        if (!owner) return std::move(owner).error();
        DraftsRequest request = list->request;
        request.principal = std::move(owner->principal);
        request.only_of = owner->only_of;
        return as_reply(options_.tables->list_drafts(request));
    }
    if (const auto* take = std::get_if<TakeDraft>(&call.body)) {
        const auto owner = draft_owner(call, take->session, take->principal, administrator);
        if (!owner) return Error(owner.error());
        return as_reply(options_.tables->take_draft(owner->principal, take->draft, owner->only_of));
    }
    const auto& discard = std::get<DiscardDraft>(call.body);
    const auto owner = draft_owner(call, discard.session, discard.principal, administrator);
    if (!owner) return Error(owner.error());
    auto done = options_.tables->discard_draft(owner->principal, discard.draft, owner->only_of);
    if (!done) return std::move(done).error();
    return Reply(DiscardedDraft{discard.draft});
}

Result<SessionDetail> Dispatcher::show_session(const ShowSession& request, const Secret& secret) {
    auto session = service_.authenticate(request.session, secret);
    if (!session) return std::move(session).error();
    auto grants = service_.grants(request.session);
    if (!grants) return std::move(grants).error();
    return SessionDetail{*std::move(session), *std::move(grants)};
}

// The cursor of a page is its last session. If that session has ended, the next page continues with
// the sessions that were opened after it.
Result<SessionPage> Dispatcher::list_sessions(const ListSessions& request) {
    constexpr std::uint32_t max_rows = 10'000;
    if (request.limit == 0 || request.limit > max_rows) {
        return Error(ErrorCode::invalid_argument,
                     "Limit must be from 1 to " + std::to_string(max_rows));
    }
    auto all = service_.sessions(request.principal);
    if (!all) return std::move(all).error();

    auto first = all->begin();
    if (!request.next.empty()) {
        const auto dot = request.next.find('.');
        const auto last = parse_session_id(std::string_view(request.next).substr(0, dot));
        const auto opened = dot == std::string::npos
                                ? std::nullopt
                                : parse_time(std::string_view(request.next).substr(dot + 1));
        if (!last || !opened) {
            return Error(ErrorCode::invalid_argument,
                         "Next must be the value that the previous page returned");
        }
        first = std::find_if(all->begin(), all->end(),
                             [&](const SessionView& session) { return session.id == *last; });
        first = first != all->end()
                    ? first + 1
                    : std::find_if(all->begin(), all->end(), [&](const SessionView& session) {
                          return session.opened_at > *opened;
                      });
    }
    const auto left = static_cast<std::size_t>(all->end() - first);
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (; count < left && count < request.limit && bytes < max_page_bytes; ++count) {
        bytes += lock_model::row_bytes(first[static_cast<std::ptrdiff_t>(count)]);
    }
    SessionPage page;
    page.sessions.assign(std::make_move_iterator(first),
                         std::make_move_iterator(first + static_cast<std::ptrdiff_t>(count)));
    if (count < left) {
        const auto& last = page.sessions.back();
        page.next = to_string(last.id) + "." + format_time(last.opened_at);
    }
    return page;
}

Ticket Dispatcher::watch(WatchRequest request, Done done) {
    return service_.submit_watch(std::move(request),
                                 [done = std::move(done)](Result<EventPage> page) {
                                     if (!page) return done(std::move(page).error());
                                     done(Reply(*std::move(page)));
                                 });
}

}  // namespace rocklock
