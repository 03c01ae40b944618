#include "storage/etcd/copy/apply_changes.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rocklock::etcd {
namespace {

// The maximum time of the request for the position of the copy.
constexpr std::chrono::milliseconds position_timeout{2'000};

// The changes of one revision.
struct Step {
    std::vector<Write> writes;
    std::optional<std::string> commit;
    // Whether the key `commit` was deleted, which Rocklock never does.
    bool deletes_commit = false;
};

void add_change(const Layout& layout, WatchEvent& event, Step& step) {
    auto& kv = event.kv;
    if (kv.key == layout.commit()) {
        step.deletes_commit = event.deleted;
        if (!event.deleted) step.commit = std::move(kv.value);
    } else if (auto parsed = layout.parse(kv.key)) {
        auto value = event.deleted ? std::nullopt : std::optional(std::move(kv.value));
        step.writes.push_back({parsed->first, std::move(parsed->second), std::move(value)});
    }
}

}  // namespace

// A compaction at a revision also removes the deletions of that revision, but etcd still accepts a
// watch that begins with it. A watch that begins one revision earlier than necessary is refused in
// this case, so that no deletion is missed.
Result<std::unique_ptr<Watch>> watch_changes(Client& client, const Layout& layout,
                                             const Copy& copy) {
    const auto& shown = copy.position();
    Range range{.key = layout.commit()};
    range.revision = shown.revision;
    const auto found = client.range(range, position_timeout);
    if (!found) return found.error();
    const auto* const commit = found->first();
    if (found->header.cluster_id != shown.cluster_id ||
        (commit != nullptr ? std::optional(commit->value) : std::nullopt) != shown.commit) {
        return Error(ErrorCode::precondition_failed,
                     "etcd does not have the last commit of the copy any more");
    }
    return client.watch(layout.prefix(), end_of_prefix(layout.prefix()), shown.revision);
}

Result<void> apply_changes(const Layout& layout, WatchResponse response, Copy& copy) {
    auto& events = response.events;
    for (std::size_t i = 0; i < events.size();) {
        const auto revision = events[i].kv.mod_revision;
        Step step;
        for (; i < events.size() && events[i].kv.mod_revision == revision; ++i) {
            add_change(layout, events[i], step);
        }
        if (step.deletes_commit && revision > copy.position().revision) {
            return Error(ErrorCode::corrupt, "the key " + layout.commit() +
                                                 " was deleted from etcd at revision " +
                                                 std::to_string(revision));
        }
        // Changes of other keys, such as `lead`, are no commits.
        if (!step.commit || revision <= copy.position().revision) continue;
        auto done = copy.write(std::move(step.writes), revision, std::move(step.commit));
        if (!done) return done;
    }
    return {};
}

}  // namespace rocklock::etcd
