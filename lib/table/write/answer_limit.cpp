#include "table/write/answer_limit.hpp"

#include <utility>

namespace rocklock::table {
namespace {

thread_local const AnswerLimit::Check* current_check = nullptr;

}  // namespace

AnswerLimit::AnswerLimit(const Check& check) : outer_(std::exchange(current_check, &check)) {}

AnswerLimit::~AnswerLimit() { current_check = outer_; }

Result<void> AnswerLimit::check(const WriteAnswer& answer) {
    if (!answer.attributes || current_check == nullptr || !*current_check) return {};
    return (*current_check)(*answer.attributes);
}

}  // namespace rocklock::table
