#include "storage/etcd/copy/catch_up.hpp"

#include <chrono>
#include <utility>

#include "storage/etcd/copy/apply_changes.hpp"
#include "storage/etcd/copy/load_copy.hpp"

namespace rocklock::etcd {
namespace {

// The maximum time without a change until all values are loaded instead.
constexpr std::chrono::milliseconds progress_timeout{2'000};

// Returns whether the copy has reached the commit. Errors: those of Copy::write()
Result<bool> apply_until(Client& client, const Layout& layout, const CopyPosition& position,
                         Copy& copy) {
    if (copy.position().commit == position.commit) return true;
    auto watch = watch_changes(client, layout, copy);
    while (watch) {
        auto changes = (*watch)->next(progress_timeout);
        if (!changes || !*changes) return false;
        auto applied = apply_changes(layout, *std::move(*changes), copy);
        if (!applied) return std::move(applied).error();
        if (copy.position().commit == position.commit) return true;
    }
    return false;
}

}  // namespace

Result<void> catch_up(Client& client, const Layout& layout, const CopyPosition& position,
                      Copy& copy, std::stop_token stop) {
    const auto& shown = copy.position();
    const bool other_cluster = shown.revision != 0 && shown.prefix == position.prefix &&
                               shown.commit && shown.cluster_id != position.cluster_id;
    if (other_cluster && !position.commit) {
        return Error(ErrorCode::unreachable,
                     "the store that this node has seen is not in this etcd, which is another "
                     "cluster and has no store below " +
                         position.prefix +
                         ": check the addresses in the URL; to begin with an empty store, stop " +
                         "this node and delete its copy");
    }
    if (shown.revision != 0 && shown.cluster_id == position.cluster_id &&
        shown.prefix == position.prefix) {
        if (shown.revision > position.revision) {
            return Error(
                ErrorCode::corrupt,
                "etcd has lost changes: it is at revision " + std::to_string(position.revision) +
                    ", and this node has seen " + "revision " + std::to_string(shown.revision) +
                    ". Restore a snapshot with `etcdctl snapshot restore`, which gives " +
                    "the cluster a new id, or delete the copies of all nodes to continue " +
                    "with the older state");
        }
        const auto reached = apply_until(client, layout, position, copy);
        if (!reached) return reached.error();
        if (*reached) return {};
    }
    ReadSettings settings;
    settings.stop = std::move(stop);
    return load_copy(client, layout, position, copy, settings);
}

}  // namespace rocklock::etcd
