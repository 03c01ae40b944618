#include "daemon/server/refusals.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/assert.hpp"
#include "daemon/http/http_answer.hpp"
#include "daemon/net/discard_input.hpp"

namespace rocklock {
namespace {

namespace asio = boost::asio;

using std::chrono::milliseconds;

constexpr milliseconds max_time{1000};
// One user may use at most 1 / share_divisor of the slots.
constexpr int share_divisor = 4;

std::string refusal_text(const std::string& reason) {
    std::string text;
    append_answer(text, refusal(503, "LimitExceededException", reason), {.keep_alive = false});
    return text;
}

}  // namespace

bool Refusals::full() const { return in_progress_ >= slots_; }

void Refusals::report(const std::string& reason) {
    ++traffic_.refused;
    if (const auto count = logged_.let_through(std::chrono::steady_clock::now()); count > 0) {
        log_.write({LogLevel::warning,
                    "connection_refused",
                    "a limit of connections was reached, and connections were refused",
                    {{"refused", count},
                     {"reason", reason},
                     {"connections", traffic_.connections.load()},
                     {"max_connections", max_connections_}}});
    }
}

void Refusals::refuse(Socket socket, UserId uid, const std::string& reason) {
    report(reason);
    const auto text = refusal_text(reason);
    const auto sent =
        ::send(socket.native_handle(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(text.size())) return;
    int& of_user = by_user_[uid];
    if (of_user >= std::max(slots_ / share_divisor, 1)) return;
    ++of_user;
    ++in_progress_;
    asio::co_spawn(control_, drain(std::make_shared<Socket>(std::move(socket)), uid),
                   asio::detached);
}

asio::awaitable<void> Refusals::drain(std::shared_ptr<Socket> socket, UserId uid) {
    co_await discard_input(std::move(socket), max_time);
    const auto of_user = by_user_.find(uid);
    ROCKLOCK_ASSERT(of_user != by_user_.end() && of_user->second > 0);
    if (--of_user->second == 0) by_user_.erase(of_user);
    if (in_progress_-- == slots_) has_room_();
}

}  // namespace rocklock
