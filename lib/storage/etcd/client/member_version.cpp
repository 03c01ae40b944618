#include "storage/etcd/client/member_version.hpp"

#include <array>
#include <charconv>
#include <cstddef>

namespace rocklock::etcd {
namespace {

using Version = std::array<int, 3>;

std::optional<Version> parse(const std::string& text) {
    Version version{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t i = 0; i < version.size(); ++i) {
        if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
        const auto [next, failure] = std::from_chars(at, end, version[i]);
        if (failure != std::errc()) return std::nullopt;
        at = next;
    }
    return version;
}

}  // namespace

std::optional<std::string> version_warning(const std::string& text) {
    const auto version = parse(text);
    if (!version) return std::nullopt;
    const bool is_3_5 = *version >= Version{3, 5, 0};
    if (*version >= Version{3, 5, 6} || (!is_3_5 && *version >= Version{3, 4, 22})) {
        return std::nullopt;
    }
    return "etcd " + text +
           " has faults by which acknowledged changes can be lost: use 3.4.22 or later, or 3.5.6 "
           "or later";
}

}  // namespace rocklock::etcd
