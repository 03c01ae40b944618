#include "base/hmac.hpp"

#include <algorithm>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/assert.hpp"

namespace rocklock {

namespace {

using Digest = std::array<std::uint8_t, SHA256_DIGEST_LENGTH>;
using Block = std::array<std::uint8_t, SHA256_CBLOCK>;

// These functions are deprecated, but do not have a replacement that avoids the first use of EVP:
// it loads all algorithms of OpenSSL, which takes 2 ms whenever a program opens its first store.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

class Sha256 {
public:
    Sha256() { check(SHA256_Init(&context_)); }
    void add(const void* bytes, std::size_t size) { check(SHA256_Update(&context_, bytes, size)); }
    Digest finish() {
        Digest digest{};
        check(SHA256_Final(digest.data(), &context_));
        return digest;
    }

private:
    static void check(int done) { ROCKLOCK_ASSERT(done == 1); }

    SHA256_CTX context_{};
};

#pragma GCC diagnostic pop

// Returns the hash of `block`, with each byte combined with `pad`, followed by the message.
Digest hash_with_pad(Block block, std::uint8_t pad, const void* message, std::size_t size) {
    for (std::uint8_t& byte : block) byte ^= pad;
    Sha256 hash;
    hash.add(block.data(), block.size());
    hash.add(message, size);
    return hash.finish();
}

}  // namespace

// RFC 2104, section 2.
std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message) {
    Block block{};
    if (key.size() > block.size()) {
        Sha256 hash;
        hash.add(key.data(), key.size());
        const Digest digest = hash.finish();
        std::copy(digest.begin(), digest.end(), block.begin());
    } else {
        std::copy(key.begin(), key.end(), block.begin());
    }
    const Digest inner = hash_with_pad(block, 0x36, message.data(), message.size());
    return hash_with_pad(block, 0x5C, inner.data(), inner.size());
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
    return left.size() == right.size() &&
           CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace rocklock
