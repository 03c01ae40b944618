// Known faults of versions of etcd.
#pragma once

#include <optional>
#include <string>

namespace rocklock::etcd {

// Returns a warning if members of this version, such as "3.4.23", can lose acknowledged commits or
// the consistency between members, or are too old to be supported. Returns nullopt for other
// versions, and for a text that is not a version.
//
// Source: etcd's recommendation for production is 3.4.22 or later, or 3.5.6 or later (etcd pull
// request 15761). With 3.5.0 to 3.5.2, a kill can make members inconsistent (issue 13766); with
// 3.4.20, 3.4.21 and 3.5.5, an added member, if authentication is enabled; with 3.5.0 to 3.5.5, a
// crash during a defragmentation (pull request 14730).
std::optional<std::string> version_warning(const std::string& version);

}  // namespace rocklock::etcd
