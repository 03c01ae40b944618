// The reserved words of expressions, which cannot be written as attribute names.
#pragma once

#include <string_view>

namespace rocklock::expression {

// Returns whether a word is reserved. The case of its letters does not matter.
bool is_reserved_word(std::string_view word);

}  // namespace rocklock::expression
