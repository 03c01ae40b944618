#include "database/saved_releases.hpp"

namespace rocklock {
namespace {

thread_local SavedReleases* current = nullptr;

}  // namespace

SavedReleases::SavedReleases() : outer_(std::exchange(current, this)) {}

SavedReleases::~SavedReleases() { current = outer_; }

void SavedReleases::add(const SessionId& session, GrantId grant) {
    if (current != nullptr) current->released_.emplace_back(session, grant);
}

}  // namespace rocklock
