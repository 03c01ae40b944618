// What the shared library shows. Everything else in it is hidden.
#pragma once

#if defined(__GNUC__)
#define ROCKLOCK_API __attribute__((visibility("default")))
#else
#define ROCKLOCK_API
#endif
