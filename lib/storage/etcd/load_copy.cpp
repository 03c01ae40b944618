// etcd counts all keys up to the end of a requested range, even if the number of returned keys is
// limited. Reading a large range page by page would therefore take quadratic time. If a range has
// more keys than one page, the rest is read in smaller ranges: each ends where the next byte of the
// keys changes, after the bytes that the keys of the page have in common. A range that is still too
// large is divided again.
#include "storage/etcd/load_copy.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocklock::etcd {
namespace {

// Returns the prefix of the last key of a page that is one byte longer than what the first and the
// last key have in common.
std::string branch_of(const std::vector<KeyValue>& page) {
    const std::string_view first = page.front().key;
    const std::string_view last = page.back().key;
    const auto different = std::mismatch(first.begin(), first.end(), last.begin(), last.end());
    const auto common = static_cast<std::size_t>(different.second - last.begin());
    return std::string(last.substr(0, common + 1));
}

class Loader {
public:
    Loader(Client& client, const Layout& layout, Revision revision, Copy& copy,
           const LoadSettings& settings)
        : client_(client), layout_(layout), revision_(revision), copy_(copy), settings_(settings) {}

    // Loads the keys in [key, end).
    Result<void> load(std::string key, const std::string& end) {
        std::string stop = end;
        while (key < end) {
            if (settings_.stop.stop_requested()) {
                return Error(ErrorCode::closing, "the loading of the copy was stopped");
            }
            Range range{.key = key, .end = stop};
            range.limit = settings_.page_keys;
            range.revision = revision_;
            auto page = client_.range(range, settings_.timeout);
            if (!page) return std::move(page).error();
            if (page->more && !page->kvs.empty()) {
                key = page->kvs.back().key + '\0';
                stop = std::min(end_of_prefix(branch_of(page->kvs)), stop);
            } else {
                // The next range has the same number of bytes in common.
                key = stop;
                stop = key < end ? std::min(end_of_prefix(key), end) : end;
            }
            if (auto written = write(std::move(page->kvs)); !written) return written;
        }
        return {};
    }

private:
    Result<void> write(std::vector<KeyValue> kvs) {
        std::vector<Write> writes;
        writes.reserve(kvs.size());
        for (KeyValue& kv : kvs) {
            auto parsed = layout_.parse(kv.key);
            // All keys of the requested ranges are of this form.
            if (!parsed) continue;
            writes.push_back({parsed->first, std::move(parsed->second), std::move(kv.value)});
        }
        return copy_.add(std::move(writes));
    }

    Client& client_;
    const Layout& layout_;
    const Revision revision_;
    Copy& copy_;
    const LoadSettings settings_;
};

}  // namespace

Result<void> load_copy(Client& client, const Layout& layout, const CopyPosition& position,
                       Copy& copy, const LoadSettings& settings) {
    if (auto empty = copy.reset(); !empty) return empty;
    Loader loader(client, layout, position.revision, copy, settings);
    for (int i = 0; i < family_count; ++i) {
        const auto first = layout.family(static_cast<Family>(i));
        if (auto loaded = loader.load(first, end_of_prefix(first)); !loaded) return loaded;
    }
    return copy.write({}, position);
}

}  // namespace rocklock::etcd
