#include "storage/files/crc32c.hpp"

#include <cstddef>
#include <cstring>

#include <boost/crc.hpp>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rocklock {
namespace {

std::uint32_t by_table(std::string_view bytes) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::string_view bytes) {
    std::uint64_t crc = 0xFFFFFFFF;
    for (; bytes.size() >= sizeof crc; bytes.remove_prefix(sizeof crc)) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof word);
        crc = _mm_crc32_u64(crc, word);
    }
    auto rest = static_cast<std::uint32_t>(crc);
    for (const char byte : bytes) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(byte));
    return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
#if defined(__x86_64__)
    static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
    if (has_instruction) return by_instruction(bytes);
#endif
    return by_table(bytes);
}

}  // namespace rocklock
