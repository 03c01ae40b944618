#include "daemon/cli/messages.hpp"

#include <algorithm>
#include <cstdio>

#include <rocklock/clock.hpp>

#include "base/duration_text.hpp"
#include "base/time_format.hpp"
#include "wire/lock_words.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t max_named = 5;

std::string advice(const Error& error) {
    switch (error.code) {
        case ErrorCode::conflict:
            return "wait with --patience, or list the locks with `rocklock ls`";
        case ErrorCode::steal_refused:
            return "wait for it with `rocklock acquire --patience`, or ask an administrator";
        case ErrorCode::not_owner:
            return "ROCKLOCK_SESSION in the environment must be the one that `acquire` printed";
        case ErrorCode::corrupt:
            return "for a store in a directory: list the damage with `rocklock db check`, then "
                   "restore a backup into a new directory (rocklock db restore BACKUP --db DIR) "
                   "and serve that directory";
        default:
            return "";
    }
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown(text);
    // In UTF-8, the control characters U+0080 to U+009F begin with the byte 0xC2.
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const auto byte = static_cast<unsigned char>(shown[i]);
        const auto next = i + 1 < shown.size() ? static_cast<unsigned char>(shown[i + 1]) : 0U;
        if (byte < 0x20 || byte == 0x7F) shown[i] = '?';
        if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
            shown[i] = '?';
            shown.erase(i + 1, 1);
        }
    }
    return shown;
}

std::string describe_mode(Mode mode, std::uint32_t permits, bool subtree) {
    if (permits == 1) return "1 permit";
    if (permits > 1) return std::to_string(permits) + " permits";
    return std::string(word(mode)) + (subtree ? "+" : "");
}

std::string left_in_table(std::chrono::milliseconds remaining) {
    return remaining == no_expiry ? "no expiry" : format_duration(remaining);
}

std::string time_left(std::chrono::milliseconds remaining) {
    return left_in_table(remaining) + (remaining == no_expiry ? "" : " left");
}

std::string held_for(std::chrono::milliseconds remaining, WallTime deadline) {
    if (remaining == no_expiry) return time_left(remaining);
    return time_left(remaining) + ", until " + format_time(deadline);
}

std::string describe_holder(const Holder& holder, WallTime now) {
    std::string text =
        printable(holder.principal) + " (" + describe_mode(holder.mode, holder.permits) +
        "), for " + format_duration(now - holder.acquired_at) + ", " + time_left(holder.remaining);
    if (holder.pid != 0) text += ", pid " + std::to_string(holder.pid);
    text += ", grant " + std::to_string(number(holder.grant));
    if (!holder.cause.empty()) text += ", because of " + printable(holder.cause);
    if (!holder.note.empty()) text += ": " + printable(holder.note);
    return text;
}

std::string describe_ending(const Ending& ending) {
    std::string text(word(ending.outcome));
    if (ending.outcome == Outcome::already_released) text = "released";
    if (!ending.by.empty()) text += " by " + printable(ending.by);
    if (ending.at != WallTime{}) text += " at " + format_time(ending.at);
    if (!ending.reason.empty()) text += ": " + printable(ending.reason);
    return text;
}

std::string explain_ending(const Ending& ending) {
    return (ending.outcome == Outcome::expired ? "it " : "it was ") + describe_ending(ending);
}

std::string describe_ask(const Wanted& wanted, WallTime now) {
    const WallTime until = wanted.answer_by.value_or(now);
    const auto grant = std::to_string(number(wanted.grant));
    return printable(wanted.by) + " asks to take over " + printable(wanted.resource) +
           ", and may do so " + (until > now ? "in " + format_duration(until - now) : "now") +
           ", at " + format_time(until) + ", if the holder does not answer: rocklock answer " +
           grant + " --allow, or --refuse, with the ROCKLOCK_SESSION of this lock";
}

std::string explain(const Error& error, WallTime now) {
    std::string text = printable(error.message);
    for (std::size_t i = 0; i < std::min(error.blockers.size(), max_named); ++i) {
        const auto& holder = error.blockers[i];
        text += "\n  " + printable(holder.resource) + ": held by " + describe_holder(holder, now);
    }
    if (error.blockers.size() > max_named) {
        text += "\n  and " + std::to_string(error.blockers.size() - max_named) + " more";
    }
    for (std::size_t i = 0; i < std::min(error.waiters.size(), max_named); ++i) {
        const auto& waiter = error.waiters[i];
        text += "\n  " + printable(waiter.resource) + ": " + printable(waiter.principal) +
                " waits for it (" + describe_mode(waiter.mode, waiter.permits) + "), for " +
                format_duration(now - waiter.since);
    }
    for (const auto& step : error.cycle) {
        text += "\n  " + printable(step.principal) + " waits for " + printable(step.resource);
    }
    if (error.ended) text += "\n  " + explain_ending(*error.ended);
    if (error.policy) {
        // The message already says when to retry.
        text += "\n  policy for stealing: " + std::string(word(*error.policy));
    } else if (error.retry_after && error.code != ErrorCode::unreachable) {
        text += "\n  free in " + format_duration(*error.retry_after);
    }
    const auto what_to_do = advice(error);
    if (!what_to_do.empty()) text += "\n  " + what_to_do;
    return text;
}

std::string explain_quietly(const Error& error) {
    switch (error.code) {
        case ErrorCode::conflict:
            return "not granted: other sessions hold the resource or wait for it";
        case ErrorCode::patience_expired:
            return "not granted within the wait timeout: other sessions hold the resource or wait "
                   "for it";
        case ErrorCode::deadlock:
            return "not granted: waiting would be a deadlock";
        default:
            return printable(error.message);
    }
}

std::string shell_quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char letter : text) {
        if (letter == '\'') {
            quoted += "'\\''";
        } else {
            quoted += letter;
        }
    }
    return quoted + "'";
}

void complain_of(const Error& error, Names names) {
    complain(names == Names::shown ? explain(error, system_clock().now().wall)
                                   : explain_quietly(error));
}

void complain(std::string_view text) {
    std::fprintf(stderr, "rocklock: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace rocklock
