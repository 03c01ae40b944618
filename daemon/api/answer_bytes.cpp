#include "daemon/api/answer_bytes.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "base/is_one_of.hpp"
#include "base/page_bytes.hpp"
#include "daemon/api/user_buffers.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {
namespace {

// The size of a grant of 100 locks with names of 1 KB. Escapes in JSON can double the size.
constexpr std::size_t grant_bytes = 100 * 2 * 1'024;
// A grant contains the resources of its request, each with a mode: `"Resource":"a"` becomes
// `"Resource":"a","Mode":"write"`.
constexpr std::size_t growth = 2;

}  // namespace

AnswerBytes::AnswerBytes(const CallBody& body, std::size_t request_bytes)
    : only_reads_(rocklock::only_reads(body)) {
    if (const auto* acquire = std::get_if<Acquire>(&body)) {
        const bool counts = acquire->held == Held::count;
        joins_ = acquire->held == Held::join;
        max_bytes_ = std::max(counts ? grant_bytes : small_buffer, growth * request_bytes);
        return;
    }
    std::visit(
        [this](const auto& verb) {
            using Verb = std::decay_t<decltype(verb)>;
            if constexpr (is_one_of<Verb, std::variant<Convert, Transfer, Steal, Reacquire>>) {
                max_bytes_ = grant_bytes;
            }
            if constexpr (std::is_same_v<Verb, TakeDraft>) max_bytes_ = max_page_bytes;
        },
        body);
}

AnswerBytes::AnswerBytes(bool joins)
    : only_reads_(false), joins_(joins), max_bytes_(small_buffer) {}

std::size_t AnswerBytes::reserved() const { return max_bytes_ > small_buffer ? max_bytes_ : 0; }

}  // namespace rocklock
