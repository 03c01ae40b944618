#include "storage/etcd/lead_watch.hpp"

#include <memory>
#include <thread>

#include "storage/etcd/lead_record.hpp"

namespace rocklock::etcd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds lead_timeout{2'000};
// The maximum time until a requested stop is noticed.
constexpr milliseconds stop_period{200};
constexpr milliseconds watch_retry_pause{100};
// The period of the reads of await_other().
constexpr milliseconds other_period{20};

bool is_of(const std::string& value, const ManagerNode& manager) {
    const auto record = decode_lead(value);
    return record.node == manager.name && record.address == manager.address;
}

}  // namespace

void LeadWatch::await_change(const ManagerNode& manager, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        Revision seen = 0;
        if (has_changed(manager, seen)) return;
        auto watch = seen != 0 ? client_.watch(layout_.lead(), {}, seen + 1)
                               : Result<std::unique_ptr<Watch>>(Error());
        while (watch && !stop.stop_requested()) {
            const auto response = (*watch)->next(stop_period);
            if (!response) break;
            if (*response && changes(manager, **response, seen)) return;
        }
        if (!stop.stop_requested()) std::this_thread::sleep_for(watch_retry_pause);
    }
}

bool LeadWatch::await_other(const std::string& node, milliseconds timeout,
                            const std::stop_token& stop) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (!stop.stop_requested()) {
        const auto response = client_.range({.key = layout_.lead()}, lead_timeout);
        const auto* const lead = response ? response->first() : nullptr;
        if (lead != nullptr && decode_lead(lead->value).node != node) return true;
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::sleep_for(other_period);
    }
    return false;
}

// Sets `seen` to the revision of the answer, or leaves it 0 if there is no answer.
bool LeadWatch::has_changed(const ManagerNode& manager, Revision& seen) {
    Range range;
    range.key = layout_.lead();
    const auto response = client_.range(range, lead_timeout);
    if (!response) return false;
    seen = response->header.revision;
    const auto* const lead = response->first();
    return lead == nullptr || !is_of(lead->value, manager);
}

bool LeadWatch::changes(const ManagerNode& manager, const WatchResponse& response,
                        Revision& seen) const {
    for (const WatchEvent& event : response.events) {
        seen = event.kv.mod_revision;
        if (event.deleted || !is_of(event.kv.value, manager)) return true;
    }
    return false;
}

}  // namespace rocklock::etcd
