// Frees the memory of a string.
#pragma once

#include <string>

namespace rocklock {

// Empties the text and frees its memory. The assignment `text = {}` keeps the memory.
inline void free_memory(std::string& text) { std::string().swap(text); }

}  // namespace rocklock
