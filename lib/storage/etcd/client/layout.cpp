#include "storage/etcd/client/layout.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace rocklock::etcd {
namespace {

// The bytes of the families, in the order of the enumeration.
constexpr std::string_view family_bytes = "mixlh";
static_assert(family_bytes.size() == family_count);

}  // namespace

std::string encode(const CommitRecord& record) {
    std::string value;
    append_u64(value, record.number);
    append_u64(value, static_cast<std::uint64_t>(record.epoch));
    append_u8(value, static_cast<std::uint8_t>(record.kind));
    append_u64(value, record.batch);
    append_u32(value, record.parts);
    append_u32(value, record.applied);
    return value;
}

std::optional<CommitRecord> decode_commit(std::string_view value) {
    Reader reader(value);
    const auto commit = reader.u64();
    const auto epoch = reader.u64();
    const auto kind = reader.u8();
    const auto batch = reader.u64();
    const auto parts = reader.u32();
    const auto applied = reader.u32();
    if (!reader.done() || *kind > static_cast<std::uint8_t>(CommitRecord::Kind::applying)) {
        return std::nullopt;
    }
    return CommitRecord{
        *commit, static_cast<Epoch>(*epoch), static_cast<CommitRecord::Kind>(*kind), *batch, *parts,
        *applied};
}

std::string Layout::part(std::uint64_t batch, std::uint32_t part) const {
    std::string key = parts(batch);
    append_u32(key, part);
    return key;
}

std::string Layout::parts(std::uint64_t batch) const {
    std::string key = prefix_ + "stage/";
    append_u64(key, batch);
    return key;
}

std::string Layout::data(Family family, std::string_view key) const {
    std::string etcd_key;
    etcd_key.reserve(prefix_.size() + 3 + key.size());
    etcd_key += prefix_;
    etcd_key += "d/";
    etcd_key.push_back(family_bytes[static_cast<std::size_t>(family)]);
    etcd_key += key;
    return etcd_key;
}

std::vector<Range> Layout::unused() const {
    using Bounds = std::pair<std::string, std::string>;
    std::vector<Bounds> used;
    for (const std::string& key : {commit(), lead()}) used.emplace_back(key, key + '\0');
    for (const std::string& all : {nodes(), prefix_ + "stage/"}) {
        used.emplace_back(all, end_of_prefix(all));
    }
    for (int i = 0; i < family_count; ++i) {
        const auto all = family(static_cast<Family>(i));
        used.emplace_back(all, end_of_prefix(all));
    }
    std::sort(used.begin(), used.end());
    used.emplace_back(end_of_prefix(prefix_), std::string());
    std::vector<Range> unused;
    std::string from = prefix_;
    for (auto& [begin, end] : used) {
        if (from < begin) unused.push_back({.key = from, .end = begin});
        from = std::move(end);
    }
    return unused;
}

std::optional<std::pair<Family, std::string>> Layout::parse(std::string_view etcd_key) const {
    if (!etcd_key.starts_with(prefix_)) return std::nullopt;
    etcd_key.remove_prefix(prefix_.size());
    if (!etcd_key.starts_with("d/") || etcd_key.size() < 3) return std::nullopt;
    const auto family = family_bytes.find(etcd_key[2]);
    if (family == std::string_view::npos) return std::nullopt;
    return std::pair(static_cast<Family>(family), std::string(etcd_key.substr(3)));
}

std::string end_of_prefix(std::string prefix) {
    while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
    ROCKLOCK_ASSERT(!prefix.empty());
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
    return prefix;
}

}  // namespace rocklock::etcd
