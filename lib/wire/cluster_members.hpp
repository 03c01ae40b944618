// The functions describe() and describe_call() for calls and replies about the nodes of a cluster.
// Include lock_members.hpp, which explains and includes them.
#pragma once

#include "wire/query_members.hpp"

namespace rocklock {

// ---- Calls ----

template <typename Codec, A<Call> C, typename T>
requires(A<T, ListNodes> || A<T, HandOver> ||
         A<T, CheckNode>) void describe_call(Codec& /*codec*/, C& /*call*/, T& /*body*/) {}

// ---- Replies ----

template <typename Codec, A<ClusterNode> T>
void describe(Codec& codec, T& node) {
    codec.required("Node", node.name);
    codec.required("Role", node.role);
    codec.optional("Address", node.address);
    codec.required("Pid", node.pid);
    codec.required("Since", node.since);
    codec.optional("Version", node.version);
}

template <typename Codec, A<NodeList> T>
void describe(Codec& codec, T& list) {
    codec.required("Nodes", list.nodes);
}

template <typename Codec, A<NodeChecked> T>
void describe(Codec& codec, T& checked) {
    codec.required("Node", checked.node);
    codec.required("Revision", checked.revision);
    codec.required("Values", checked.values);
    codec.required("Differences", checked.differences);
    codec.required("Examples", checked.examples);
}

template <typename Codec, A<HandedOver> T>
void describe(Codec& codec, T& handed_over) {
    codec.required("Node", handed_over.node);
}

}  // namespace rocklock
