#include "storage/etcd/node_list.hpp"

#include "base/assert.hpp"

namespace rocklock::etcd {

Result<NodeRecords> read_nodes(Client& client, const Layout& layout,
                               std::chrono::milliseconds timeout) {
    Txn txn;
    txn.success.emplace_back(Range{.key = layout.lead()});
    txn.success.emplace_back(Range{.key = layout.nodes(), .end = end_of_prefix(layout.nodes())});
    const auto done = client.txn(txn, timeout);
    if (!done) return done.error();
    ROCKLOCK_ASSERT(done->ranges.size() == 2);
    NodeRecords records;
    if (const auto* const lead = done->ranges.front().first()) {
        records.lead = decode_lead(lead->value);
    }
    for (const KeyValue& kv : done->ranges.back().kvs) {
        records.nodes.push_back(decode_node(kv.value));
    }
    return records;
}

}  // namespace rocklock::etcd
