// etcd counts all keys up to the end of a requested range, even if the number of returned keys is
// limited. Reading a large range page by page therefore takes quadratic time. The keys of a family
// are divided into ranges by the first bytes of the keys, so that each range is small.
#include "storage/etcd/load_copy.hpp"

#include <string>
#include <utility>

namespace rocklock::etcd {
namespace {

constexpr std::int64_t page_keys = 10'000;

class Loader {
public:
    Loader(Client& client, const Layout& layout, Revision revision, Storage& copy,
           std::chrono::milliseconds timeout)
        : client_(client), layout_(layout), revision_(revision), copy_(copy), timeout_(timeout) {}

    // Loads the keys in [key, end).
    Result<void> load(std::string key, const std::string& end) {
        while (true) {
            auto page = client_.range(
                {.key = key, .end = end, .limit = page_keys, .revision = revision_}, timeout_);
            if (!page) return std::move(page).error();
            const bool more = page->more && !page->kvs.empty();
            if (more) key = page->kvs.back().key + '\0';
            if (auto written = write(std::move(page->kvs)); !written) return written;
            if (!more) return {};
        }
    }

private:
    Result<void> write(std::vector<KeyValue> kvs) {
        Batch batch;
        for (KeyValue& kv : kvs) {
            auto parsed = layout_.parse(kv.key);
            // All keys of the requested ranges are of this form.
            if (!parsed) continue;
            batch.writes.push_back({parsed->first, std::move(parsed->second), std::move(kv.value)});
        }
        if (batch.writes.empty()) return {};
        return copy_.commit(std::move(batch), Durability::written);
    }

    Client& client_;
    const Layout& layout_;
    const Revision revision_;
    Storage& copy_;
    const std::chrono::milliseconds timeout_;
};

}  // namespace

Result<void> load_copy(Client& client, const Layout& layout, Revision revision, Storage& copy,
                       std::chrono::milliseconds timeout) {
    Loader loader(client, layout, revision, copy, timeout);
    for (int i = 0; i < family_count; ++i) {
        const auto first = layout.family(static_cast<Family>(i));
        if (auto loaded = loader.load(first, end_of_prefix(first)); !loaded) return loaded;
    }
    return {};
}

}  // namespace rocklock::etcd
