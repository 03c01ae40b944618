#include "lock/model/request_loader.hpp"

#include <utility>

#include "base/background_work.hpp"

namespace rocklock::lock_model {

void RequestLoader::start(RequestTable& table) {
    wait();
    if (ids_ == nullptr) return;
    if (ids_->count < min_for_thread) {
        add(table, *std::exchange(ids_, nullptr));
        return;
    }
    running_ = start_background(
        [&table, ids = std::shared_ptr<const Ids>(std::move(ids_))] { add(table, *ids); });
}

void RequestLoader::finish(RequestTable& table) {
    start(table);
    wait();
}

void RequestLoader::wait() {
    if (running_.valid()) running_.get();
}

void RequestLoader::add(RequestTable& table, const Ids& ids) {
    for (const auto& part : ids.parts) {
        for (const auto& [key, outcome] : part) table.set(key, outcome);
    }
}

}  // namespace rocklock::lock_model
