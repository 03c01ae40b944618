// The settings with which a process identifies itself to etcd.
#pragma once

#include <rocklock/result.hpp>
#include <rocklock/storage/etcd.hpp>

#include "daemon/cli/settings.hpp"

namespace rocklock {

// Reads etcd-cert, etcd-key, etcd-ca, etcd-user and etcd-password-file. Errors: io_error (the file
// with the password)
Result<void> read_etcd_access(const Settings& settings, EtcdOptions& etcd);

}  // namespace rocklock
