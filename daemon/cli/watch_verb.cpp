// watch and history.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
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

using std::chrono::milliseconds;

// A waiting call is repeated after this time, so that it cannot hang on a lost connection.
constexpr milliseconds max_call{60'000};

// Requests a stop if the program gets a signal to end, or if the reader of its output has gone.
class StopSignals {
public:
    StopSignals() {
        sigset_t signals;
        ::sigemptyset(&signals);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
        ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        ::signal(SIGPIPE, SIG_IGN);
        signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
        thread_ = std::jthread([this](const std::stop_token& over) { wait(over); });
    }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals() {
        thread_.request_stop();
        thread_.join();
        ::close(signals_);
    }

    std::stop_token token() const { return stop_.get_token(); }
    void stop() { stop_.request_stop(); }

private:
    void wait(const std::stop_token& over) {
        // poll() reports a pipe without a reader even if no events are requested.
        std::array<pollfd, 2> sources{pollfd{signals_, POLLIN, 0}, pollfd{STDOUT_FILENO, 0, 0}};
        while (!over.stop_requested()) {
            const int ready = ::poll(sources.data(), sources.size(), 200);
            if (ready > 0 || (ready < 0 && errno != EINTR)) return stop();
        }
    }

    std::stop_source stop_;
    int signals_ = -1;
    std::jthread thread_;
};

std::string text_of(const LockEvent& event) {
    const auto padded = [](std::string text, std::size_t width) {
        if (text.size() < width) text.append(width - text.size(), ' ');
        return text + "  ";
    };
    std::string text = format_time(event.at) + "  " + padded(std::string(word(event.type)), 11) +
                       padded(printable(event.resource), 20) +
                       padded(describe_mode(event.mode, event.permits), 9) +
                       padded(printable(event.principal), 10) + std::to_string(number(event.grant));
    if (!event.by.empty()) text += "  by " + printable(event.by);
    if (!event.reason.empty()) text += ": " + printable(event.reason);
    return text;
}

// Prints the events. Returns 0, or the errno if they could not be written.
int print_events(const EventPage& page, bool json) {
    if (page.gap) {
        if (json) {
            print("{\"Gap\":true}");
        } else {
            complain("events are missing here: list the locks again with `rocklock ls`");
        }
    }
    for (const auto& event : page.events) print(json ? write_value(event) : text_of(event));
    return errno_of_output();
}

Result<std::uint64_t> after_of(const Arguments& arguments) {
    const auto given = arguments.get("after");
    if (!given) return from_now;
    std::uint64_t after = 0;
    const auto read = std::from_chars(given->data(), given->data() + given->size(), after);
    if (read.ec != std::errc{} || read.ptr != given->data() + given->size() || after > from_now) {
        return Error(ErrorCode::invalid_argument,
                     "--after is '" + *given +
                         "'; give the Sequence of the last event that you have seen, or 0 for all "
                         "events that are kept");
    }
    return after;
}

int fail_to_write(int reason) {
    complain(std::string("standard output could not be written: ") + std::strerror(reason));
    return exit_status::internal;
}

std::string ended_of(const HistoryRow& row) {
    return row.ended ? describe_ending(*row.ended) : "holds it, " + time_left(row.holder.remaining);
}

}  // namespace

int watch_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    const auto after = after_of(arguments);
    if (!after) return fail(after.error());
    // Blocks the signals before other threads are started, because those inherit the mask.
    StopSignals stop_signals;
    auto manager = open_manager(arguments, *settings, milliseconds{0});
    if (!manager) return fail(manager.error());
    WatchRequest request;
    if (!arguments.operands.empty()) request.prefix = arguments.operands.front();
    request.after = *after;
    while (!stop_signals.token().stop_requested()) {
        CallLimits limits;
        limits.stop = stop_signals.token();
        const auto page = (*manager)->ask<EventPage>(Call{request, {}, {}}, limits);
        if (!page) {
            if (stop_signals.token().stop_requested()) break;
            return fail(page.error());
        }
        const int unwritten = print_events(*page, arguments.has("json"));
        // If the reader closes the pipe, the program ends successfully.
        if (unwritten == EPIPE) break;
        if (unwritten != 0) return fail_to_write(unwritten);
        request.after = page->after;
        request.patience = max_call;
    }
    return exit_status::done;
}

int history_verb(const Arguments& arguments) {
    const auto settings = Settings::load(arguments);
    if (!settings) return fail(settings.error());
    auto manager = open_manager(arguments, *settings, milliseconds{0}, Opening::existing);
    if (!manager) return fail(manager.error());
    HistoryRequest request;
    request.resource = arguments.operands.front();
    TextTable table({"ACQUIRED", "MODE", "PRINCIPAL", "HELD", "GRANT", "TOKEN", "ENDED"});
    do {
        const auto page = (*manager)->ask<HistoryPage>(Call{request, {}, {}});
        if (!page) return fail(page.error());
        const auto now = system_clock().now().wall;
        for (const auto& row : page->rows) {
            if (arguments.has("json")) {
                print(write_value(row));
                continue;
            }
            const auto& holder = row.holder;
            const auto end = row.ended ? row.ended->at : now;
            table.add({format_time(holder.acquired_at),
                       describe_mode(holder.mode, holder.permits, holder.subtree),
                       printable(holder.principal), format_duration(end - holder.acquired_at),
                       std::to_string(number(holder.grant)), std::to_string(number(holder.token)),
                       ended_of(row)});
        }
        request.next = page->next;
    } while (!request.next.empty());
    if (!arguments.has("json")) {
        const auto text = table.text(!arguments.has("no-color") && stdout_takes_colour());
        print(std::string_view(text).substr(0, text.size() - 1));
    }
    return exit_status::done;
}

}  // namespace rocklock
