#include "daemon/cli/screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

namespace rocklock {
namespace {

constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view leave = "\x1b[?25h\x1b[?1049l";

void put(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

// Returns the first `columns` characters of a line. Escape sequences have no width.
std::string_view cut(std::string_view line, std::size_t columns) {
    std::size_t shown = 0;
    bool steering = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const auto byte = static_cast<unsigned char>(line[i]);
        if (byte == 0x1B) steering = true;
        if (!steering && (byte & 0xC0U) != 0x80U && ++shown > columns) return line.substr(0, i);
        if (steering && byte >= 'A' && byte != '[') steering = false;
    }
    return line;
}

}  // namespace

Screen::Screen(bool full_screen) : full_screen_(full_screen) {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) ::sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, &mask_before_);
    signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (!full_screen_) return;
    takes_keys_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (takes_keys_) {
        termios now = before_;
        now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        // Disables Ctrl-Z: a stopped program would leave the terminal in this mode.
        now.c_cc[VSUSP] = _POSIX_VDISABLE;
        ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
    put(enter);
}

Screen::~Screen() {
    if (full_screen_) put(leave);
    if (takes_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    if (signals_ >= 0) ::close(signals_);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

Screen::Size Screen::size() const {
    winsize found{};
    Size size;
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) == 0 && found.ws_row > 0 && found.ws_col > 0) {
        size.lines = found.ws_row;
        size.columns = found.ws_col;
    }
    return size;
}

void Screen::draw(const std::string& text) {
    const auto [lines, columns] = size();
    std::string frame = "\x1b[H";
    std::string_view rest = text;
    for (std::size_t line = 0; line < lines && !rest.empty(); ++line) {
        const auto end = rest.find('\n');
        if (line > 0) frame += "\r\n";
        frame += cut(rest.substr(0, end), columns);
        frame += "\x1b[0m\x1b[K";
        rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    }
    put(frame + "\x1b[J");
}

Wakeup Screen::wait(std::chrono::milliseconds max_wait, int other) {
    // poll() ignores negative descriptors.
    std::array<pollfd, 3> sources{
        {{signals_, POLLIN, 0}, {takes_keys_ ? STDIN_FILENO : -1, POLLIN, 0}, {other, POLLIN, 0}}};
    const int ready = ::poll(sources.data(), sources.size(), static_cast<int>(max_wait.count()));
    if (ready <= 0) return Wakeup::time;
    if (sources[0].revents != 0) {
        signalfd_siginfo info{};
        if (::read(signals_, &info, sizeof info) != sizeof info) return Wakeup::time;
        if (info.ssi_signo == SIGWINCH) return Wakeup::resized;
        signal_ = static_cast<int>(info.ssi_signo);
        return Wakeup::signal;
    }
    if (sources[1].revents == 0) return Wakeup::time;
    if (::read(STDIN_FILENO, &key_, 1) == 1) return Wakeup::key;
    // The terminal was closed.
    takes_keys_ = false;
    signal_ = SIGHUP;
    return Wakeup::signal;
}

}  // namespace rocklock
