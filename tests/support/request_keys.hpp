// Keys of request ids for tests.
#pragma once

#include <cstdint>
#include <string_view>

#include "lock/model/names.hpp"
#include "lock/model/request_key.hpp"

namespace rocklock::lock_model {

// Returns a different key for each number.
inline RequestKey key_of(std::uint64_t number) {
    const std::string_view bytes(reinterpret_cast<const char*>(&number), sizeof number);
    return {fnv1a(bytes), fnv1a(bytes, fnv_start * 31)};
}

}  // namespace rocklock::lock_model
