#include "wire/json_body.hpp"

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>

#include "lock/model/names.hpp"

namespace rocklock {
namespace {

// Sufficient for DynamoDB's 32 levels of nested lists.
constexpr std::size_t max_depth = 128;

// ---- Repeated members ----
//
// If an object has two members with the same name, the parser keeps the last one. It is unknown
// which one the sender meant, so the request is refused. To detect this, the names in the text are
// counted and compared with the members of the parsed object.

// Returns the position of the closing quote of a string. Its text begins at `start`. Uses find(),
// because texts can be long.
std::size_t end_of_string(std::string_view json, std::size_t start) {
    for (auto end = json.find('"', start);; end = json.find('"', end + 1)) {
        std::size_t backslashes = 0;
        while (end > start + backslashes && json[end - 1 - backslashes] == '\\') ++backslashes;
        if (backslashes % 2 == 0) return end;
    }
}

// Calls `take` for each string in valid JSON, with its position, its text without quotes, and
// whether it is the name of a member.
template <typename Take>
void for_each_string(std::string_view json, const Take& take) {
    for (std::size_t at = json.find('"'); at != std::string_view::npos; at = json.find('"', at)) {
        const auto start = at + 1;
        at = end_of_string(json, start);
        const auto next = json.find_first_not_of(" \t\r\n", at + 1);
        take(start, json.substr(start, at - start),
             next != std::string_view::npos && json[next] == ':');
        ++at;
    }
}

std::size_t count_members(std::string_view json) {
    std::size_t count = 0;
    for_each_string(json, [&](std::size_t, std::string_view, bool name) { count += name ? 1 : 0; });
    return count;
}

std::size_t count_members(const boost::json::value& value);

std::size_t count_members(const boost::json::object& object) {
    std::size_t count = object.size();
    for (const auto& member : object) count += count_members(member.value());
    return count;
}

// The recursion is limited by the parser's maximum depth.
std::size_t count_members(const boost::json::value& value) {
    if (const auto* object = value.if_object()) return count_members(*object);
    std::size_t count = 0;
    if (const auto* array = value.if_array()) {
        for (const auto& element : *array) count += count_members(element);
    }
    return count;
}

// Returns a message with the name that is repeated in an object. If the two names are escaped
// differently, they are not recognized as equal, and the message contains no name.
std::string twice_named(std::string_view json) {
    std::vector<std::set<std::string_view>> objects;
    std::size_t at = 0;
    std::string_view found;
    for_each_string(json, [&](std::size_t start, std::string_view text, bool name) {
        for (; at < start; ++at) {
            if (json[at] == '{') objects.emplace_back();
            if (json[at] == '}') objects.pop_back();
        }
        at = start + text.size();
        if (name && found.empty() && !objects.back().insert(text).second) found = text;
    });
    return (found.empty() ? "a member" : std::string(found)) +
           " is given twice: give each member of an object once";
}

// Returns the path of the first text that is not UTF-8: a member, an element of an array, or the
// name of a member. Returns an empty string if there is none.
std::string not_utf8(const boost::json::value& value, const std::string& where) {
    if (const auto* text = value.if_string()) {
        return is_utf8({text->data(), text->size()}) ? std::string() : where;
    }
    if (const auto* array = value.if_array()) {
        for (std::size_t i = 0; i < array->size(); ++i) {
            auto found = not_utf8((*array)[i], where + "[" + std::to_string(i) + "]");
            if (!found.empty()) return found;
        }
    }
    if (const auto* object = value.if_object()) {
        for (const auto& [name, member] : *object) {
            if (!is_utf8({name.data(), name.size()})) {
                return "the name of a member" + (where.empty() ? "" : " of " + where);
            }
            const std::string dot = where.empty() ? "" : where + ".";
            auto found = not_utf8(member, dot + std::string(name));
            if (!found.empty()) return found;
        }
    }
    return {};
}

}  // namespace

void with_object(std::string_view json, FirstProblem& problem, const TakeObject& take) {
    std::array<unsigned char, 4096> memory;
    boost::json::monotonic_resource resource(memory.data(), memory.size());
    boost::json::parse_options options;
    options.max_depth = max_depth;
    boost::json::error_code error;
    const auto value = boost::json::parse(json, error, &resource, options);
    if (error) {
        std::string problem_text = "the body is not JSON: " + error.message();
        options.allow_invalid_utf8 = true;
        error.clear();
        const auto lenient = boost::json::parse(json, error, &resource, options);
        const auto path = error ? std::string() : not_utf8(lenient, "");
        if (!path.empty()) problem_text = path + " is not valid UTF-8";
        problem.report(std::move(problem_text));
    } else if (const auto* object = value.if_object()) {
        take(*object);
    } else {
        problem.report("the body must be a JSON object");
    }
}

void with_request(std::string_view json, FirstProblem& problem, const TakeObject& take) {
    with_object(json.empty() ? std::string_view("{}") : json, problem,
                [&](const boost::json::object& object) {
                    if (count_members(json) != count_members(object)) {
                        return problem.report(twice_named(json));
                    }
                    take(object);
                });
}

}  // namespace rocklock
