#include "support/model_text.hpp"

#include <cstdint>

namespace rocklock::proof::model {
namespace {

std::vector<std::string> elements(std::string_view path) {
    std::vector<std::string> found(1);
    for (const char c : path) {
        if (c == '/') {
            found.emplace_back();
        } else {
            found.back() += c;
        }
    }
    return found;
}

bool utf8_without_nul(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size()) {
        const auto lead = static_cast<unsigned char>(text[i]);
        std::size_t more = 0;
        std::uint32_t code = 0;
        if (lead == 0) return false;
        if (lead < 0x80) {
            ++i;
            continue;
        }
        if (lead >= 0xC2 && lead <= 0xDF) {
            more = 1;
            code = lead & 0x1Fu;
        } else if ((lead & 0xF0) == 0xE0) {
            more = 2;
            code = lead & 0x0Fu;
        } else if (lead >= 0xF0 && lead <= 0xF4) {
            more = 3;
            code = lead & 0x07u;
        } else {
            return false;
        }
        if (i + more >= text.size()) return false;
        for (std::size_t k = 1; k <= more; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            if ((next & 0xC0) != 0x80) return false;
            code = (code << 6) | (next & 0x3Fu);
        }
        if (more == 2 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) return false;
        if (more == 3 && (code < 0x10000 || code > 0x10FFFF)) return false;
        i += more + 1;
    }
    return true;
}

}  // namespace

bool below(std::string_view path, std::string_view ancestor) {
    return path.size() > ancestor.size() && path.starts_with(ancestor) &&
           path[ancestor.size()] == '/';
}

bool pattern_matches(std::string_view pattern, std::string_view resource) {
    const auto wanted = elements(pattern);
    const auto given = elements(resource);
    if (wanted.size() != given.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] != "*" && wanted[i] != given[i]) return false;
    }
    return true;
}

bool more_specific(std::string_view one, std::string_view other) {
    const auto left = elements(one);
    const auto right = elements(other);
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
        if ((left[i] == "*") != (right[i] == "*")) return right[i] == "*";
    }
    return false;
}

std::size_t size_of(const Metadata& metadata) {
    std::size_t sum = 0;
    for (const auto& [key, value] : metadata) sum += key.size() + value.size();
    return sum;
}

std::optional<Error> check_name(std::string_view name) {
    if (name.empty() || name.size() > limits::name_bytes || !utf8_without_nul(name))
        return Error(ErrorCode::invalid_argument, "model");
    return std::nullopt;
}

std::optional<Error> check_open(const OpenSession& open) {
    if (auto error = check_name(open.principal)) return error;
    const bool never_ends = open.lease == no_expiry;
    if (never_ends && open.bound != Bound::none) return Error(ErrorCode::invalid_argument, "model");
    if (open.lease && !never_ends &&
        (*open.lease < limits::lease_min || *open.lease > limits::lease_max)) {
        return Error(ErrorCode::invalid_argument, "model");
    }
    if (open.note.size() + size_of(open.metadata) > limits::metadata_bytes) {
        return Error(ErrorCode::limit_exceeded, "model");
    }
    if (open.request_id.size() > limits::request_id_bytes)
        return Error(ErrorCode::invalid_argument, "model");
    return std::nullopt;
}

std::string printed(const Acquire& request) {
    std::string text;
    std::vector<std::string> locks;
    for (const auto& lock : request.locks) {
        locks.push_back(lock.resource + '\0' +
                        (lock.mode ? std::string(to_string(*lock.mode)) : "-") + '\0' +
                        (lock.to ? std::string(to_string(*lock.to)) : "-") + '\0' +
                        (lock.subtree ? "s" : "p") + std::to_string(lock.permits));
        for (const Mode mode : lock.modes) locks.back() += '\0' + std::string(to_string(mode));
    }
    for (const auto& lock : locks) text += lock + '\1';
    text += std::to_string(static_cast<int>(request.held)) + '\1';
    text += request.max_hold ? std::to_string(request.max_hold->count()) : "-";
    if (request.any) text += "\1any";
    if (request.min_hold) text += "\1min" + std::to_string(request.min_hold->count());
    return text;
}

std::string scope(const std::optional<SessionId>& session,
                  const std::optional<OpenSession>& opens) {
    if (session) return "session " + to_string(*session);
    return "caller " + std::to_string(opens->uid) + " " + opens->principal;
}

}  // namespace rocklock::proof::model
