// The election of the node that is the manager of a store.
//
// The manager is the node that has created the key `lead` with a lease of etcd. It renews the lease
// on a thread of its own. If it stops, etcd deletes the key after the lease, and another node can
// create it. The lease only determines which node may try: it does not prove that this node is
// still the manager. The proof is the comparison of the epoch in each transaction (layout.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/lead_record.hpp"

namespace rocklock::etcd {

// Threads:  thread-safe, except for campaign() and start().
// Lifetime: the client and the clock must outlive the object. The destructor does not resign.
class Leadership {
public:
    struct Settings {
        std::string node;
        std::string address;
        std::chrono::milliseconds ttl{3'000};
        // The maximum time of a request to etcd.
        std::chrono::milliseconds request_timeout{2'000};
        // The time without contact to etcd, beyond the TTL, after which the renewal gives up.
        std::chrono::milliseconds timeout{10'000};
        // EtcdOptions::lease_reads.
        bool lease_reads = false;
    };

    // The state of the store when this node became its manager. No earlier manager can change it
    // any more.
    struct Won {
        std::uint64_t cluster_id = 0;
        // The revision at which `commit` was read.
        Revision revision = 0;
        // The value of the key `commit`; nullopt if there is no store.
        std::optional<std::string> commit;
    };
    // Another node is the manager.
    struct Lost {
        LeadRecord manager;
        // A revision at which the other node was the manager.
        Revision revision = 0;
    };

    Leadership(Client& client, Layout layout, Clock& clock, Settings settings);
    Leadership(const Leadership&) = delete;
    Leadership& operator=(const Leadership&) = delete;
    ~Leadership();

    // Tries once to become the manager. Errors: as Client.
    Result<std::variant<Won, Lost>> campaign();
    // Waits until the key `lead` has been deleted after the revision, or for `timeout`.
    void await_vacancy(Revision after, std::chrono::milliseconds timeout);

    // Starts the renewal of the lease. `lost` is called at most once, on the thread of the renewal,
    // if the lease has ended or if etcd cannot be reached for a long time.
    void start(std::function<void(const Error&)> lost);
    // Writes into the key `lead` that this node serves requests. Returns the revision of the write.
    // Errors: as Client; not_the_manager.
    Result<Revision> set_ready();
    // Ends the renewal soon, so that another node becomes the manager after the TTL.
    void give_up();
    // Ends the renewal, and waits for its thread.
    void end_renewal();
    // Ends the renewal, and deletes the key `lead` if it is still that of this node.
    void resign();

    // Returns whether the last renewal of the lease, minus a margin, shows that this node is still
    // the manager. This depends on clocks and on etcd. Returns false without `lease_reads`.
    bool is_manager_by_lease() const {
        return settings_.lease_reads && clock_.now().boot < leased_until_.load();
    }

    // The create revision of this node's key `lead`.
    Epoch epoch() const { return epoch_; }
    // Returns the condition that this node is still the manager.
    Compare is_manager() const { return {layout_.lead(), epoch_}; }

private:
    Result<std::variant<Won, Lost>> create_lead();
    Result<std::variant<Won, Lost>> find_outcome(const Error& unknown);
    void renew_until_stopped();
    std::optional<Error> renew();
    LeadRecord record(bool ready) const;

    Client& client_;
    const Layout layout_;
    Clock& clock_;
    const Settings settings_;
    Lease lease_;
    Epoch epoch_ = 0;
    WallTime since_;
    std::function<void(const Error&)> lost_;
    std::chrono::steady_clock::time_point renewed_;
    std::atomic<BootTime> leased_until_{BootTime()};
    Mutex mutex_;
    CondVar stopping_;
    bool stopped_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

}  // namespace rocklock::etcd
