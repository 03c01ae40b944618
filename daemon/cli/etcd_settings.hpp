// The settings of a store on etcd that `serve` and `db restore` share.
#pragma once

#include <string>

#include <rocklock/result.hpp>
#include <rocklock/storage/etcd.hpp>

#include "daemon/cli/settings.hpp"

namespace rocklock {

// Reads the URL of the store; empty if it is not set. Errors: invalid_argument
Result<std::string> read_etcd_url(const Settings& settings);

// Reads etcd-cert, etcd-key, etcd-ca, etcd-user and etcd-password-file. Errors: io_error (the file
// with the password)
Result<void> read_etcd_access(const Settings& settings, EtcdOptions& etcd);

}  // namespace rocklock
