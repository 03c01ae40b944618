#include "lock/model/request_loader.hpp"

#include <utility>

#include "base/background_work.hpp"

namespace rocklock::lock_model {

void RequestLoader::start(RequestTable& table) {
    wait();
    if (batch_ == nullptr) return;
    if (batch_->count < min_for_thread) {
        add(table, *std::exchange(batch_, nullptr));
        return;
    }
    // Shared, because start_background() copies the function.
    running_ = start_background(
        [&table, batch = std::shared_ptr<const Batch>(std::move(batch_))] { add(table, *batch); });
}

void RequestLoader::finish(RequestTable& table) {
    start(table);
    wait();
}

void RequestLoader::wait() {
    if (running_.valid()) running_.get();
}

void RequestLoader::add(RequestTable& table, const Batch& batch) {
    for (const auto& part : batch.parts) {
        for (const auto& [key, outcome] : part) table.set(key, outcome);
    }
}

}  // namespace rocklock::lock_model
