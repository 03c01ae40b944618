#include "daemon/cli/run/wait_reason_search.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/duration_text.hpp"
#include "daemon/cli/messages.hpp"

namespace rocklock {
namespace {

// A request can name 100 resources for any of which it waits.
constexpr std::size_t max_lines = 5;
constexpr std::size_t max_questions = 200;

bool reads(const LockRequest& lock) { return lock.mode == Mode::read; }

}  // namespace

WaitReasonSearch::WaitReasonSearch(const Acquire& request) : request_(request) {
    for (std::size_t i = 0; i < request.locks.size(); ++i) {
        const LockRequest& lock = request.locks[i];
        add({i, lock.resource, false, false, reads(lock)});
    }
    for (std::size_t i = 0; i < request.locks.size(); ++i) {
        const LockRequest& lock = request.locks[i];
        if (lock.subtree) add({i, lock.resource, false, true, reads(lock)});
        for (auto end = lock.resource.rfind('/'); end != std::string::npos && end > 0;
             end = lock.resource.rfind('/', end - 1)) {
            add({i, lock.resource.substr(0, end), true, false, reads(lock)});
        }
    }
}

void WaitReasonSearch::add(Question question) {
    if (asked_.size() == max_questions) return;
    const std::string key = (question.below ? "below " : "at ") + question.resource;
    if (asked_.insert(key).second) open_.push_back(std::move(question));
}

void WaitReasonSearch::add_dependants(const LockClass& lock_class) {
    for (const Dependant& dependant : lock_class.dependants) {
        add({current_.lock, dependant.resource, false, false, dependant.mode == Mode::read});
    }
}

std::optional<Call> WaitReasonSearch::next() {
    // If all resources are needed, one cause is enough.
    if (open_.empty() || lines_ == max_lines || (lines_ > 0 && !request_.any)) return std::nullopt;
    current_ = std::move(open_.front());
    open_.pop_front();
    if (!current_.below) return Call{ShowLock{current_.resource}, {}, {}};
    ListLocks below;
    below.prefix = current_.resource + "/";
    return Call{std::move(below), {}, {}};
}

std::string WaitReasonSearch::waiting_for() const {
    return "waiting for " + printable(request_.locks[current_.lock].resource);
}

std::optional<std::string> WaitReasonSearch::blocker(const LockView& view, WallTime now) const {
    const std::string& wanted = request_.locks[current_.lock].resource;
    const std::string at =
        current_.resource == wanted ? std::string() : printable(current_.resource) + " is ";
    for (const Holder& holder : view.holders) {
        if (current_.above && !holder.subtree) continue;
        if (current_.reads && holder.mode == Mode::read && holder.permits == 0) continue;
        return at + "held by " + describe_holder(holder, now);
    }
    if (current_.above) return std::nullopt;
    if (view.closed_for) {
        return at + "closed for another " + format_duration(*view.closed_for) +
               ", by a minimum hold or a lock delay";
    }
    // The request itself is one of the waiters.
    if (view.waiters.size() > 1) {
        const Waiter& first = view.waiters.front();
        const std::string of = at.empty() ? "it" : printable(current_.resource);
        return std::to_string(view.waiters.size()) + " requests wait for " + of +
               ", first that of " + printable(first.principal) + " (" +
               describe_mode(first.mode, first.permits) + "), for " +
               format_duration(now - first.since);
    }
    return std::nullopt;
}

std::vector<std::string> WaitReasonSearch::take(const Result<Reply>& reply, WallTime now) {
    std::optional<std::string> found;
    if (const auto* view = reply ? std::get_if<LockView>(&*reply) : nullptr) {
        found = blocker(*view, now);
        if (!found && !current_.above) add_dependants(view->lock_class);
    } else if (const auto* page = reply ? std::get_if<LockPage>(&*reply) : nullptr) {
        const auto holder =
            std::find_if(page->locks.begin(), page->locks.end(), [this](const Holder& one) {
                return !current_.reads || one.mode != Mode::read || one.permits > 0;
            });
        if (holder != page->locks.end()) {
            found = printable(holder->resource) + " is held by " + describe_holder(*holder, now);
        }
    }
    std::vector<std::string> lines;
    if (found) {
        lines.push_back(waiting_for() + ": " + *found);
    } else if (open_.empty() && lines_ == 0) {
        lines.push_back(waiting_for());
    }
    lines_ += lines.size();
    return lines;
}

}  // namespace rocklock
