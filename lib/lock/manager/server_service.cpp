#include "lock/manager/server_service.hpp"

namespace rocklock {

// NOLINTNEXTLINE(performance-unnecessary-value-param): implementations keep it
void ServerService::on_flush_needed(std::function<void()> /*notify*/) {}
// NOLINTNEXTLINE(performance-unnecessary-value-param): the same
void ServerService::on_stall(std::function<void()> /*notify*/,
                             // NOLINTNEXTLINE(performance-unnecessary-value-param): the same
                             std::function<std::chrono::nanoseconds()> /*unread_for*/) {}

void ServerService::disconnect(Disconnect disconnected) {
    for (const Ticket ticket : disconnected.waits) cancel(ticket);
    for (auto& close : disconnected.sessions) {
        submit(std::move(close), [](const Result<Answer>&) {});
    }
    for (const UndeliveredGrant& lost : disconnected.undelivered) {
        Request request = Release{lost.session, lost.grant};
        if (lost.own_session) request = CloseSession{lost.session};
        submit(std::move(request), [](const Result<Answer>&) {});
    }
}

}  // namespace rocklock
