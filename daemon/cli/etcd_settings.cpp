#include "daemon/cli/etcd_settings.hpp"

#include <cstddef>
#include <utility>

#include "base/read_file.hpp"

namespace rocklock {
namespace {

constexpr std::size_t max_password_bytes = 4'096;

}  // namespace

Result<std::string> read_etcd_url(const Settings& settings) {
    auto url = settings.get("store", "").value;
    if (url.empty() || is_etcd_url(url)) return url;
    return Error(ErrorCode::invalid_argument,
                 "store is '" + url +
                     "': write etcd://HOST:PORT,HOST:PORT/PREFIX, or name a directory with db");
}

Result<void> read_etcd_access(const Settings& settings, EtcdOptions& etcd) {
    const auto url = settings.get("store", "").value;
    if (url.empty()) return {};
    const bool tls = url.ends_with("?tls");
    for (const char* name : {"etcd-cert", "etcd-key", "etcd-ca"}) {
        if (tls || settings.get(name, "").value.empty()) continue;
        return Error(ErrorCode::invalid_argument,
                     std::string(name) + " has an effect only with TLS: append ?tls to store");
    }
    const bool has_user = !settings.get("etcd-user", "").value.empty();
    if (has_user == settings.get("etcd-password-file", "").value.empty()) {
        return Error(ErrorCode::invalid_argument,
                     "etcd-user and etcd-password-file must be given together");
    }
    etcd.cert_file = absolute_path(settings.get("etcd-cert", "").value);
    etcd.key_file = absolute_path(settings.get("etcd-key", "").value);
    etcd.ca_file = absolute_path(settings.get("etcd-ca", "").value);
    etcd.user = settings.get("etcd-user", "").value;
    const auto password_file = absolute_path(settings.get("etcd-password-file", "").value);
    if (password_file.empty()) return {};
    auto password = read_file(password_file, max_password_bytes);
    if (!password) {
        return Error(ErrorCode::io_error,
                     "etcd-password-file: " + password_file + " cannot be read: check the file");
    }
    while (!password->empty() && password->back() == '\n') password->pop_back();
    etcd.password = *std::move(password);
    return {};
}

}  // namespace rocklock
