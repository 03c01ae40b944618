// The entry point for libFuzzer; compiled once for each player by scripts/fuzz.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/client_player.hpp"
#include "fuzz/expressions_player.hpp"
#include "fuzz/peer_player.hpp"
#include "fuzz/tables_player.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    rocklock::ROCKLOCK_PLAY({reinterpret_cast<const char*>(data), size});
    return 0;
}
