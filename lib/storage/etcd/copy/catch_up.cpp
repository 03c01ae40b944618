#include "storage/etcd/copy/catch_up.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "storage/etcd/copy/apply_changes.hpp"
#include "storage/etcd/copy/load_copy.hpp"

namespace rocklock::etcd {
namespace {

// The maximum time without a change until all values are loaded instead.
constexpr std::chrono::milliseconds progress_timeout{2'000};
// The maximum time of the request for the values of a store without commits.
constexpr std::chrono::milliseconds check_timeout{2'000};

// Returns whether the copy has reached the commit. If it has not, for example because the key
// `commit` was deleted and the store was then restored, all values must be loaded. Errors: those of
// Copy::write(), except corrupt
Result<bool> apply_until(Client& client, const Layout& layout, const CopyPosition& position,
                         Copy& copy) {
    if (copy.position().commit == position.commit) return true;
    auto watch = watch_changes(client, layout, copy);
    while (watch) {
        auto changes = (*watch)->next(progress_timeout);
        if (!changes || !*changes) return false;
        auto applied = apply_changes(layout, *std::move(*changes), copy);
        if (!applied && applied.error().code == ErrorCode::corrupt) return false;
        if (!applied) return std::move(applied).error();
        if (copy.position().commit == position.commit) return true;
    }
    return false;
}

// Returns an error if there is no store in etcd although this node has seen it, or although etcd
// contains values of it. An empty store would grant locks that others still hold.
Result<void> check_not_deleted(Client& client, const Layout& layout, const CopyPosition& position,
                               const CopyPosition& shown) {
    if (position.commit) return {};
    const std::string& prefix = position.prefix;
    const std::string remedy =
        ": restore a backup or a snapshot of etcd; to begin with an empty store, stop all nodes, "
        "delete the keys below " +
        prefix + " and the copies of the nodes (see --copy)";
    if (shown.revision != 0 && shown.commit) {
        if (shown.cluster_id != position.cluster_id) {
            return Error(ErrorCode::unreachable,
                         "the store that this node has seen is not in this etcd, which is another "
                         "cluster and has no store below " +
                             prefix +
                             ": check the addresses in the URL; to begin with an empty store, stop "
                             "this node and delete its copy");
        }
        if (shown.prefix != prefix) {
            return Error(ErrorCode::corrupt,
                         "there is no store below " + prefix +
                             " in etcd, and the copy of this node belongs to the store below " +
                             shown.prefix +
                             ": check the prefix in the URL; to begin with an empty store, use "
                             "another directory for the copy");
        }
        return Error(ErrorCode::corrupt, "the key " + layout.commit() +
                                             ", or all keys of the store below " + prefix +
                                             ", were deleted from etcd" + remedy);
    }
    Range values{.key = layout.values(), .end = end_of_prefix(layout.values())};
    values.revision = position.revision;
    values.limit = 1;
    const auto found = client.range(values, check_timeout);
    if (!found) return found.error();
    if (found->first() == nullptr) return {};
    return Error(ErrorCode::corrupt, "etcd has values of a store below " + prefix +
                                         ", but not its key " + layout.commit() + remedy);
}

}  // namespace

Result<void> catch_up(Client& client, const Layout& layout, const CopyPosition& position,
                      Copy& copy, std::stop_token stop) {
    const auto& shown = copy.position();
    const bool same_store = shown.revision != 0 && shown.cluster_id == position.cluster_id &&
                            shown.prefix == position.prefix;
    if (same_store && shown.revision > position.revision) {
        return Error(ErrorCode::corrupt,
                     "etcd has lost changes: it is at revision " +
                         std::to_string(position.revision) + ", and this node has seen revision " +
                         std::to_string(shown.revision) +
                         ". Restore a snapshot with `etcdctl snapshot restore`, which gives the "
                         "cluster a new id, or delete the copies of all nodes to continue with the "
                         "older state");
    }
    if (auto checked = check_not_deleted(client, layout, position, shown); !checked) return checked;
    if (same_store) {
        const auto reached = apply_until(client, layout, position, copy);
        if (!reached) return reached.error();
        if (*reached) return {};
    }
    ReadSettings settings;
    settings.stop = std::move(stop);
    return load_copy(client, layout, position, copy, settings);
}

}  // namespace rocklock::etcd
