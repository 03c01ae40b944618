#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <rocklock/database.hpp>

#include "daemon/cli/lock_connection.hpp"
#include "daemon/cli/settings.hpp"
#include "service/dispatcher.hpp"
#include "service/process_id.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Receives the reply to one call.
struct Mailbox {
    std::mutex mutex;
    std::condition_variable_any arrived;
    std::optional<Result<Reply>> reply;
};

class EmbeddedManager final : public LockConnection {
public:
    EmbeddedManager(Database database, const std::string& directory)
        : database_(std::move(database)),
          dispatcher_(*server_service(database_.service()), nullptr,
                      {directory, "durable", ::geteuid(), nullptr,
                       [this](const std::string& path) { return database_.backup(path); }}) {
        end_orphans();
    }

    Result<Reply> call(Call call, const CallLimits& limits) override;
    std::string socket() const override { return {}; }
    std::unique_ptr<LockConnection> reconnected() const override { return nullptr; }
    LockService* service() override { return &database_.service(); }

private:
    void end_orphans();
    std::optional<Result<Reply>> answer_about_bindings(const CallBody& body);

    Database database_;
    Dispatcher dispatcher_;
};

// Ends the sessions whose processes have ended while the store was closed and not watched.
void EmbeddedManager::end_orphans() {
    const auto sessions = database_.service().sessions({});
    if (!sessions) return;
    for (const auto& session : *sessions) {
        if (session.bound != Bound::process) continue;
        const bool alive =
            std::any_of(session.processes.begin(), session.processes.end(), is_running);
        if (!alive) dispatcher_.close_session(session.id, process_gone);
    }
}

// Answers the verbs of bindings; returns nullopt for other verbs. The dispatcher has no tables, so
// that verbs about locks do not open them.
std::optional<Result<Reply>> EmbeddedManager::answer_about_bindings(const CallBody& body) {
    if (const auto* bind = std::get_if<BindTable>(&body)) {
        auto bound = database_.bind_table(bind->binding);
        return bound ? Result<Reply>(*std::move(bound)) : std::move(bound).error();
    }
    if (const auto* unbind = std::get_if<UnbindTable>(&body)) {
        auto unbound = database_.unbind_table(unbind->table);
        return unbound ? Result<Reply>(*std::move(unbound)) : std::move(unbound).error();
    }
    if (!std::holds_alternative<ListBindings>(body)) return std::nullopt;
    auto bindings = database_.bindings();
    return bindings ? Result<Reply>(BindingList{*std::move(bindings)})
                    : std::move(bindings).error();
}

Result<Reply> EmbeddedManager::call(Call call, const CallLimits& limits) {
    if (auto answer = answer_about_bindings(call.body)) return *std::move(answer);
    const auto mailbox = std::make_shared<Mailbox>();
    const auto ticket = dispatcher_.submit(std::move(call), {::geteuid(), ::getpid()},
                                           [mailbox](Result<Reply> reply) {
                                               const std::lock_guard lock(mailbox->mutex);
                                               mailbox->reply = std::move(reply);
                                               mailbox->arrived.notify_all();
                                           });
    std::unique_lock lock(mailbox->mutex);
    const auto here = [&] { return mailbox->reply.has_value(); };
    if (limits.deadline) {
        mailbox->arrived.wait_until(lock, limits.stop, *limits.deadline, here);
    } else {
        mailbox->arrived.wait(lock, limits.stop, here);
    }
    if (!here() && ticket) {
        lock.unlock();
        dispatcher_.cancel(*ticket);
        lock.lock();
        mailbox->arrived.wait(lock, here);
    }
    return *std::move(mailbox->reply);
}

}  // namespace

Result<std::unique_ptr<LockConnection>> make_embedded_manager(const std::string& directory,
                                                              milliseconds patience,
                                                              bool may_create) {
    DatabaseOptions options;
    options.create_if_missing = may_create;
    const auto start = steady_clock::now();
    while (true) {
        auto database = Database::open(directory, options);
        if (database) {
            return std::unique_ptr<LockConnection>(
                std::make_unique<EmbeddedManager>(*std::move(database), directory));
        }
        const bool wait = database.error().code == ErrorCode::store_in_use &&
                          (patience == no_limit || steady_clock::now() - start < patience);
        if (!wait) return std::move(database).error();
        std::this_thread::sleep_for(milliseconds{20});
    }
}

}  // namespace rocklock
