// Checks the sequence of the commits of a store in a fake etcd.
#pragma once

#include <optional>
#include <string>

#include "storage/etcd/client/layout.hpp"
#include "support/fake_etcd.hpp"

namespace rocklock::testing {

// Returns a problem of the commits in the history of the cluster, or nullopt:
//  - the numbers of the commits begin with 1 and have no gap and no repetition;
//  - the epochs do not decrease, and each is the create revision of `lead` at that time;
//  - no other transaction changes the values of the store.
inline std::optional<std::string> chain_problem(const FakeCluster& cluster,
                                                const std::string& prefix = "/rocklock/") {
    const etcd::Layout layout(prefix);
    etcd::CommitRecord last;
    etcd::Revision epoch = 0;
    etcd::Revision committed_at = 0;
    // A revision with changes of values must contain a commit.
    etcd::Revision changed_at = 0;
    for (const EtcdChange& change : cluster.history()) {
        const auto& kv = change.kv;
        const auto at = "revision " + std::to_string(kv.mod_revision) + ": ";
        if (changed_at != 0 && changed_at != kv.mod_revision && changed_at != committed_at) {
            return "revision " + std::to_string(changed_at) + " changes values without a commit";
        }
        if (kv.key == layout.lead()) {
            epoch = change.deleted ? 0 : kv.create_revision;
        } else if (kv.key == layout.commit()) {
            const auto record = change.deleted ? std::nullopt : etcd::decode_commit(kv.value);
            if (!record) return at + "no commit record";
            if (record->number != last.number + 1) {
                return at + "commit " + std::to_string(record->number) + " follows commit " +
                       std::to_string(last.number);
            }
            if (record->epoch < last.epoch) return at + "the epoch decreases";
            if (record->epoch != epoch) return at + "a commit of an epoch that has ended";
            last = *record;
            committed_at = kv.mod_revision;
        } else {
            changed_at = kv.mod_revision;
        }
    }
    return std::nullopt;
}

}  // namespace rocklock::testing
