#include "daemon/server/remote_processes.hpp"

#include <algorithm>
#include <utility>

namespace rocklock {
namespace {

// Sends a frame on the thread of the link.
void send_soon(const std::shared_ptr<FramedLink>& link, LinkFrame type, std::string payload) {
    link->thread().post(
        [link, type, payload = std::move(payload)] { link->send(type, 0, payload); });
}

Error no_answer(const ClientHost& host) {
    return {ErrorCode::unreachable,
            "Pid: the relay of host " + host.node +
                ", which must find the process, does not answer: try again"};
}

Error server_closing() {
    return {ErrorCode::closing, "the daemon shuts down: send the request to the next daemon"};
}

}  // namespace

void RemoteProcesses::watch(const SessionId& session, const ClientHost& host,
                            const std::vector<ProcessId>& processes) {
    const MutexLock lock(mutex_);
    auto& known = hosts_[host];
    for (const auto& process : processes) {
        auto& sessions = known.processes[process];
        if (sessions.empty() && !known.links.empty()) {
            send_soon(known.links.front(), LinkFrame::watch, encode(process));
        }
        if (sessions.insert(session).second) ++counts_[session];
    }
}

std::set<SessionId> RemoteProcesses::sessions() {
    const MutexLock lock(mutex_);
    std::set<SessionId> sessions;
    for (const auto& [session, count] : counts_) sessions.insert(session);
    return sessions;
}

void RemoteProcesses::forget(const std::set<SessionId>& ended) {
    if (ended.empty()) return;
    const MutexLock lock(mutex_);
    for (const auto& session : ended) counts_.erase(session);
    for (auto& [name, host] : hosts_) {
        for (auto at = host.processes.begin(); at != host.processes.end();) {
            std::erase_if(at->second, [&](const SessionId& session) {
                return ended.find(session) != ended.end();
            });
            if (!at->second.empty()) {
                ++at;
                continue;
            }
            if (!host.links.empty())
                send_soon(host.links.front(), LinkFrame::unwatch, encode(at->first));
            at = host.processes.erase(at);
        }
    }
}

void RemoteProcesses::watch_all(const Host& host) {
    for (const auto& [process, sessions] : host.processes) {
        send_soon(host.links.front(), LinkFrame::watch, encode(process));
    }
}

void RemoteProcesses::add_link(const ClientHost& host, const std::shared_ptr<FramedLink>& link) {
    std::vector<SessionId> ended;
    {
        const MutexLock lock(mutex_);
        for (auto& [other, processes] : hosts_) {
            if (other.node != host.node || other.boot_id == host.boot_id) continue;
            while (!processes.processes.empty()) {
                const auto gone = remove(processes, processes.processes.begin()->first);
                ended.insert(ended.end(), gone.begin(), gone.end());
            }
        }
        std::erase_if(hosts_, [](const auto& each) {
            return each.second.processes.empty() && each.second.links.empty();
        });
        auto& known = hosts_[host];
        known.links.push_back(link);
        if (known.links.size() == 1) watch_all(known);
    }
    for (const auto& session : ended) close_(session);
}

void RemoteProcesses::find(const ClientHost& host, std::uint32_t uid, std::int32_t pid,
                           FindDone done) {
    std::optional<Error> failed;
    {
        const MutexLock lock(mutex_);
        failed = send_query(host, {++last_query_, uid, pid}, done);
    }
    if (failed) done(*std::move(failed));
}

std::optional<Error> RemoteProcesses::send_query(const ClientHost& host, ProcessQuery query,
                                                 FindDone& done) {
    if (stopped_) return server_closing();
    const auto known = hosts_.find(host);
    if (known == hosts_.end() || known->second.links.empty()) return no_answer(host);
    const auto of_host = std::count_if(queries_.begin(), queries_.end(),
                                       [&](const auto& each) { return each.second.host == host; });
    if (static_cast<std::size_t>(of_host) >= max_queries) {
        return Error(ErrorCode::limit_exceeded,
                     "too many searches for processes of host " + host.node + " are in progress");
    }
    const auto& link = known->second.links.front();
    queries_[query.number] = {host, link.get(), std::move(done), std::chrono::steady_clock::now()};
    send_soon(link, LinkFrame::find, encode(query));
    return std::nullopt;
}

void RemoteProcesses::found(const ClientHost& host, const ProcessReport& report) {
    FindDone done;
    {
        const MutexLock lock(mutex_);
        const auto query = queries_.find(report.number);
        // A relay may answer only the queries to its own host.
        if (query == queries_.end() || query->second.host != host) return;
        done = std::move(query->second.done);
        queries_.erase(query);
    }
    SessionWatch::FoundProcess process;
    if (report.process.pid != 0) process.process = report.process;
    process.of_another_user = report.of_another_user;
    done(process);
}

std::vector<RemoteProcesses::Query> RemoteProcesses::take_queries(
    const std::function<bool(const Query&)>& condition) {
    std::vector<Query> taken;
    for (auto query = queries_.begin(); query != queries_.end();) {
        if (!condition(query->second)) {
            ++query;
            continue;
        }
        taken.push_back(std::move(query->second));
        query = queries_.erase(query);
    }
    return taken;
}

void RemoteProcesses::fail(const std::vector<Query>& queries, Error (*error)(const ClientHost&)) {
    for (const auto& query : queries) query.done(error(query.host));
}

void RemoteProcesses::end_old_queries(std::chrono::steady_clock::time_point now) {
    std::vector<Query> old;
    {
        const MutexLock lock(mutex_);
        old = take_queries([&](const Query& query) { return now - query.since >= max_query_time; });
    }
    fail(old, no_answer);
}

void RemoteProcesses::stop() {
    std::vector<Query> unanswered;
    {
        const MutexLock lock(mutex_);
        stopped_ = true;
        unanswered = take_queries([](const Query&) { return true; });
    }
    fail(unanswered, [](const ClientHost&) { return server_closing(); });
}

void RemoteProcesses::remove_link(const ClientHost& host, const FramedLink* link) {
    std::vector<Query> unanswered;
    {
        const MutexLock lock(mutex_);
        unanswered = take_queries([&](const Query& query) { return query.link == link; });
        remove_link_of(host, link);
    }
    fail(unanswered, no_answer);
}

void RemoteProcesses::remove_link_of(const ClientHost& host, const FramedLink* link) {
    const auto known = hosts_.find(host);
    if (known == hosts_.end()) return;
    auto& links = known->second.links;
    const auto at = std::find_if(links.begin(), links.end(),
                                 [&](const auto& each) { return each.get() == link; });
    if (at == links.end()) return;
    const bool was_first = at == links.begin();
    links.erase(at);
    if (was_first && !links.empty()) watch_all(known->second);
}

void RemoteProcesses::ended(const ClientHost& host, const ProcessId& process) {
    std::vector<SessionId> ended;
    {
        const MutexLock lock(mutex_);
        const auto known = hosts_.find(host);
        if (known == hosts_.end()) return;
        ended = remove(known->second, process);
    }
    for (const auto& session : ended) close_(session);
}

// Returns the sessions that have no other process.
std::vector<SessionId> RemoteProcesses::remove(Host& host, const ProcessId& process) {
    std::vector<SessionId> ended;
    const auto found = host.processes.find(process);
    if (found == host.processes.end()) return ended;
    for (const auto& session : found->second) {
        const auto count = counts_.find(session);
        if (count == counts_.end() || --count->second > 0) continue;
        counts_.erase(count);
        ended.push_back(session);
    }
    host.processes.erase(found);
    return ended;
}

}  // namespace rocklock
