// A storage whose calls yield the processor at random. Otherwise, threads that never wait would
// rarely interleave on a machine with few processors.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <rocklock/storage/storage.hpp>

#include "support/forwarding_storage.hpp"

namespace rocklock::proof {

inline void jostle() {
    thread_local std::minstd_rand random(
        static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id())));
    if (random() % 3 == 0) std::this_thread::yield();
}

// A snapshot that can yield between the reads of several keys.
class JostledSnapshot final : public testing::ForwardingSnapshot {
public:
    using ForwardingSnapshot::ForwardingSnapshot;

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        jostle();
        return ForwardingSnapshot::get(family, key);
    }
};

class JostledStorage final : public testing::ForwardingStorage {
public:
    using ForwardingStorage::ForwardingStorage;

    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict) override {
        jostle();
        const auto number = ForwardingStorage::enqueue(std::move(batch), durability, verdict);
        jostle();
        return number;
    }
    Result<void> wait(CommitNumber number, Durability durability) override {
        auto waited = ForwardingStorage::wait(number, durability);
        jostle();
        return waited;
    }
    std::unique_ptr<Snapshot> snapshot() const override {
        jostle();
        return std::make_unique<JostledSnapshot>(ForwardingStorage::snapshot());
    }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        auto value = ForwardingStorage::get(family, key);
        jostle();
        return value;
    }
};

}  // namespace rocklock::proof
