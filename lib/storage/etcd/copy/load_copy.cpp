#include "storage/etcd/copy/load_copy.hpp"

#include <utility>
#include <vector>

namespace rocklock::etcd {

Result<void> load_copy(Client& client, const Layout& layout, const CopyPosition& position,
                       Copy& copy, const ReadSettings& settings) {
    if (auto empty = copy.reset(); !empty) return empty;
    const auto add = [&](Family /*family*/, std::vector<Write> values) {
        return copy.add(std::move(values));
    };
    if (auto read = read_values(client, layout, position.revision, add, settings); !read) {
        return read;
    }
    return copy.write({}, position);
}

}  // namespace rocklock::etcd
