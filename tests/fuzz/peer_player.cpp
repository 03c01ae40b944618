#include "fuzz/peer_player.hpp"

#include <optional>
#include <string>

#include "daemon/peer/link_frames.hpp"
#include "daemon/peer/peer_nodes.hpp"
#include "daemon/peer/preface.hpp"
#include "fuzz/promise.hpp"

namespace rocklock {
namespace {

// Decodes the payload. If it is valid, checks that it is the same after it was encoded again.
template <typename Decoded, typename Encoded>
void play_decoded(std::string_view payload, std::optional<Decoded> (*decode)(std::string_view),
                  std::string (*encode)(Encoded)) {
    const auto decoded = decode(payload);
    if (decoded) require(decode(encode(*decoded)) == decoded, "a payload can be encoded again");
}

void play_payload(const DecodedFrame& frame) {
    switch (frame.type) {
        case LinkFrame::open:
            return play_decoded<ClientIdentity, const ClientIdentity&>(frame.payload, decode_client,
                                                                       encode);
        case LinkFrame::watch:
        case LinkFrame::unwatch:
        case LinkFrame::ended:
            return play_decoded<ProcessId, const ProcessId&>(frame.payload, decode_process, encode);
        case LinkFrame::find:
            return play_decoded<ProcessQuery, const ProcessQuery&>(frame.payload, decode_query,
                                                                   encode);
        case LinkFrame::found:
            return play_decoded<ProcessReport, const ProcessReport&>(frame.payload, decode_report,
                                                                     encode);
        case LinkFrame::credit:
        case LinkFrame::close:
            return play_decoded(frame.payload, decode_count, encode_count);
        case LinkFrame::data:
        case LinkFrame::end:
        case LinkFrame::refuse:
            break;
    }
}

void play_frames(std::string_view bytes) {
    while (true) {
        const auto before = bytes;
        const auto frame = take_frame(bytes);
        if (!frame) return require_fault(frame.error());
        if (!*frame) return require(bytes == before, "an incomplete frame stays in the input");
        std::string again;
        append_frame(again, (*frame)->type, (*frame)->channel, (*frame)->payload);
        require(
            again == before.substr(0, again.size()) && before.size() - bytes.size() == again.size(),
            "a frame can be encoded again");
        play_payload(**frame);
    }
}

// Reads a message that consists of a head and a rest. Returns the bytes after it, or nullopt if the
// message is not complete or not valid.
template <typename Message>
std::optional<std::string_view> play_message(
    std::string_view bytes, Result<std::size_t> (*rest_size)(std::string_view),
    Result<Message> (*decode)(std::string_view, std::string_view), void (*play)(const Message&)) {
    if (bytes.size() < preface_head_size) return std::nullopt;
    const auto head = bytes.substr(0, preface_head_size);
    bytes.remove_prefix(preface_head_size);
    const auto size = rest_size(head);
    if (!size) {
        require_fault(size.error());
        return std::nullopt;
    }
    if (bytes.size() < *size) return std::nullopt;
    const auto message = decode(head, bytes.substr(0, *size));
    if (!message) {
        require_fault(message.error());
        return std::nullopt;
    }
    const std::string again = encode(*message);
    const std::string_view view(again);
    const auto decoded = decode(view.substr(0, preface_head_size), view.substr(preface_head_size));
    require(decoded.has_value() && *decoded == *message, "a message can be encoded again");
    play(*message);
    return bytes.substr(*size);
}

void play_preface(const Preface& preface) {
    const auto node = PeerNodes::any().find(std::nullopt, preface);
    require(node.has_value() == is_node_name(preface.node), "a node has a valid name");
    if (node) require((*node)->host.node == preface.node, "the node is that of the preface");
}

void play_answer(const PrefaceAnswer& answer) {
    require(answer.reason.size() <= 1'000, "a reason has a limited length");
}

}  // namespace

void play_peer(std::string_view input) {
    if (input.empty()) return;
    const auto kind = static_cast<unsigned char>(input.front()) % 3;
    input.remove_prefix(1);
    if (kind == 0) {
        const auto frames =
            play_message<Preface>(input, preface_rest_size, decode_preface, play_preface);
        if (frames) play_frames(*frames);
    } else if (kind == 1) {
        const auto frames =
            play_message<PrefaceAnswer>(input, answer_rest_size, decode_answer, play_answer);
        if (frames) play_frames(*frames);
    } else {
        const auto nodes = PeerNodes::parse(input, "nodes");
        if (!nodes) require_fault(nodes.error());
    }
}

}  // namespace rocklock
