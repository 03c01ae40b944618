// A full-screen view on the terminal, with single key presses and signals.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>

namespace rocklock {

// The event that ended a call of wait().
enum class Wakeup : std::uint8_t { time, key, resized, signal };

// Threads:  one thread. The constructor blocks the signals that wait() reports, in the calling
//           thread. Therefore, it must run before other threads are started.
// Lifetime: the destructor restores the terminal and the signal mask.
class Screen {
public:
    // If `full_screen` is true, switches to the alternate screen of the terminal and reads keys.
    // Otherwise, does not read keys.
    explicit Screen(bool full_screen);
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    ~Screen();

    struct Size {
        std::size_t lines = 24;
        std::size_t columns = 80;
    };
    Size size() const;

    // Replaces the content of the screen by the text, cut to the size of the screen.
    void draw(const std::string& text);

    // Waits for an event for at most `max_wait`. Returns `time` after `max_wait`, and also if the
    // descriptor `other` becomes readable. If `other` is negative, it is ignored.
    Wakeup wait(std::chrono::milliseconds max_wait, int other = -1);
    // Return the last key pressed, and the last signal that asks the program to end.
    char key() const { return key_; }
    int signal() const { return signal_; }

private:
    bool full_screen_;
    bool takes_keys_ = false;
    termios before_{};
    sigset_t mask_before_{};
    int signals_ = -1;
    char key_ = 0;
    int signal_ = 0;
};

}  // namespace rocklock
