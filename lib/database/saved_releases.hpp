// Collects the grants that writes have released (AfterSave::release), so that a server can report
// these grants to its client.
#pragma once

#include <utility>
#include <vector>

#include <rocklock/types.hpp>

namespace rocklock {

// While this object exists, it collects the grants that are released by writes on the thread that
// created the object.
//
// Threads: one thread: the thread that creates the object. If a thread has several objects, they
//          must be destroyed in the reverse order of their creation, and only the newest object
//          collects.
class SavedReleases {
public:
    SavedReleases();
    SavedReleases(const SavedReleases&) = delete;
    SavedReleases& operator=(const SavedReleases&) = delete;
    ~SavedReleases();

    const std::vector<std::pair<SessionId, GrantId>>& released() const { return released_; }

    // Adds a grant to the newest object of the calling thread, if there is one.
    static void add(const SessionId& session, GrantId grant);

private:
    SavedReleases* const outer_;
    std::vector<std::pair<SessionId, GrantId>> released_;
};

}  // namespace rocklock
