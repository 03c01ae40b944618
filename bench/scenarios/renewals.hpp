// The child process of the scenario `renewals`.
#pragma once

namespace rocklock::bench {

// The main function of a child process with the arguments "sessions", the path of a daemon's
// socket, a number of sessions, and their lease in milliseconds. It opens the sessions, sends their
// number to its parent, and renews them until it receives SIGTERM. It then closes them.
int run_sessions_child(int argc, char** argv);

}  // namespace rocklock::bench
