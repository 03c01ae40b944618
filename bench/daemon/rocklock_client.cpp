#include "daemon/rocklock_client.hpp"

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace rocklock::bench {
namespace {

void wait_for(int fd) {
    pollfd source{fd, POLLIN, 0};
    if (::poll(&source, 1, 10'000) <= 0) give_up("a server does not answer");
}

}  // namespace

RocklockClient::RocklockClient(int fd, bool shares) : LockClient(fd) {
    send(frame_greeting);
    OpenSession open;
    open.principal = "bench";
    greeted_ = false;
    const Call opening{std::move(open), {}, {}};
    call(opening);
    await();
    const auto session = std::get<SessionInfo>(reply_);
    Acquire acquire;
    acquire.session = session.id;
    acquire.locks.emplace_back();
    acquire_ = {std::move(acquire), session.secret, {}};
    release_ = {Release{session.id, {}}, session.secret, {}};
    if (shares) share();
}

// Asks for shared memory. The daemon passes it with the reply to the next call.
void RocklockClient::share() {
    const Call ping{Ping{}, {}, {}};
    call(ping);
    await();
    if (!std::get<Pong>(reply_).shared_memory) return;
    std::string bytes;
    append_share(bytes);
    send(bytes);
    call(ping);
    std::vector<Descriptor> descriptors;
    while (!take_answer()) {
        char buffer[16'384];
        const auto size = receive_with_descriptors(fd(), buffer, descriptors);
        if (size > 0) received_.append(buffer, static_cast<std::size_t>(size));
        if (size < 0 && errno == EAGAIN) wait_for(fd());
        if (size == 0 || (size < 0 && errno != EAGAIN)) give_up("a server hung up");
    }
    memory_ = SharedClientEnd::attach(std::move(descriptors));
    if (memory_) memory_->always_wake();
}

ssize_t RocklockClient::send_some(std::string_view bytes) {
    return memory_ ? memory_->send(bytes) : LockClient::send_some(bytes);
}

ssize_t RocklockClient::receive_some(std::span<char> buffer, bool waits) {
    if (!memory_) return LockClient::receive_some(buffer, waits);
    auto size = memory_->receive(buffer);
    while (waits && size < 0 && errno == EAGAIN) {
        memory_->wait(std::chrono::seconds{10});
        size = memory_->receive(buffer);
    }
    return size;
}

void RocklockClient::ask(const std::string& resource, bool waits) {
    auto& acquire = std::get<Acquire>(acquire_.body);
    acquire.locks.front().resource = resource;
    acquire.patience = waits ? no_limit : std::chrono::milliseconds{0};
    call(acquire_);
}

void RocklockClient::give_back(const std::string& /*resource*/) { release(grant()); }

void RocklockClient::release(GrantId grant) {
    std::get<Release>(release_.body).grant = grant;
    call(release_);
}

GrantId RocklockClient::grant() const { return std::get<Grant>(reply_).id; }

void RocklockClient::call(const Call& call) {
    call_ = &call;
    bytes_.clear();
    append_call(bytes_, ++number_, call);
    send(bytes_);
}

bool RocklockClient::take_answer() {
    if (!greeted_) {
        if (received_.size() < frame_greeting.size()) return false;
        received_.erase(0, frame_greeting.size());
        greeted_ = true;
    }
    std::string_view rest = received_;
    const auto frame = take_frame(rest, max_reply_frame_bytes);
    if (!frame) give_up(frame.error().message);
    if (!*frame) return false;
    if ((*frame)->kind != FrameKind::reply) {
        give_up(read_refusal_frame((*frame)->body).message);
    }
    std::chrono::milliseconds held{0};
    const auto read = read_reply_frame(call_->body, (*frame)->body, held, reply_);
    if (!read) give_up(read.error().message);
    received_.erase(0, received_.size() - rest.size());
    return true;
}

std::unique_ptr<LockClient> rocklock_client(int fd) {
    return std::make_unique<RocklockClient>(fd, true);
}

std::unique_ptr<LockClient> rocklock_socket_client(int fd) {
    return std::make_unique<RocklockClient>(fd, false);
}

}  // namespace rocklock::bench
