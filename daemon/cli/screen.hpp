// The terminal, taken for a while: a screen of its own, keys as they are pressed, and signals.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>

namespace rocklock {

// What ended a wait.
enum class Wakeup : std::uint8_t { time, key, resized, signal };

// Threads:  one thread; the signals it waits for are blocked in the thread that makes it, so it is
//           made before any other thread.
// Lifetime: gives the terminal back as it was.
class Screen {
public:
    // `whole`: draws over a screen of its own. Otherwise only signals are waited for.
    explicit Screen(bool whole);
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    ~Screen();

    struct Size {
        std::size_t lines = 24;
        std::size_t columns = 80;
    };
    Size size() const;

    // Shows the text, cut to the screen, in place of what was there.
    void draw(const std::string& text);

    // Also until `other` is readable, which counts as `time`; negative: none.
    Wakeup wait(std::chrono::milliseconds longest, int other = -1);
    // The last one pressed, and the signal that asks to leave.
    char key() const { return key_; }
    int signal() const { return signal_; }

private:
    bool whole_;
    bool takes_keys_ = false;
    termios before_{};
    sigset_t mask_before_{};
    int signals_ = -1;
    char key_ = 0;
    int signal_ = 0;
};

}  // namespace rocklock
