#include "daemon/http/known_heads.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "base/assert.hpp"
#include "base/equal_ignoring_case.hpp"

namespace rocklock {
namespace {

constexpr std::string_view head_line_end = "\r\n";

std::size_t count_digits(std::string_view text) {
    const auto* const end = std::find_if_not(text.begin(), text.end(),
                                             [](char byte) { return byte >= '0' && byte <= '9'; });
    return static_cast<std::size_t>(end - text.begin());
}

// Returns the position of the value of the Content-Length in a head that has one.
std::size_t position_of_length(std::string_view head) {
    constexpr std::string_view name = "Content-Length:";
    for (std::size_t line = 0; line < head.size(); line = head.find(head_line_end, line) + 2) {
        if (!equal_ignoring_case(head.substr(line, name.size()), name)) continue;
        const auto value = line + name.size();
        return head[value] == ' ' ? value + 1 : value;
    }
    ROCKLOCK_ASSERT(false);
    return head.size();
}

}  // namespace

KnownHeads& KnownHeads::of_this_thread() {
    thread_local KnownHeads heads;
    return heads;
}

std::optional<KnownHeads::Found> KnownHeads::find(std::string_view input) const {
    for (const Head& head : std::span(heads_).first(count_)) {
        if (!input.starts_with(head.before)) continue;
        const auto rest = input.substr(head.before.size());
        std::size_t length = 0;
        const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), length);
        const auto digits = static_cast<std::size_t>(read.ptr - rest.data());
        if (read.ec != std::errc() || !rest.substr(digits).starts_with(head.after)) continue;
        const auto head_bytes = head.before.size() + digits + head.after.size();
        if (length > max_request_body || input.size() - head_bytes < length) return std::nullopt;
        return Found{head.request, head_bytes, length};
    }
    return std::nullopt;
}

void KnownHeads::add(std::string_view head, const HttpRequest& request) {
    const bool of_sdk = !request.amz_date.empty() || head.find("amz-sdk-") != head.npos;
    if (of_sdk || !request.authorization.empty()) return;
    const auto length = position_of_length(head);
    const auto before = head.substr(0, length);
    const auto after = head.substr(length + count_digits(head.substr(length)));
    const auto used = std::span(heads_).first(count_);
    const bool known = std::any_of(used.begin(), used.end(), [&](const Head& each) {
        return each.before == before && each.after == after;
    });
    if (known) return;
    Head& added = heads_[oldest_];
    oldest_ = (oldest_ + 1) % max_heads;
    count_ = std::min(count_ + 1, max_heads);
    added.before = before;
    added.after = after;
    added.request = HttpRequest();
    added.request.method = request.method;
    added.request.target = request.target;
    added.request.operation = request.operation;
    added.request.host = request.host;
    added.request.content_type = request.content_type;
    added.request.accept = request.accept;
}

}  // namespace rocklock
