#include "storage/etcd/fold.hpp"

#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutant.hpp"

namespace rocklock::etcd {

std::vector<Operation> fold(const Layout& layout, std::span<Batch* const> batches) {
    std::vector<Operation> operations;
    std::unordered_map<std::string, std::size_t> positions;
    for (const Batch* const batch : batches) {
        for (const Write& write : batch->writes) {
            std::string key = layout.data(write.family, write.key);
            const auto [found, added] = positions.try_emplace(key, operations.size());
            Operation operation = write.value ? Operation(Put{std::move(key), *write.value})
                                              : Operation(DeleteRange{std::move(key), {}});
            if (added) {
                operations.push_back(std::move(operation));
            } else if (!mutated(Mutant::first_write_kept)) {
                operations[found->second] = std::move(operation);
            }
        }
    }
    return operations;
}

}  // namespace rocklock::etcd
