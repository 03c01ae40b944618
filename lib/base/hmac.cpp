#include "base/hmac.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/assert.hpp"

namespace rocklock {

std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message) {
    std::array<std::uint8_t, 32> digest{};
    unsigned size = 0;
    const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                            reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                            digest.data(), &size);
    ROCKLOCK_ASSERT(done != nullptr && size == digest.size());
    return digest;
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
    return left.size() == right.size() &&
           CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace rocklock
