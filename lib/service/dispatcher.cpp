#include "service/dispatcher.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/assert.hpp"
#include "base/is_one_of.hpp"
#include "database/end_sessions.hpp"
#include "service/node_rights.hpp"
#include "service/process_id.hpp"
#include "storage/rocksdb/store_copy.hpp"

namespace rocklock {
namespace {

// True if a verb is a request that the service decides, false if it is a query.
template <typename T>
inline constexpr bool is_decided = is_one_of<T, Request>;

// Returns true if the call is about the drafts of a principal that it names.
bool is_about_drafts_of_any(const CallBody& body) {
    return std::visit(
        [](const auto& verb) {
            using Verb = std::decay_t<decltype(verb)>;
            if constexpr (is_one_of<Verb, std::variant<ListDrafts, TakeDraft, DiscardDraft>>) {
                return !verb.session;
            } else {
                return false;
            }
        },
        body);
}

bool is_administration(const CallBody& body) {
    const auto* steal = std::get_if<Steal>(&body);
    return is_about_drafts_of_any(body) || std::holds_alternative<Break>(body) ||
           std::holds_alternative<PutClass>(body) || std::holds_alternative<DeleteClass>(body) ||
           std::holds_alternative<DrainClass>(body) || std::holds_alternative<ResumeClass>(body) ||
           std::holds_alternative<BindTable>(body) || std::holds_alternative<UnbindTable>(body) ||
           std::holds_alternative<Backup>(body) || std::holds_alternative<TrimAudit>(body) ||
           std::holds_alternative<EndSession>(body) || std::holds_alternative<EndSessions>(body) ||
           std::holds_alternative<HandOver>(body) || std::holds_alternative<CheckNode>(body) ||
           (steal != nullptr && steal->force);
}

// Returns the reply for an answer. It omits the session's id and secret unless the call has opened
// the session.
Reply reply_of(Answer&& answer, bool opened) {
    return std::visit(
        [&](auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, SessionInfo>) {
                if (!opened) {
                    value.id = {};
                    value.secret = {};
                }
            }
            return Reply(std::move(value));
        },
        answer);
}

// Returns the session that a call opens, by OpenSession or together with a grant, or null.
template <typename Body>
auto* session_to_open(Body& body) {
    using Opened = std::conditional_t<std::is_const_v<Body>, const OpenSession, OpenSession>;
    if (Opened* const opens = std::get_if<OpenSession>(&body)) return opens;
    auto* const acquire = std::get_if<Acquire>(&body);
    const bool opens = acquire != nullptr && acquire->opens.has_value();
    return opens ? static_cast<Opened*>(&*acquire->opens) : nullptr;
}

Error no_process(pid_t pid) {
    return {ErrorCode::invalid_argument,
            "Pid: the daemon sees no process " + std::to_string(pid) +
                ": give the number of a running process, as the daemon sees it (a process in a "
                "container has another number inside)"};
}

Error process_of_another_user(pid_t pid) {
    return {ErrorCode::access_denied,
            "Pid: process " + std::to_string(pid) + " belongs to another user"};
}

// Returns whether the session that the call opens, or names, is to be bound to a process.
bool binds_to_process(const Call& call) {
    if (std::holds_alternative<JoinProcess>(call.body)) return true;
    const auto* opens = session_to_open(call.body);
    return opens != nullptr && opens->bound == Bound::process;
}

// Returns the process to which a session is to be bound: the caller, or another process of the same
// user. `found` is the process of the caller's host that the call names, or null if the call names
// none.
Result<ProcessId> process_for(const Call& call, const Caller& caller,
                              const Result<SessionWatch::FoundProcess>* found) {
    if (caller.pid <= 0) {
        return Error(
            ErrorCode::invalid_argument,
            "the daemon cannot see your process (it is in another pid namespace, or the call came "
            "over TCP), so no session can be bound to it: use Bound: connection");
    }
    const pid_t pid = call.pid.value_or(caller.pid);
    if (caller.node) {
        if (pid == caller.pid) return ProcessId{caller.pid, caller.start_time};
        if (found == nullptr) return no_process(pid);
        if (!*found) return found->error();
        if (!(*found)->process) return no_process(pid);
        if ((*found)->of_another_user) return process_of_another_user(pid);
        return *(*found)->process;
    }
    const auto process = find_process(pid);
    if (!process) return no_process(pid);
    const auto uid = uid_of(caller.uid);
    if (pid != caller.pid && uid != 0 && owner_of(pid) != uid) {
        return process_of_another_user(pid);
    }
    return *process;
}

// Returns the session that the call has opened, by OpenSession or together with a grant.
std::optional<SessionId> opened_session(const Answer& answer) {
    if (const auto* session = std::get_if<SessionInfo>(&answer)) return session->id;
    if (const auto* grant = std::get_if<Grant>(&answer); grant != nullptr && grant->own_session) {
        return grant->own_session->id;
    }
    return std::nullopt;
}

// Sets the principal of the session that the call has opened.
void set_principal_in(Answer& answer, const std::string& principal) {
    if (auto* session = std::get_if<SessionInfo>(&answer)) session->principal = principal;
    auto* grant = std::get_if<Grant>(&answer);
    if (grant != nullptr && grant->own_session) grant->own_session->principal = principal;
}

}  // namespace

bool may_take_long(const CallBody& body) {
    return std::visit(
        [](const auto& verb) {
            using Verb = std::decay_t<decltype(verb)>;
            return is_one_of<Verb, std::variant<ShowLock, ListLocks, ShowSession, ListSessions,
                                                HistoryRequest, ListAudit, TrimAudit, ListWaits,
                                                ListOutliers, BindTable, UnbindTable, ListDrafts,
                                                TakeDraft, DiscardDraft, ListNodes, HandOver>>;
        },
        body);
}

bool only_reads(const CallBody& body) {
    return std::visit(
        [](const auto& verb) {
            using Verb = std::decay_t<decltype(verb)>;
            return is_one_of<Verb,
                             std::variant<ShowLock, ListLocks, ShowSession, ListSessions,
                                          HistoryRequest, ListAudit, ListWaits, ListOutliers,
                                          ListDrafts, ListClasses, ListBindings, ListDeadlocks,
                                          ShowStatistics, WatchRequest, ListNodes, CheckNode>>;
        },
        body);
}

bool needs_room(const CallBody& body) {
    return std::visit(
        [](const auto& verb) {
            using Verb = std::decay_t<decltype(verb)>;
            return !is_one_of<Verb,
                              std::variant<RenewSession, CloseSession, Release, EndSession,
                                           EndSessions, Break, AnswerWanted, DiscardDraft, Ping>>;
        },
        body);
}

bool Dispatcher::searches_for_process(const Call& call, const Caller& caller) {
    return caller.node && call.pid && *call.pid != caller.pid && caller.pid > 0 &&
           binds_to_process(call);
}

void Dispatcher::search_for_process(Call call, const Caller& caller, Replier done,
                                    std::function<void(Ticket)> late_ticket) {
    const auto pid = *call.pid;
    watch_->find(caller.node->host, uid_of(caller.uid), pid,
                 [this, call = std::move(call), caller, done = std::move(done),
                  late_ticket = std::move(late_ticket)](
                     const Result<SessionWatch::FoundProcess>& found) mutable {
                     const auto ticket =
                         start(std::move(call), caller, std::move(done), nullptr, &found);
                     if (ticket && late_ticket) late_ticket(*ticket);
                 });
}

std::optional<Ticket> Dispatcher::submit(Call&& call, const Caller& caller, Done done,
                                         ProvenSession* proven,
                                         std::function<void(Ticket)> late_ticket) {
    Replier replier{std::move(done), options_.observer};
    if (replier.observer != nullptr) replier.started = replier.observer->begin(call, caller);
    // A lookup of the groups of a user may take long, and the calling thread may serve other
    // clients. The lookup therefore runs in the background. Calls that depend on rights never wait
    // for a lock, so they need no ticket.
    if (options_.background && !may_administer(caller) && depends_on_rights(call.body) &&
        !identities_.knows(caller.uid)) {
        options_.background(
            [this, call = std::move(call), caller, replier = std::move(replier)]() mutable {
                std::ignore = identities_.of(caller.uid);
                start(std::move(call), caller, std::move(replier), nullptr);
            });
        return std::nullopt;
    }
    if (watch_ != nullptr && searches_for_process(call, caller)) {
        search_for_process(std::move(call), caller, std::move(replier), std::move(late_ticket));
        return std::nullopt;
    }
    return start(std::move(call), caller, std::move(replier), proven);
}

namespace {

// Changes the reply to a Ping for a client of a relay, which runs on this node.
Dispatcher::Done with_node(std::shared_ptr<const RemoteNode> node, Dispatcher::Done done) {
    return [node = std::move(node), done = std::move(done)](Result<Reply> reply) {
        if (auto* pong = reply ? std::get_if<Pong>(&*reply) : nullptr) {
            pong->node = node->host.node;
            pong->shared_memory = false;
        }
        done(std::move(reply));
    };
}

}  // namespace

std::optional<Ticket> Dispatcher::start(Call&& call, const Caller& caller, Replier done,
                                        ProvenSession* proven,
                                        const Result<SessionWatch::FoundProcess>* found) {
    auto binding = prepare(call, caller, proven, found);
    if (!binding) {
        done(std::move(binding).error());
        return std::nullopt;
    }
    return std::visit(
        [&](auto& verb) -> std::optional<Ticket> {
            if constexpr (is_decided<std::decay_t<decltype(verb)>>) {
                return decide(Request(std::move(verb)), *std::move(binding), std::move(done));
            } else if constexpr (std::is_same_v<std::decay_t<decltype(verb)>, Backup>) {
                back_up(verb.directory, std::move(done));
                return std::nullopt;
            } else if constexpr (std::is_same_v<std::decay_t<decltype(verb)>, CheckNode>) {
                run_alone([this] { return cluster_call(CheckNode{}); }, std::move(done));
                return std::nullopt;
            } else if constexpr (std::is_same_v<std::decay_t<decltype(verb)>, EndSessions>) {
                end_sessions(std::move(verb), name_of(caller), std::move(done));
                return std::nullopt;
            } else if constexpr (std::is_same_v<std::decay_t<decltype(verb)>, WatchRequest>) {
                return watch(std::move(verb), std::move(done));
            } else {
                if constexpr (std::is_same_v<std::decay_t<decltype(verb)>, Ping>) {
                    if (caller.node) done.done = with_node(caller.node, std::move(done.done));
                }
                answer_query(std::move(call), may_administer(caller), std::move(done));
                return std::nullopt;
            }
        },
        call.body);
}

namespace {

// Disconnected clients are handled in pieces. Up to `max_disconnecting` waits and sessions are
// handled in the current round. If there are more, there is a pause after each piece, in which
// other calls are served.
constexpr std::size_t disconnecting_piece = 512;
constexpr std::size_t max_disconnecting = 4'096;
constexpr std::chrono::microseconds disconnecting_pause{500};

}  // namespace

void Dispatcher::disconnect(Disconnect disconnected) {
    {
        const MutexLock lock(disconnecting_mutex_);
        auto& [waits, sessions, undelivered] = disconnecting_;
        waits.insert(waits.end(), disconnected.waits.begin(), disconnected.waits.end());
        std::move(disconnected.sessions.begin(), disconnected.sessions.end(),
                  std::back_inserter(sessions));
        undelivered.insert(undelivered.end(), disconnected.undelivered.begin(),
                           disconnected.undelivered.end());
    }
    if (!options_.flush_soon) return release_disconnected();
    options_.flush_soon();
}

void Dispatcher::release_disconnected() {
    Disconnect disconnected;
    {
        const MutexLock lock(disconnecting_mutex_);
        std::swap(disconnected, disconnecting_);
    }
    const std::size_t count =
        disconnected.waits.size() + disconnected.sessions.size() + disconnected.undelivered.size();
    if (count > max_disconnecting && options_.cleanup) {
        options_.cleanup([this, disconnected = std::move(disconnected)] {
            disconnect_in_pieces(disconnected, disconnecting_pause);
        });
    } else if (count > 0) {
        disconnect_in_pieces(disconnected, {});
    }
}

// Cancels all waits before it ends any session or grant. Otherwise the locks of a session could be
// granted to a client that has disconnected as well.
void Dispatcher::disconnect_in_pieces(const Disconnect& disconnected,
                                      std::chrono::microseconds pause) {
    const auto& [waits, sessions, undelivered] = disconnected;
    const std::size_t count = waits.size() + sessions.size() + undelivered.size();
    for (std::size_t first = 0; first < count; first += disconnecting_piece) {
        const std::size_t end = first + disconnecting_piece;
        const auto part = [&](const auto& all, std::size_t before) {
            const auto iterator_at = [&](std::size_t at) {
                return all.begin() + static_cast<std::ptrdiff_t>(
                                         std::clamp(at, before, before + all.size()) - before);
            };
            return std::vector(iterator_at(first), iterator_at(end));
        };
        service_.disconnect({part(waits, 0), part(sessions, waits.size()),
                             part(undelivered, waits.size() + sessions.size())});
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
    }
}

void Dispatcher::answer_query(Call call, bool administrator, Done done) {
    if (!options_.background || !may_take_long(call.body)) {
        return done(answer_query(call, administrator));
    }
    options_.background([this, call = std::move(call), administrator, done = std::move(done)] {
        done(answer_query(call, administrator));
    });
}

Dispatcher::~Dispatcher() {
    if (options_.cluster != nullptr) options_.cluster->stop();
    if (long_task_thread_.joinable()) long_task_thread_.join();
    ROCKLOCK_ASSERT(!long_task_runs_);
}

void Dispatcher::back_up(const std::string& directory, Done done) {
    if (!options_.backup) {
        return done(
            Error(ErrorCode::invalid_argument, "this store is in memory and cannot be backed up"));
    }
    if (!directory.starts_with('/')) {
        return done(
            Error(ErrorCode::invalid_argument,
                  "Directory must begin with /: it is a path on the machine of the daemon"));
    }
    run_alone(
        [this, directory]() -> Result<Reply> {
            const auto copied = options_.backup(directory);
            if (!copied) return copied.error();
            const auto size = size_of_directory(directory + "/db");
            if (!size) return size.error();
            return Reply(BackedUp{directory, size->files, size->bytes});
        },
        std::move(done));
}

void Dispatcher::run_alone(std::function<Result<Reply>()> task, Done done) {
    MutexLock lock(long_task_mutex_);
    if (long_task_runs_) {
        lock.unlock();
        return done(Error(ErrorCode::store_in_use,
                          "another backup or check is in progress: try again later"));
    }
    if (long_task_thread_.joinable()) long_task_thread_.join();
    long_task_runs_ = true;
    long_task_thread_ = std::thread([this, task = std::move(task), done = std::move(done)] {
        auto reply = task();
        {
            const MutexLock over(long_task_mutex_);
            long_task_runs_ = false;
        }
        done(std::move(reply));
    });
}

// Ends each session with its own commit, so that other calls are served in between.
void Dispatcher::end_sessions(EndSessions request, std::string by, Done done) {
    auto end = [this, request = std::move(request), by = std::move(by), done = std::move(done)] {
        auto uid = request.uid;
        if (uid && node_number_of(*uid) == 0) uid = user_here(uid_of(*uid));
        auto ended = end_all_sessions(service_, {request.principal, uid}, by, request.reason);
        if (!ended) return done(std::move(ended).error());
        done(Reply(EndedSessions{*ended}));
    };
    if (!options_.background) return end();
    options_.background(std::move(end));
}

bool Dispatcher::may_administer(const Caller& caller) const {
    // The daemon of another host can claim any uid, so the clients of other hosts have no rights
    // of administrators.
    if (caller.node) return false;
    const auto uid = uid_of(caller.uid);
    return caller.administrator || uid == 0 ||
           (uid == options_.administrator && uid != nobody_known);
}

std::string Dispatcher::name_of(const Caller& caller) const {
    return caller.node ? remote_users_.name_of(caller.uid) : user_name(uid_of(caller.uid));
}

// Makes the checks that the service does not make: the rights of the caller and of its node, and
// the secret of the session. Adds the facts about the caller that the kernel reports.
Result<Dispatcher::BindingPtr> Dispatcher::prepare(
    Call& call, const Caller& caller, ProvenSession* proven,
    const Result<SessionWatch::FoundProcess>* found) {
    const bool administrator = may_administer(caller);
    if (caller.node) {
        if (auto denied = check_rights(*caller.node, call.body)) return *std::move(denied);
    }
    BindingPtr binding;
    if (!administrator) {
        if (auto allowed = add_rights(call.body, caller); !allowed)
            return std::move(allowed).error();
        auto set = set_principal(call.body, caller, binding);
        if (!set) return std::move(set).error();
    }
    if (auto proof = prove(call, proven); !proof) return std::move(proof).error();
    if (auto* steal = std::get_if<Steal>(&call.body)) steal->administrator = administrator;
    std::visit(
        [&](auto& verb) {
            if constexpr (requires { verb.by; }) verb.by = name_of(caller);
        },
        call.body);
    auto bound = bind_processes(call, caller, binding, found);
    if (!bound) return std::move(bound).error();
    return binding;
}

Dispatcher::Binding& Dispatcher::binding_of(BindingPtr& binding) {
    if (binding == nullptr) binding = std::make_shared<Binding>();
    return *binding;
}

// Adds the facts about the caller to the session that the call opens, and determines the processes
// to watch.
Result<void> Dispatcher::bind_processes(Call& call, const Caller& caller, BindingPtr& binding,
                                        const Result<SessionWatch::FoundProcess>* found) {
    auto* opens = session_to_open(call.body);
    auto* join = std::get_if<JoinProcess>(&call.body);
    if (opens != nullptr) {
        opens->uid = caller.uid;
        opens->pid = caller.pid;
        opens->host = caller.node ? caller.node->host : options_.own_host;
        if (call.pid && opens->bound != Bound::process) {
            return Error(ErrorCode::invalid_argument, "Pid may be given only with Bound: process");
        }
    }
    if (binds_to_process(call)) {
        auto process = process_for(call, caller, found);
        if (!process) return std::move(process).error();
        Binding& bound = binding_of(binding);
        bound.processes = {*process};
        bound.host = caller.node ? caller.node->host : options_.own_host;
        if (opens != nullptr) opens->processes = bound.processes;
        if (join != nullptr) {
            join->process = *process;
            join->host = bound.host;
            bound.joined = join->session;
        }
    }
    return {};
}

bool Dispatcher::depends_on_rights(const CallBody& body) {
    const bool steals = std::holds_alternative<Steal>(body);
    const bool breaks = std::holds_alternative<Break>(body);
    const bool binds =
        std::holds_alternative<BindTable>(body) || std::holds_alternative<UnbindTable>(body);
    if (!steals && !breaks && !binds) return false;
    const auto classes = service_.classes();
    return std::any_of(classes.begin(), classes.end(), [&](const LockClass& lock_class) {
        return !(steals   ? lock_class.steal_by
                 : breaks ? lock_class.break_by
                          : lock_class.bind_by)
                    .empty();
    });
}

// A Steal always gets a list of identities. If no class depends on identities, the list is empty,
// and gives no rights. If a class with `steal_by` is saved before the Steal is decided, the service
// therefore still checks `steal_by`.
Result<void> Dispatcher::add_rights(CallBody& body, const Caller& caller) {
    const bool by_class = depends_on_rights(body);
    const auto* steal = std::get_if<Steal>(&body);
    if (is_administration(body) && (!by_class || steal != nullptr)) {
        return Error(ErrorCode::access_denied,
                     caller.node
                         ? "only administrators may do this, and the clients of a relay are never "
                           "administrators: run it on the host of the manager"
                         : "only the daemon's own user, root and the daemon's --admin-group may do "
                           "this, over its Unix socket: run it as one of them");
    }
    auto identities = by_class ? identities_.of(caller.uid) : std::vector<std::string>();
    std::visit(
        [&](auto& verb) {
            if constexpr (requires { verb.identities; }) verb.identities = std::move(identities);
        },
        body);
    return {};
}

// Applies the rule for principals to the session that the call opens.
Result<void> Dispatcher::set_principal(CallBody& body, const Caller& caller, BindingPtr& binding) {
    auto* opens = session_to_open(body);
    auto* list = std::get_if<ListLocks>(&body);
    if (opens == nullptr && list == nullptr) return {};
    if (list != nullptr) {
        // The reply marks the locks of `asker`. If the caller may not use this principal, no error
        // is returned, because `asker` only determines which locks are marked.
        if (list->asker.empty()) return {};
        auto asker = principals_.principal_for(caller.uid, list->asker);
        if (asker) list->asker = *std::move(asker);
        return {};
    }
    auto principal = principals_.principal_for(caller.uid, opens->principal);
    if (!principal) return std::move(principal).error();
    if (*principal == opens->principal) return {};
    binding_of(binding).principal = *principal;
    opens->principal = *std::move(principal);
    return {};
}

Result<void> Dispatcher::prove(const Call& call, ProvenSession* proven) {
    const auto* session = proven_session(call.body);
    if (session == nullptr) return {};
    const Secret secret = call.secret.value_or(Secret{});
    if (proven != nullptr && proven->is(*session, secret)) return {};
    auto known = service_.authenticate(*session, secret);
    if (known && proven != nullptr) proven->set(*session, secret);
    if (known) return {};
    // The response to a repeated Release reports how the grant has ended, even if the session has
    // ended too. If the secret is wrong, the error is not_owner, even if the session does not
    // exist.
    const bool ended = known.error().code == ErrorCode::session_expired ||
                       known.error().code == ErrorCode::session_not_found;
    if (ended && std::holds_alternative<Release>(call.body)) {
        return {};
    }
    return std::move(known).error();
}

LockService::Completion Dispatcher::completion_of(BindingPtr binding, bool opens, Replier&& done) {
    return [watch = watch_, binding = std::move(binding), opens,
            done = std::move(done)](Result<Answer>&& answer) {
        if (!answer) return done(std::move(answer).error());
        if (binding != nullptr) {
            if (watch != nullptr && !binding->processes.empty()) {
                const auto session = binding->joined ? binding->joined : opened_session(*answer);
                if (session) watch->watch(*session, binding->host, binding->processes);
            }
            if (!binding->principal.empty()) set_principal_in(*answer, binding->principal);
        }
        done(reply_of(*std::move(answer), opens));
    };
}

Ticket Dispatcher::decide(Request&& request, BindingPtr binding, Replier&& done) {
    const bool opens = std::holds_alternative<OpenSession>(request);
    auto completion = completion_of(std::move(binding), opens, std::move(done));
    if (!options_.flush_soon) return service_.submit(std::move(request), std::move(completion));
    const auto ticket = service_.enqueue(std::move(request), std::move(completion));
    options_.flush_soon();
    return ticket;
}

void Dispatcher::unbind(const SessionId& session) {
    const MutexLock lock(unbound_mutex_);
    unbound_.insert(session);
}

bool Dispatcher::rebind(const SessionId& session) {
    const MutexLock lock(unbound_mutex_);
    return unbound_.erase(session) > 0;
}

void Dispatcher::close_session(const SessionId& session, std::string_view why) {
    disconnect({{}, {CloseSession{session, std::string(why)}}});
}

}  // namespace rocklock
