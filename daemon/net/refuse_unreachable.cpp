#include "daemon/net/refuse_unreachable.hpp"

#include <sys/socket.h>

#include <chrono>
#include <tuple>
#include <utility>

#include "daemon/http/http_answer.hpp"
#include "daemon/net/discard_input.hpp"
#include "service/service_answer.hpp"

namespace rocklock {
namespace {

constexpr std::chrono::milliseconds max_refusal_time{1'000};

}  // namespace

boost::asio::awaitable<void> refuse_unreachable(
    std::shared_ptr<boost::asio::generic::stream_protocol::socket> socket, std::string reason) {
    std::string text;
    append_answer(text, refusal(503, "UnreachableException", reason), {.keep_alive = false});
    std::ignore =
        ::send(socket->native_handle(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    co_await discard_input(std::move(socket), max_refusal_time);
}

}  // namespace rocklock
