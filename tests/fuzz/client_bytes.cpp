#include "fuzz/client_bytes.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <rocklock/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "daemon/dispatcher.hpp"
#include "daemon/frame_conversation.hpp"
#include "daemon/http_conversation.hpp"
#include "lock/lock_manager.hpp"
#include "wire/call_frame.hpp"

namespace rocklock {
namespace {

constexpr std::uint32_t administrator = 4711;
// No lease is longer than 30 days.
constexpr std::chrono::hours long_time{24 * 31};

void require(bool kept, const std::string& promise) {
    if (!kept) throw std::logic_error("broken promise: " + promise);
}

// A server's inside, whose time is in our hands.
struct World {
    World() {
        LockManagerOptions options;
        options.background = false;
        manager = LockManager::open(*storage, clock, options).value();
        dispatcher = std::make_unique<Dispatcher>(
            *manager, nullptr,
            DispatcherOptions{"memory", "durable", administrator, nullptr, {}, &clock});
    }

    testing::SimulatedClock clock;
    std::unique_ptr<Storage> storage = make_memory_storage(clock);
    std::unique_ptr<LockManager> manager;
    std::unique_ptr<Dispatcher> dispatcher;
};

// One connection to it.
class Client {
public:
    Client(World& world, char first) : world_(world) {
        auto peer = std::make_shared<Peer>(*world.dispatcher, Caller{administrator, 0});
        auto post = [this](std::function<void()> run) { posted_.push_back(std::move(run)); };
        if (first == frame_greeting.front()) {
            conversation_ = std::make_shared<FrameConversation>(peer, world.clock, post, [] {});
        } else {
            conversation_ = std::make_shared<HttpConversation>(peer, post, [] {});
        }
        peer_ = std::move(peer);
    }

    void send(std::string_view bytes) {
        if (conversation_->broken() || conversation_->ended()) return;
        conversation_->receive(bytes);
        answer();
        go_on();
    }

    void answer() {
        world_.manager->tick();
        while (!posted_.empty()) {
            auto run = std::move(posted_.front());
            posted_.pop_front();
            run();
        }
        std::ignore = conversation_->take_output();
    }

    // What was held up by answers that were not taken, or by too many waits.
    void go_on() {
        while (conversation_->paused() && conversation_->has_room() && !conversation_->broken()) {
            conversation_->receive({});
            answer();
        }
    }

    void leave(bool by_closing_its_sending_side) {
        if (by_closing_its_sending_side) {
            if (conversation_->paused()) {
                peer_->stop_waiting();
                answer();
                go_on();
            }
            conversation_->end_of_input();
            answer();
            require(conversation_->ended(), "who sends no more is answered");
        }
        peer_->hang_up(true);
        answer();
    }

private:
    World& world_;
    std::deque<std::function<void()>> posted_;
    std::shared_ptr<Peer> peer_;
    std::shared_ptr<Conversation> conversation_;
};

}  // namespace

void play_client(std::string_view input) {
    if (input.size() < 2) return;
    const auto manner = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    const std::size_t piece = manner % 4 == 0 ? input.size() : 1 + manner / 4;

    World world;
    {
        Client client(world, input.front());
        for (std::size_t at = 0; at < input.size(); at += piece) {
            client.send(input.substr(at, piece));
        }
        client.leave(manner % 2 == 0);
    }
    if (const auto wrong = world.manager->audit_invariants()) {
        throw std::logic_error("broken promise: " + *wrong);
    }
    world.clock.advance(long_time);
    world.manager->tick();
    require(world.manager->list({})->locks.empty(), "no lock outlives its lease");
    require(world.manager->statistics().waiting == 0, "who has gone waits no more");
    require(world.manager->close().has_value(), "a store in memory closes");
}

}  // namespace rocklock
