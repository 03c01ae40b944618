#include "daemon/rocklock_client.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace rocklock::bench {

RocklockClient::RocklockClient(int fd) : LockClient(fd) {
    send(frame_greeting);
    OpenSession open;
    open.principal = "bench";
    greeted_ = false;
    call({std::move(open), {}, {}});
    await();
    const auto session = std::get<SessionInfo>(reply_);
    session_ = session.id;
    secret_ = session.secret;
}

void RocklockClient::ask(const std::string& resource, bool waits) {
    Acquire acquire;
    acquire.session = session_;
    acquire.locks.push_back({.resource = resource});
    if (waits) acquire.patience = no_limit;
    call({std::move(acquire), secret_, {}});
}

void RocklockClient::give_back(const std::string& /*resource*/) { release(grant()); }

void RocklockClient::release(GrantId grant) { call({Release{session_, grant}, secret_, {}}); }

GrantId RocklockClient::grant() const { return std::get<Grant>(reply_).id; }

void RocklockClient::call(Call call) {
    call_ = std::move(call);
    bytes_.clear();
    append_call(bytes_, ++number_, call_);
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
    auto reply = read_reply_frame(call_.body, (*frame)->body);
    if (!reply) give_up(reply.error().message);
    reply_ = std::move(reply->reply);
    received_.erase(0, received_.size() - rest.size());
    return true;
}

std::unique_ptr<LockClient> rocklock_client(int fd) { return std::make_unique<RocklockClient>(fd); }

}  // namespace rocklock::bench
