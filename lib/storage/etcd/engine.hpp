// The engine of a store on etcd: writes each group of batches as one transaction.
//
// The transaction succeeds only if this node is still the manager and no other commit was made
// since the last one (layout.hpp). If its outcome is unknown, because a response was lost, it is
// sent again. The value of the key `commit` then shows whether an earlier attempt was executed, so
// no group is written twice.
//
// Committed groups are also written to the copy (copy.hpp), which contains only what was committed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/copy.hpp"
#include "storage/etcd/leadership.hpp"
#include "storage/etcd/measurements.hpp"
#include "storage/etcd/stage.hpp"
#include "storage/etcd/upkeep.hpp"
#include "storage/group_commit.hpp"
#include "storage/recent_versions.hpp"

namespace rocklock::etcd {

// Threads:  as Engine.
// Lifetime: the references must outlive the object.
class EtcdEngine final : public Engine {
public:
    struct Settings {
        // The maximum time of one attempt, and of all attempts of one transaction.
        std::chrono::milliseconds attempt_timeout{2'000};
        std::chrono::milliseconds timeout{10'000};
        // See Engine::deferred_left().
        std::function<void()> on_deferred_left;
    };

    // NOLINTNEXTLINE(readability-function-size): each parameter becomes a member
    EtcdEngine(Client& client, Layout layout, Leadership& leadership, Copy& copy, Upkeep& upkeep,
               Measurements& measurements, Settings settings)
        : client_(client),
          layout_(std::move(layout)),
          leadership_(leadership),
          copy_(copy),
          upkeep_(upkeep),
          measurements_(measurements),
          settings_(std::move(settings)) {}

    // Must be called before the first write. `commit` is the value of the key `commit`, which the
    // copy shows; nullopt if there is no store. Completes or discards a large batch that an earlier
    // manager has begun. Errors: those of write().
    Result<void> continue_after(const std::optional<std::string>& commit);

    Result<std::optional<std::uint64_t>> version(Family family, std::string_view key) override;
    Result<void> write(std::span<Batch* const> batches, bool sync) override;
    // Confirms that this node is the manager.
    Result<void> sync() override;
    Room room() const override { return {max_writes, max_bytes}; }
    bool leaves_deferred() const override { return true; }
    void deferred_left() override { settings_.on_deferred_left(); }
    void failed(const Error& error) override;

private:
    CommitRecord next_record() const;
    Result<void> commit(std::vector<Operation> operations, const CommitRecord& next);
    Result<void> write_in_parts(std::span<const Operation> operations);
    Result<void> apply_parts(std::span<const Operation> operations, std::size_t applied);
    Result<void> resume_parts();
    Result<std::string> read_parts(std::uint64_t batch) const;
    // Returns the revision of the commit.
    Result<Revision> outcome(const TxnResponse& response, const std::string& written) const;
    Result<void> until_known(
        const std::function<Result<void>(std::chrono::milliseconds timeout)>& request) const;
    Result<void> apply(std::span<Batch* const> batches);

    Client& client_;
    const Layout layout_;
    Leadership& leadership_;
    Copy& copy_;
    Upkeep& upkeep_;
    Measurements& measurements_;
    const Settings settings_;
    CommitRecord last_;
    // The value of the key `commit`; nullopt before the first commit of the store.
    std::optional<std::string> last_value_;
    // The revision of the last commit that this node has made.
    Revision last_revision_ = 0;
    RecentVersions known_;
};

}  // namespace rocklock::etcd
