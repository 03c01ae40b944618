// The words that may not stand in an expression as names of attributes.
#pragma once

#include <string_view>

namespace rocklock::expression {

// In any case of letters.
bool is_reserved_word(std::string_view word);

}  // namespace rocklock::expression
