#include "support/scenario/scenario_words.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace rocklock::proof::script {

milliseconds duration(const std::string& text) {
    std::size_t used = 0;
    const long long amount = std::stoll(text, &used);
    const auto unit = text.substr(used);
    if (unit == "ms") return milliseconds{amount};
    if (unit == "s") return std::chrono::seconds{amount};
    if (unit == "m") return std::chrono::minutes{amount};
    if (unit == "h") return std::chrono::hours{amount};
    if (unit == "d") return std::chrono::hours{24 * amount};
    throw BadScript("no duration: " + text);
}

// Decodes `%00` to a byte and `repeat(a*3)` to aaa.
std::string unescape(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else if (text.compare(i, 7, "repeat(") == 0) {
            const auto star = text.find('*', i);
            const auto end = text.find(')', star);
            const auto times = std::stoul(text.substr(star + 1, end - star - 1));
            for (std::size_t n = 0; n < times; ++n) result += text.substr(i + 7, star - i - 7);
            i = end;
        } else {
            result += text[i];
        }
    }
    return result;
}

std::string trim(const std::string& text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Words split(const std::string& text, const std::string& separator) {
    Words parts;
    std::size_t from = 0;
    for (;;) {
        const auto at = text.find(separator, from);
        parts.push_back(trim(text.substr(from, at - from)));
        if (at == std::string::npos) return parts;
        from = at + separator.size();
    }
}

Words words_of(const std::string& text) {
    std::istringstream stream(text);
    Words found;
    for (std::string word; stream >> word;) found.push_back(word);
    return found;
}

// Removes the word `name=value` and returns the value, or none if there is no such word.
std::optional<std::string> take(Words& words, const std::string& name) {
    for (auto word = words.begin(); word != words.end(); ++word) {
        if (!word->starts_with(name + "=")) continue;
        auto value = word->substr(name.size() + 1);
        words.erase(word);
        return value;
    }
    return std::nullopt;
}

bool take_flag(Words& words, const std::string& name) {
    const auto word = std::find(words.begin(), words.end(), name);
    if (word == words.end()) return false;
    words.erase(word);
    return true;
}

milliseconds patience_of(Words& words) {
    const auto text = take(words, "patience");
    if (!text) return milliseconds{0};
    return *text == "forever" ? no_limit : duration(*text);
}

std::vector<LockRequest> locks_of(const Words& words) {
    std::string joined;
    for (const auto& word : words) joined += word + " ";
    std::vector<LockRequest> locks;
    if (trim(joined).empty()) return locks;
    for (const auto& part : split(joined, ",")) {
        Words fields = words_of(part);
        LockRequest lock;
        if (const auto to = take(fields, "to")) lock.to = parse_intent(*to);
        if (const auto permits = take(fields, "permits")) {
            lock.permits = static_cast<std::uint32_t>(std::stoul(*permits));
        }
        if (const auto modes = take(fields, "modes")) {
            for (const auto& mode : split(*modes, "|")) {
                lock.modes.push_back(parse_mode(mode).value());
            }
        }
        lock.subtree = take_flag(fields, "subtree");
        if (fields.empty()) throw BadScript("no resource");
        lock.resource = fields[0] == "%empty" ? "" : unescape(fields[0]);
        if (fields.size() > 1) {
            lock.mode = parse_mode(fields[1]);
            if (!lock.mode) throw BadScript("no mode: " + fields[1]);
        }
        if (fields.size() > 2) throw BadScript("too much: " + fields[2]);
        locks.push_back(lock);
    }
    return locks;
}

LockClass class_of(Words words) {
    LockClass made;
    made.pattern = unescape(words.at(1));
    if (words.size() > 2) {
        if (const auto policy = parse_policy(words[2])) {
            made.policy = *policy;
            words.erase(words.begin() + 2);
        }
    }
    if (const auto v = take(words, "lease")) made.lease = duration(*v);
    if (const auto v = take(words, "max_lease")) made.max_lease = duration(*v);
    if (const auto v = take(words, "max_hold")) made.max_hold = duration(*v);
    if (const auto v = take(words, "min_hold")) made.min_hold = duration(*v);
    if (const auto v = take(words, "lock_delay")) made.lock_delay = duration(*v);
    if (const auto v = take(words, "steal")) made.steal = parse_steal_policy(*v).value();
    if (const auto v = take(words, "steal_after")) made.steal_after = duration(*v);
    made.no_expiry = take_flag(words, "no_expiry");
    if (const auto v = take(words, "steal_by")) made.steal_by = split(*v, ",");
    if (const auto v = take(words, "break_by")) made.break_by = split(*v, ",");
    if (const auto v = take(words, "permits"))
        made.permits = static_cast<std::uint32_t>(std::stoul(*v));
    if (const auto v = take(words, "max_priority"))
        made.max_priority = static_cast<std::uint32_t>(std::stoul(*v));
    if (const auto v = take(words, "queue_limit"))
        made.queue_limit = static_cast<std::uint32_t>(std::stoul(*v));
    if (const auto v = take(words, "depends")) {
        for (const auto& one : split(*v, ",")) {
            const auto colon = one.rfind(':');
            made.dependants.push_back(
                {one.substr(0, colon), parse_mode(one.substr(colon + 1)).value()});
        }
    }
    if (words.size() > 2) throw BadScript("no such member of a class: " + words[2]);
    return made;
}

}  // namespace rocklock::proof::script
