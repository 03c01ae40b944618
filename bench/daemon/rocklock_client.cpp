#include "daemon/rocklock_client.hpp"

#include <chrono>
#include <memory>
#include <utility>
#include <variant>

namespace rocklock::bench {

RocklockClient::RocklockClient(int fd) : LockClient(fd) {
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

std::unique_ptr<LockClient> rocklock_client(int fd) { return std::make_unique<RocklockClient>(fd); }

}  // namespace rocklock::bench
