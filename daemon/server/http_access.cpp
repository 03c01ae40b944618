#include "daemon/server/http_access.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/read_file.hpp"

namespace rocklock {
namespace {

constexpr std::size_t min_secret = 16;
// Also limits what is read from a file that was named by mistake.
constexpr std::size_t max_secret = 512;

Error invalid_secret(const std::string& path, const std::string& problem) {
    return {ErrorCode::invalid_argument,
            "http-secret-file: the secret in " + path + " " + problem +
                "; write one line of 16 to 512 letters, digits and other printable ASCII "
                "characters without spaces, as `openssl rand -hex 32` prints"};
}

Result<std::string> read_secret(const std::string& path) {
    auto read = read_file(path, max_secret + 3);
    if (!read) {
        return Error(ErrorCode::invalid_argument, "http-secret-file: the file " + path +
                                                      " cannot be read: " + std::strerror(errno));
    }
    auto text = *std::move(read);
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    if (text.size() < min_secret) return invalid_secret(path, "is too short");
    if (text.size() > max_secret) return invalid_secret(path, "is too long");
    const auto is_allowed = [](char letter) { return letter > ' ' && letter <= '~'; };
    if (!std::all_of(text.begin(), text.end(), is_allowed)) {
        return invalid_secret(path, "contains a character that is not allowed");
    }
    return text;
}

}  // namespace

Result<HttpAccess> http_access_of(const ServerOptions& options) {
    HttpAccess access;
    access.from_other_hosts = options.container;
    access.hosts = options.accept_hosts;
    if (options.http_secret_file.empty()) return access;
    auto secret = read_secret(options.http_secret_file);
    if (!secret) return std::move(secret).error();
    access.secret = *std::move(secret);
    return access;
}

}  // namespace rocklock
