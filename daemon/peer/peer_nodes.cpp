#include "daemon/peer/peer_nodes.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/read_file.hpp"
#include "lock/model/names.hpp"

namespace rocklock {
namespace {

// Far more than the nodes of a manager need. A larger file was probably named by mistake.
constexpr std::size_t max_file_bytes = 16'000'000;

constexpr std::size_t max_node_name = 64;
constexpr std::uint64_t max_max_connections = 1'000'000;

std::vector<std::string> split(std::string_view list, char separator) {
    std::vector<std::string> parts;
    std::string part;
    std::istringstream in{std::string(list)};
    while (std::getline(in, part, separator)) parts.push_back(part);
    return parts;
}

Error invalid(const std::string& why) { return {ErrorCode::invalid_argument, why}; }

Result<void> set_rights(std::string_view list, RemoteNode& node) {
    node.may_lock = node.may_use_tables = false;
    for (const auto& right : split(list, ',')) {
        if (right == "locks") {
            node.may_lock = true;
        } else if (right == "tables") {
            node.may_use_tables = true;
        } else {
            return invalid("unknown right '" + right + "': give locks, tables or both");
        }
    }
    if (!node.may_lock && !node.may_use_tables) {
        return invalid("no rights are given: give locks, tables or both");
    }
    return {};
}

Result<std::uint64_t> parse_connections(const std::string& text) {
    std::uint64_t number = 0;
    const auto* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && rest == end && number > 0 && number <= max_max_connections) {
        return number;
    }
    return invalid("'" + text +
                   "' is not a number of connections: give a number from 1 to 1000000");
}

// Describes the problem of two nodes with the same number.
std::string clash(const std::string& earlier, const std::string& name) {
    if (earlier == name) return "the node " + name + " is already in the file";
    return "the nodes " + earlier + " and " + name + " have the same number: rename one of them";
}

RemoteNode node_named(std::string name) {
    RemoteNode node;
    node.number = node_number(name);
    node.host.node = std::move(name);
    node.prefixes = {""};
    return node;
}

bool has_name(const PeerCertificate& certificate, const std::string& name) {
    return certificate.common_name == name ||
           std::find(certificate.dns_names.begin(), certificate.dns_names.end(), name) !=
               certificate.dns_names.end();
}

std::string names_of(const PeerCertificate& certificate) {
    std::string names = "'" + certificate.common_name + "'";
    for (const auto& name : certificate.dns_names) names += ", '" + name + "'";
    return names;
}

}  // namespace

bool is_node_name(std::string_view name) {
    const auto is_valid = [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || letter == '.' || letter == '-' || letter == '_';
    };
    return !name.empty() && name.size() <= max_node_name &&
           std::all_of(name.begin(), name.end(), is_valid);
}

Result<void> check_node_name(const std::string& name) {
    if (is_node_name(name)) return {};
    return Error(ErrorCode::invalid_argument,
                 "node: '" + name +
                     "' is not a name of a node: use 1 to 64 letters, digits, dots, hyphens and "
                     "underscores");
}

Result<PeerNodes> PeerNodes::load(const std::string& file) {
    const auto text = read_file(file, max_file_bytes);
    if (!text) {
        return invalid("peer-nodes: the file " + file + " cannot be read: " + std::strerror(errno));
    }
    if (text->size() == max_file_bytes) {
        return invalid("peer-nodes: the file " + file + " has 16 MB or more");
    }
    return parse(*text, file);
}

// Returns a rule with an empty node name if the line is empty.
Result<PeerNodes::Rule> PeerNodes::parse_line(std::string_view line) {
    std::istringstream words{std::string(line.substr(0, line.find('#')))};
    Rule rule;
    std::string word;
    if (!(words >> word)) return rule;
    if (!is_node_name(word)) {
        return invalid("'" + word +
                       "' is not a name of a node: use 1 to 64 letters, digits, dots, hyphens and "
                       "underscores");
    }
    rule.certificate = word;
    rule.node = node_named(word);
    bool limited = false;
    bool with_tables = false;
    while (words >> word) {
        const auto equals = word.find('=');
        const auto name = word.substr(0, equals);
        const auto value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (value.empty()) return invalid("'" + word + "' must have the form NAME=VALUE");
        if (name == "certificate") {
            rule.certificate = value;
        } else if (name == "resources") {
            rule.node.prefixes = split(value, ',');
            std::erase(rule.node.prefixes, "");
            limited = true;
        } else if (name == "rights") {
            if (auto set = set_rights(value, rule.node); !set) return std::move(set).error();
            with_tables = rule.node.may_use_tables;
        } else if (name == "connections") {
            const auto max = parse_connections(value);
            if (!max) return max.error();
            rule.max_connections = *max;
        } else {
            return invalid("unknown member '" + name +
                           "': the members are certificate, resources, rights and connections");
        }
    }
    if (limited && with_tables) {
        return invalid("a node with resources cannot have the right 'tables'");
    }
    if (limited) rule.node.may_use_tables = false;
    return rule;
}

Result<PeerNodes> PeerNodes::parse(std::string_view text, const std::string& source) {
    // Names of resources are UTF-8, and error messages contain parts of the file.
    if (!is_utf8(text)) return invalid("peer-nodes: " + source + " is not valid UTF-8");
    PeerNodes nodes;
    int number = 0;
    for (const auto& line : split(text, '\n')) {
        ++number;
        const auto at = "peer-nodes: " + source + ", line " + std::to_string(number) + ": ";
        auto rule = parse_line(line);
        if (!rule) return invalid(at + rule.error().message);
        if (rule->node.host.node.empty()) continue;
        for (const auto& other : nodes.rules_) {
            if (other.certificate == rule->certificate) {
                return invalid(at + "the certificate " + rule->certificate +
                               " is already that of the node " + other.node.host.node);
            }
            if (other.node.number != rule->node.number) continue;
            return invalid(at + clash(other.node.host.node, rule->node.host.node));
        }
        nodes.rules_.push_back(*std::move(rule));
    }
    if (nodes.rules_.empty()) return invalid("peer-nodes: " + source + " contains no node");
    return nodes;
}

NodeConnectionLimits PeerNodes::connection_limits(std::uint64_t automatic) const {
    NodeConnectionLimits limits{{}, automatic};
    for (const auto& rule : rules_) {
        limits.nodes.emplace(rule.node.host.node, rule.max_connections.value_or(automatic));
    }
    return limits;
}

PeerNodes PeerNodes::any() {
    PeerNodes nodes;
    nodes.permits_all_ = true;
    return nodes;
}

Result<std::shared_ptr<const RemoteNode>> PeerNodes::find(
    const std::optional<PeerCertificate>& certificate, const Preface& preface) const {
    RemoteNode node;
    if (permits_all_) {
        if (!is_node_name(preface.node)) {
            return Error(ErrorCode::access_denied, "the relay has an invalid name of a node");
        }
        node = node_named(preface.node);
    } else {
        const auto rule = std::find_if(rules_.begin(), rules_.end(), [&](const Rule& each) {
            return certificate ? has_name(*certificate, each.certificate)
                               : each.node.host.node == preface.node;
        });
        if (rule == rules_.end()) {
            return Error(ErrorCode::access_denied,
                         certificate ? "the file peer-nodes has no node with a name of the relay's "
                                       "certificate, which is for " +
                                           names_of(*certificate)
                                     : "the file peer-nodes has no node '" + preface.node + "'");
        }
        node = rule->node;
    }
    node.host.boot_id = preface.boot_id;
    return std::make_shared<const RemoteNode>(std::move(node));
}

}  // namespace rocklock
