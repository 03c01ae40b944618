#include "daemon/node/node.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <rocklock/clock.hpp>
#include <rocklock/version.hpp>

#include "base/duration_text.hpp"
#include "daemon/node/client_refuser.hpp"
#include "daemon/node/etcd_monitor.hpp"
#include "daemon/node/node_cluster.hpp"
#include "daemon/node/node_metrics.hpp"
#include "daemon/node/node_signals.hpp"
#include "daemon/peer/peer_nodes.hpp"
#include "daemon/peer/tcp.hpp"
#include "daemon/relay/run_relay.hpp"
#include "daemon/server/daemon_setup.hpp"
#include "daemon/server/http_access.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/peer_admission.hpp"
#include "daemon/server/run_manager.hpp"
#include "daemon/server/served_store.hpp"
#include "daemon/status/own_pages.hpp"
#include "daemon/status/role_status.hpp"
#include "daemon/status/status_server.hpp"
#include "daemon/support/log.hpp"
#include "daemon/support/stop_request.hpp"
#include "storage/etcd/client/connection.hpp"
#include "storage/etcd/client/member_version.hpp"
#include "storage/etcd/copy/copy.hpp"
#include "storage/etcd/copy/follower.hpp"
#include "storage/etcd/lead_watch.hpp"
#include "storage/etcd/measurements.hpp"
#include "storage/etcd/node_list.hpp"
#include "storage/etcd/node_registration.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The time that the next manager has to open the store.
constexpr milliseconds pause_before_free{5'000};
// The pause before the next attempt to open the store if etcd cannot be reached.
constexpr milliseconds retry_pause{500};
// After a handover, the other nodes have this time to become the manager.
constexpr milliseconds handover_time{5'000};
// If the manager has ended, nodes with a current copy have this time to take over before a node
// that still loads its copy.
constexpr milliseconds head_start{1'000};
constexpr milliseconds head_start_step{50};
constexpr milliseconds node_list_timeout{1'000};
constexpr milliseconds status_timeout{1'000};

// Returns whether opening the store can succeed later without a change by an administrator.
bool is_temporary(ErrorCode code) {
    return code == ErrorCode::unreachable || code == ErrorCode::indeterminate ||
           code == ErrorCode::not_the_manager || code == ErrorCode::no_space;
}

etcd::NodeRecord record_of(const ServerOptions& options) {
    return {
        options.etcd.node,        options.etcd.address, ::getpid(), std::string(version()), false,
        system_clock().now().wall};
}

// Checks the name of the node, and the address at which the other nodes can reach it. Errors:
// invalid_argument
Result<void> check_identity(const ServerOptions& options) {
    if (auto checked = check_node_name(options.node); !checked) return checked;
    const auto& text = options.etcd.address;
    if (text.empty()) return {};
    const auto address = parse_host_and_port("peer-address or peer-listen", text);
    if (!address) return address.error();
    const bool has_port = address->port.find_first_not_of('0') != std::string::npos;
    if (address->host != "0.0.0.0" && address->host != "::" && has_port) return {};
    return Error(ErrorCode::invalid_argument,
                 "the address of this node (peer-address, or else the first peer-listen) is " +
                     text +
                     ", to which other nodes cannot connect: give the address of this host as "
                     "peer-address, with its port");
}

// The clients and nodes that are permitted.
struct NodeAccess {
    PeerAccess peers;
    HttpAccess http;
};

// The role and the metrics of a node, for its status server and its pages. Threads: thread-safe,
// except for start_monitor().
class NodeReport {
public:
    NodeReport(const etcd::Connection& etcd, const EtcdOptions& options)
        : copy_(options.copy),
          measurements_(options.measurements),
          quota_bytes_(options.quota_bytes),
          monitor_(*etcd.client, etcd.layout, *options.copy) {}

    RoleStatus& role() { return role_; }
    void start_monitor() { monitor_.start(); }
    // Appends the metrics, without those of the role.
    void append(std::string& text) const {
        append_node_metrics(text, node_metrics(*measurements_, monitor_, *copy_, quota_bytes_));
    }

private:
    const std::shared_ptr<etcd::Copy> copy_;
    const std::shared_ptr<etcd::Measurements> measurements_;
    const std::uint64_t quota_bytes_;
    RoleStatus role_;
    EtcdMonitor monitor_;
};

// Alternates between the two roles until the end is requested.
class Node {
public:
    // NOLINTNEXTLINE(readability-function-size): each parameter becomes a member
    Node(const ServerOptions& options, const DaemonSetup& setup, NodeSignals& signals,
         NodeAccess access, etcd::Connection& etcd, NodeReport& report)
        : options_(options),
          setup_(setup),
          signals_(signals),
          access_(std::move(access)),
          etcd_(etcd),
          report_(report),
          watch_(*etcd_.client, etcd_.layout),
          registration_(*etcd_.client, etcd_.layout, record_of(options),
                        std::chrono::ceil<std::chrono::seconds>(options.etcd.lead_ttl)),
          follower_(*etcd_.client, etcd_.layout, options.etcd.copy,
                    std::bind_front(&Node::set_copy_current, this)) {}

    Result<void> run();

private:
    // The result of the process, or nullopt if it continues in another role.
    using End = std::optional<Result<void>>;

    End play_role();
    End serve(Database& database);
    void refuse_clients(const Error& error);
    void refuse_clients_without_etcd();
    void check_version();
    void let_other_node_lead();
    void free_later(Database database);
    End stand_by(const ManagerNode& manager);
    End relay_to(const ManagerNode& manager, RelayTarget target);
    End await_own_end(const ManagerNode& manager);
    bool await_end_of(const ManagerNode& manager);
    void wait_for(const ManagerNode& manager, const std::string& why);
    void follow_during(const std::function<bool()>& wait);
    void follow(const std::stop_token& stop);
    void set_copy_current(bool current);
    void let_current_node_lead();
    void started();
    void set_role(ProcessRole role, std::string reason = {}) {
        report_.role().set_role(role, std::move(reason));
    }

    // Some members of a copy are reset after the start.
    ServerOptions options_;
    const DaemonSetup& setup_;
    NodeSignals& signals_;
    const NodeAccess access_;
    etcd::Connection& etcd_;
    NodeReport& report_;
    etcd::LeadWatch watch_;
    etcd::NodeRegistration registration_;
    // Whether the follower keeps the copy current, so that this node can take over at once.
    std::atomic<bool> copy_is_current_{false};
    // Uses the copy of this node while the node is a standby.
    etcd::Follower follower_;
    // Exists while the store cannot be opened.
    std::optional<ClientRefuser> refuser_;
    // Frees the store of an earlier term of this node.
    std::jthread freeing_;
    RateLimiter logged_{milliseconds{10'000}};
};

Result<void> Node::run() {
    set_role(ProcessRole::waiting, "this node connects to etcd");
    refuse_clients_without_etcd();
    while (!signals_.token().stop_requested()) {
        auto end = play_role();
        signals_.set_waiting(true);
        if (end) return *std::move(end);
    }
    setup_.manager.notify("STOPPING=1");
    setup_.log->write({LogLevel::info, "leaving", "shutting down: SIGTERM or SIGINT", {}});
    return {};
}

// Becomes the manager or a standby, until that ends.
Node::End Node::play_role() {
    auto opened = open_served_store(options_, *setup_.log);
    // If a stop was requested meanwhile, the destructor of the database closes it.
    if (signals_.token().stop_requested()) return std::nullopt;
    if (opened) {
        refuser_.reset();
        auto end = serve(*opened);
        if (!end) free_later(*std::move(opened));
        return end;
    }
    const auto& error = opened.error();
    if (error.code == ErrorCode::store_in_use && error.manager) {
        refuser_.reset();
        return stand_by(*error.manager);
    }
    // Without the name of the manager, the key `lead` contains something else.
    const bool unknown_manager = error.code == ErrorCode::store_in_use;
    if (!is_temporary(error.code) && !unknown_manager) return Result<void>(error);
    set_copy_current(false);
    refuse_clients(error);
    if (logged_.let_through(steady_clock::now()) > 0) {
        setup_.log->write({LogLevel::warning,
                           "store_unreachable",
                           "the store cannot be opened yet",
                           {{"error", error.message}}});
    }
    // The listening sockets are open, so the service manager need not wait any longer.
    setup_.manager.notify("READY=1\nSTATUS=waiting for etcd");
    signals_.wait_for(retry_pause);
    return std::nullopt;
}

// Refuses new clients until the store can be opened.
void Node::refuse_clients(const Error& error) {
    set_role(ProcessRole::waiting, "the store cannot be opened yet: " + error.message);
    if (!refuser_) {
        refuser_.emplace(*setup_.listeners, report_.role(), options_.relay_timeout);
    }
}

// Called before the first attempt to open the store, which takes longer without etcd than clients
// wait for an answer.
void Node::refuse_clients_without_etcd() {
    const auto status = etcd_.client->status(status_timeout);
    if (!status) refuse_clients(status.error());
}

// Logs a warning if etcd has a version with known faults.
void Node::check_version() {
    const auto status = etcd_.client->status(status_timeout);
    if (!status) return;
    const auto warning = etcd::version_warning(status->version);
    if (!warning) return;
    setup_.log->write({LogLevel::warning, "etcd_version", *warning, {}});
}

// The process has reported that it has started. Later roles must not report it again.
void Node::started() {
    options_.ready_fd = -1;
    options_.on_started = nullptr;
}

Node::End Node::serve(Database& database) {
    setup_.log->write(
        {LogLevel::info, "leading", "this node is the manager now", {{"node", options_.node}}});
    set_copy_current(false);
    auto listeners = setup_.listeners->duplicate();
    check_version();
    StopRequest hand_over;
    NodeCluster cluster(*etcd_.client, etcd_.layout, options_.etcd.node, *options_.etcd.copy,
                        hand_over);
    signals_.set_waiting(false);
    set_role(ProcessRole::manager);
    const auto end = [this](const std::string& reason) {
        set_role(ProcessRole::waiting, "this node is no longer the manager: " + reason);
    };
    const auto append_metrics = [this](std::string& text) {
        append_role(text, report_.role().state());
        report_.append(text);
    };
    const auto failure =
        run_manager({options_, setup_, listeners, database, access_.peers, access_.http, true,
                     &cluster, &hand_over, signals_.token(), end, append_metrics});
    started();
    if (failure && hand_over.requested()) let_other_node_lead();
    if (!failure) return Result<void>();
    if (!is_temporary(failure->code)) return Result<void>(*failure);
    return std::nullopt;
}

// After a handover, this node must not become the manager again at once.
void Node::let_other_node_lead() {
    signals_.set_waiting(true);
    if (watch_.await_other(options_.etcd.node, handover_time, signals_.token())) return;
    if (signals_.token().stop_requested()) return;
    setup_.log->write({LogLevel::warning,
                       "not_handed_over",
                       "no other node has become the manager, so this node continues",
                       {{"waited", format_duration(handover_time)}}});
}

// Frees the memory of the store that another node manages now. With a million locks, this takes
// more than a second, for which the clients of this node would wait. On one machine, it would also
// delay the new manager. If this node ends another term before, waits until the memory is free.
void Node::free_later(Database database) {
    freeing_ = std::jthread([database = std::move(database)](const std::stop_token& stop) {
        const auto until = steady_clock::now() + pause_before_free;
        while (!stop.stop_requested() && steady_clock::now() < until) {
            std::this_thread::sleep_for(milliseconds{50});
        }
    });
}

// Relays the clients of this node as long as the other node is the manager.
Node::End Node::stand_by(const ManagerNode& manager) {
    if (manager.name == options_.etcd.node && manager.address == options_.etcd.address) {
        return await_own_end(manager);
    }
    if (manager.address.empty()) {
        wait_for(manager, "it does not accept other nodes (see --peer-listen)");
        return std::nullopt;
    }
    auto target = relay_target(options_, manager.address);
    if (!target) {
        wait_for(manager, target.error().message);
        return std::nullopt;
    }
    End end;
    follow_during([&] {
        end = relay_to(manager, *std::move(target));
        return !end;
    });
    return end;
}

Node::End Node::relay_to(const ManagerNode& manager, RelayTarget target) {
    StopRequest changed;
    std::jthread watching([&](const std::stop_token& stop) {
        watch_.await_change(manager, stop);
        if (!stop.stop_requested()) changed.request();
    });
    auto listeners = setup_.listeners->duplicate();
    signals_.set_waiting(false);
    set_role(ProcessRole::standby, no_link_yet(target));
    const auto failure = run_relay({options_, setup_, listeners, std::move(target), &changed,
                                    signals_.token(), &report_.role()});
    set_role(ProcessRole::waiting, "this node is no longer a standby of " + manager.name);
    signals_.set_waiting(true);
    const bool has_changed = changed.requested();
    watching.request_stop();
    watching.join();
    started();
    if (failure) return Result<void>(*failure);
    return has_changed ? End() : End(Result<void>());
}

// Keeps the copy of this node current while `wait` runs, which returns whether the manager has
// ended. This node remains listed as a standby until it has tried to become the manager, because
// let_current_node_lead() of the other nodes reads the list.
void Node::follow_during(const std::function<bool()>& wait) {
    set_copy_current(false);
    const std::jthread following([this](const std::stop_token& stop) { follow(stop); });
    if (wait()) let_current_node_lead();
}

// If the copy of this node is not current, but that of another node is, gives that node time to
// become the manager. Returns early if the copy becomes current.
void Node::let_current_node_lead() {
    if (copy_is_current_) return;
    const auto records = etcd::read_nodes(*etcd_.client, etcd_.layout, node_list_timeout);
    const bool has_other =
        records && std::any_of(records->nodes.begin(), records->nodes.end(), [&](const auto& node) {
            return node.standby && node.node != options_.etcd.node;
        });
    if (!has_other) return;
    const auto until = steady_clock::now() + head_start;
    while (!copy_is_current_ && !signals_.token().stop_requested() && steady_clock::now() < until) {
        if (watch_.await_other(options_.etcd.node, head_start_step, signals_.token())) return;
    }
}

// Etcd still contains the key `lead` of an earlier term of this node, after a kill or after a time
// in which this node could not reach etcd. Waits for the end of its lease.
Node::End Node::await_own_end(const ManagerNode& manager) {
    set_role(ProcessRole::waiting,
             "the lease of this node's earlier term as the manager has not ended yet");
    setup_.manager.notify("READY=1\nSTATUS=waiting for the end of an earlier lease");
    follow_during([&] { return await_end_of(manager); });
    return std::nullopt;
}

// Waits without serving clients, which are refused.
void Node::wait_for(const ManagerNode& manager, const std::string& why) {
    setup_.log->write({LogLevel::error,
                       "not_relaying",
                       "the clients of this node are refused, because it cannot relay them to the "
                       "manager",
                       {{"manager", manager.name}, {"reason", why}}});
    set_role(ProcessRole::waiting,
             "this node cannot relay to the manager " + manager.name + ": " + why);
    setup_.manager.notify("READY=1\nSTATUS=waiting for another manager");
    const ClientRefuser refuser(*setup_.listeners, report_.role(), options_.relay_timeout);
    follow_during([&] { return await_end_of(manager); });
}

// Returns false if a stop was requested.
bool Node::await_end_of(const ManagerNode& manager) {
    watch_.await_change(manager, signals_.token());
    return !signals_.token().stop_requested();
}

// A node with a current copy is listed as a standby, to which the manager can hand over its role.
// It can take over even if it cannot relay its clients.
void Node::set_copy_current(bool current) {
    if (copy_is_current_.exchange(current) == current) return;
    registration_.set_standby(current, system_clock().now().wall);
}

// Keeps the copy of this node current, so that a takeover need not read all values.
void Node::follow(const std::stop_token& stop) {
    const auto done = follower_.follow(stop);
    if (done) return;
    set_copy_current(false);
    setup_.log->write({LogLevel::error,
                       "copy_failed",
                       "the copy of the store cannot be kept current",
                       {{"error", done.error().message}}});
}

}  // namespace

Result<void> serve_node(const ServerOptions& options) {
    prepare_process();
    if (auto checked = check_identity(options); !checked) return checked;
    auto etcd = etcd::open_connection(options.store, options.etcd);
    if (!etcd) return std::move(etcd).error();
    auto peer_access = open_peer_access(options);
    if (!peer_access) return std::move(peer_access).error();
    auto http_access = http_access_of(options);
    if (!http_access) return std::move(http_access).error();
    const auto setup = set_up_daemon(options);
    if (!setup) return setup.error();
    NodeSignals signals(setup->manager);
    log_listeners(*setup->log, *setup->listeners);
    auto copy = etcd::Copy::open(options.etcd.copy_directory, system_clock());
    if (!copy) return std::move(copy).error();
    ServerOptions own = options;
    own.etcd.copy = *std::move(copy);
    own.etcd.stop = signals.token();
    own.etcd.measurements = std::make_shared<etcd::Measurements>();
    NodeReport report(*etcd, own.etcd);
    const OwnPages pages(report.role(), [&](std::string& text) { report.append(text); });
    const auto status = StatusServer::start(options.status_listen, pages, *setup->log);
    if (!status) return status.error();
    report.start_monitor();
    Node node(own, *setup, signals, {*std::move(peer_access), *std::move(http_access)}, *etcd,
              report);
    return node.run();
}

}  // namespace rocklock
