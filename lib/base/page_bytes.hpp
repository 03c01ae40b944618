// The maximum size of a page of a list, in bytes.
#pragma once

#include <cstddef>

namespace rocklock {

// A page ends with the row at which the texts of the page reach this size, even if it has fewer
// rows than requested. The client continues with the next page. Without this limit, a page of
// 10,000 rows with long notes would have 80 MB.
inline constexpr std::size_t max_page_bytes = 1U << 20;

}  // namespace rocklock
