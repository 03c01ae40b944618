// Measures a store with a very large number of held locks. The results are the memory per lock, and
// the time from a restart to the first grant. Each measurement runs in a separate process.
#pragma once

#include <cstddef>
#include <string>

#include <rocklock/database.hpp>

namespace rocklock::bench {

// Whether locks are acquired with request ids, as the client library does over the socket.
enum class RequestIds { without, with };

// Returns the bytes of resident memory per held lock in a store on disk.
double measure_memory(const std::string& folder, std::size_t locks, bool flat,
                      RequestIds ids = RequestIds::without);

// Acquires `locks` locks, whose names are numbered from `first`. Each session has a thousand locks.
// Then detaches all sessions, so that the locks stay held for an hour without any object of this
// program.
void hold_locks(Database& database, std::size_t first, std::size_t locks, bool flat,
                RequestIds ids = RequestIds::without);
// As hold_locks(), for names with '/' and without request ids. It takes less time, because it sends
// requests before earlier ones are answered.
void hold_locks_quickly(Database& database, std::size_t first, std::size_t locks);

// How a process that has filled a store ends: it closes the store, or is killed directly after the
// last acquire, or is killed when the store has been idle for a while.
enum class End { closed, killed, killed_when_idle };
// Fills a store with `locks` locks in a child process, which then ends as `end` specifies. The
// names are numbered from `first`.
void fill_store(const std::string& folder, std::size_t first, std::size_t locks, End end);
// Opens the store in a child process, which ends without closing the store. Returns the seconds
// from the open to the first grant.
double measure_first_grant(const std::string& folder);
// Calls fill_store() and measure_first_grant().
double measure_open(const std::string& folder, std::size_t locks, End end);

// The main function of these child processes. Returns the exit status.
int run_child(int argc, char** argv);

}  // namespace rocklock::bench
