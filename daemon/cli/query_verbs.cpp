// ls, show and sessions.
#include <functional>
#include <utility>

#include <rocklock/clock.hpp>

#include "base/duration_text.hpp"
#include "base/time_format.hpp"
#include "daemon/cli/exit_status.hpp"
#include "daemon/cli/messages.hpp"
#include "daemon/cli/text_table.hpp"
#include "daemon/cli/verbs.hpp"
#include "wire/call_json.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

constexpr std::uint32_t page_size = 1000;

Result<std::unique_ptr<LockConnection>> open_for_reading(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return settings.error();
    return open_manager(arguments, *settings, std::chrono::milliseconds{0}, Opening::existing);
}

std::string word_of(const Holder& holder) {
    return describe_mode(holder.mode, holder.permits, holder.subtree);
}

std::string note_of(const Holder& holder) {
    std::string note = printable(holder.note);
    if (!holder.cause.empty()) {
        note = "because of " + printable(holder.cause) + (note.empty() ? "" : ": " + note);
    }
    return note;
}

// Returns the lines about the class of a resource; empty if there is none.
std::string text_of_class(const LockClass& its_class) {
    if (its_class.pattern.empty()) return {};
    std::string text =
        "  class      " + printable(its_class.pattern) + " (" + std::string(word(its_class.policy));
    if (its_class.drafts) text += ", keeps drafts";
    if (its_class.max_priority > 0)
        text += ", priorities up to " + std::to_string(its_class.max_priority);
    if (its_class.no_expiry) text += ", allows locks without expiry";
    text += ")\n";
    if (const auto rights = rights_of(its_class); rights != "-")
        text += "  rights     " + rights + "\n";
    if (its_class.draining) {
        text += "  drained    its resources are not locked until the class is resumed";
        if (!its_class.draining->empty()) text += ": " + printable(*its_class.draining);
        text += "\n";
    }
    return text;
}

std::string text_of(const LockView& view, WallTime now) {
    std::string text = printable(view.resource) + "\n";
    if (view.holders.empty()) text += "  free";
    if (view.holders.empty() && view.closed_for) {
        text += ", but closed for " + format_duration(*view.closed_for);
    }
    if (view.holders.empty()) text += "\n";
    for (const auto& holder : view.holders) {
        text += "  held by    " + describe_holder(holder, now) + "\n";
    }
    for (const auto& waiter : view.waiters) {
        text += "  waiting " + std::to_string(waiter.position) + "  " +
                printable(waiter.principal) + " (" + describe_mode(waiter.mode, waiter.permits) +
                "), for " + format_duration(now - waiter.since) +
                (waiter.priority > 0 ? ", with priority " + std::to_string(waiter.priority) : "") +
                (waiter.any ? ", or for another resource" : "") + "\n";
    }
    if (view.last_holder) {
        const auto& last = view.last_holder->holder;
        text += "  last held by " + printable(last.principal) + " (" +
                describe_mode(last.mode, last.permits) + "), " +
                describe_ending(view.last_holder->ending) + "\n";
    }
    if (number(view.last_token) != 0) {
        text += "  last token " + std::to_string(number(view.last_token)) + "\n";
    }
    text += text_of_class(view.lock_class);
    text.pop_back();
    return text;
}

}  // namespace

int list_verb(const Arguments& arguments) {
    auto manager = open_for_reading(arguments);
    if (!manager) return fail(manager.error());
    ListLocks list;
    if (!arguments.operands.empty()) list.prefix = arguments.operands.front();
    list.principal = arguments.get("principal").value_or("");
    list.class_pattern = arguments.get("class");
    list.contended = arguments.has("contended");
    list.limit = page_size;
    TextTable table({"RESOURCE", "MODE", "PRINCIPAL", "AGE", "LEFT", "GRANT", "NOTE"});
    do {
        auto page = (*manager)->ask<LockPage>(Call{list, {}, {}});
        if (!page) return fail(page.error());
        const auto now = system_clock().now().wall;
        for (const auto& holder : page->locks) {
            if (arguments.has("json")) {
                print(write_value(holder));
                continue;
            }
            table.add({printable(holder.resource), word_of(holder), printable(holder.principal),
                       format_duration(now - holder.acquired_at), left_in_table(holder.remaining),
                       std::to_string(number(holder.grant)), note_of(holder)});
        }
        list.next = page->next;
    } while (!list.next.empty());
    if (!arguments.has("json")) print_table(table, arguments);
    return exit_status::done;
}

int show_verb(const Arguments& arguments) {
    auto manager = open_for_reading(arguments);
    if (!manager) return fail(manager.error());
    const auto view = (*manager)->ask<LockView>(Call{ShowLock{arguments.operands.front()}, {}, {}});
    if (!view) return fail(view.error());
    print(arguments.has("json") ? write_reply(*view) : text_of(*view, system_clock().now().wall));
    return exit_status::done;
}

int sessions_verb(const Arguments& arguments) {
    auto manager = open_for_reading(arguments);
    if (!manager) return fail(manager.error());
    ListSessions list;
    list.principal = arguments.get("principal").value_or("");
    list.limit = page_size;
    TextTable table(
        {"SESSION", "PRINCIPAL", "BOUND", "UID", "PID", "AGE", "LEFT", "GRANTS", "NOTE"});
    do {
        auto page = (*manager)->ask<SessionPage>(Call{list, {}, {}});
        if (!page) return fail(page.error());
        const auto now = system_clock().now().wall;
        for (const auto& session : page->sessions) {
            if (arguments.has("json")) {
                print(write_value(session));
                continue;
            }
            table.add({to_string(session.id), printable(session.principal),
                       std::string(word(session.bound)), std::to_string(session.uid),
                       std::to_string(session.pid), format_duration(now - session.opened_at),
                       left_in_table(session.remaining), std::to_string(session.grants),
                       printable(session.note)});
        }
        list.next = page->next;
    } while (!list.next.empty());
    if (!arguments.has("json")) print_table(table, arguments);
    return exit_status::done;
}

}  // namespace rocklock
