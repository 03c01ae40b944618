// etcd counts all keys up to the end of a requested range, even if the number of returned keys is
// limited. Reading a large range page by page would therefore take quadratic time. If a range has
// more keys than one page, the rest is read in smaller ranges: the first one ends where the next
// byte of the keys changes, after the bytes that the keys of the page have in common. A range that
// is still too large is divided again. If a range has less than half a page of keys, the next one
// is twice as large (16 times if it was empty), so that gaps between the keys need few requests.
#include "storage/etcd/copy/read_values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// Returns the end of a range that begins with the prefix `key`: the prefix that is `step` after it,
// if both are read as binary numbers with the same number of bytes. While `step` is 256 or more,
// the last byte of the prefix is removed, and `step` is divided by 256.
std::string end_of_range(std::string key, std::uint32_t& step) {
    while (step >= 256 && key.size() > 1) {
        key.pop_back();
        step /= 256;
    }
    auto carry = step;
    for (std::size_t at = key.size(); at > 0 && carry > 0; --at) {
        carry += static_cast<unsigned char>(key[at - 1]);
        key[at - 1] = static_cast<char>(carry & 0xFF);
        carry >>= 8;
    }
    return key;
}

class Reading {
public:
    Reading(Client& client, const Layout& layout, Revision revision, const VisitValues& visit,
            const ReadSettings& settings)
        : client_(client),
          layout_(layout),
          revision_(revision),
          visit_(visit),
          settings_(settings) {}

    // Reads the keys of a family, which are those in [key, end).
    Result<void> read(Family family, std::string key, const std::string& end) {
        std::string stop = end;
        std::uint32_t step = 1;
        while (key < end) {
            if (settings_.stop.stop_requested()) {
                return Error(ErrorCode::closing, "the reading of the store was stopped");
            }
            Range range{.key = key, .end = stop};
            range.limit = settings_.page_keys;
            range.revision = revision_;
            auto page = client_.range(range, settings_.timeout);
            if (!page) return std::move(page).error();
            if (page->more && !page->kvs.empty()) {
                key = page->kvs.back().key + '\0';
                stop = std::min(end_of_prefix(branch_of(page->kvs)), stop);
                step = 1;
            } else {
                const auto found = static_cast<std::int64_t>(page->kvs.size());
                if (2 * found < settings_.page_keys) step *= found > 0 ? 2 : 16;
                key = stop;
                stop = key < end ? std::min(end_of_range(key, step), end) : end;
            }
            if (auto done = pass(family, std::move(page->kvs)); !done) return done;
        }
        return {};
    }

private:
    Result<void> pass(Family family, std::vector<KeyValue> kvs) {
        std::vector<Write> values;
        values.reserve(kvs.size());
        for (KeyValue& kv : kvs) {
            auto parsed = layout_.parse(kv.key);
            // All keys of the requested ranges are of this form.
            if (!parsed) continue;
            values.push_back({family, std::move(parsed->second), std::move(kv.value)});
        }
        return visit_(family, std::move(values));
    }

    Client& client_;
    const Layout& layout_;
    const Revision revision_;
    const VisitValues& visit_;
    const ReadSettings& settings_;
};

}  // namespace

Result<void> read_values(Client& client, const Layout& layout, Revision revision,
                         const VisitValues& visit, const ReadSettings& settings) {
    Reading reading(client, layout, revision, visit, settings);
    for (int i = 0; i < family_count; ++i) {
        const auto family = static_cast<Family>(i);
        const auto first = layout.family(family);
        auto done = reading.read(family, first, end_of_prefix(first));
        if (!done) return done;
    }
    return {};
}

}  // namespace rocklock::etcd
