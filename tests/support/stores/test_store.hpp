// The store of tests that run several times, each time on a store of another kind.
#pragma once

#include <memory>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock::testing {

// Returns an empty store. It is in memory, with a queue of commits, or, if the environment variable
// ROCKLOCK_TEST_STORE is `etcd`, on a fake etcd of its own, in which the lease of the manager does
// not end.
std::unique_ptr<Storage> make_test_store(Clock& clock);
// Returns whether the stores are on a fake etcd.
bool stores_are_on_etcd();

}  // namespace rocklock::testing
