// The macro for symbols that the shared library exports. All other symbols are hidden.
#pragma once

#if defined(__GNUC__)
#define ROCKLOCK_API __attribute__((visibility("default")))
#else
#define ROCKLOCK_API
#endif
