#include "daemon/server/http_access.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

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

// Reads the beginning of a file. Returns the number of bytes, or -1 and sets errno.
ssize_t read_start(const std::string& path, std::span<char> bytes) {
    // Without O_NONBLOCK, a named pipe would be waited for.
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return -1;
    const auto size = ::read(file, bytes.data(), bytes.size());
    const int failure = errno;
    ::close(file);
    errno = failure;
    return size;
}

Result<std::string> read_secret(const std::string& path) {
    std::string text(max_secret + 3, '\0');
    const auto size = read_start(path, text);
    if (size < 0) {
        return Error(ErrorCode::invalid_argument, "http-secret-file: the file " + path +
                                                      " cannot be read: " + std::strerror(errno));
    }
    text.resize(static_cast<std::size_t>(size));
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
