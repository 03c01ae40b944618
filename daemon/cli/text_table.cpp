#include "daemon/cli/text_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace rocklock {
namespace {

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    }));
}

}  // namespace

std::string TextTable::text(bool colour) const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    std::string text;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i > 0) line += "  ";
            line += row[i] + std::string(widths[i] - width_of(row[i]), ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        const bool bold = colour && &row == &rows_.front();
        text += bold ? "\x1b[1m" + line + "\x1b[0m\n" : line + "\n";
    }
    return text;
}

bool stdout_takes_colour() {
    const char* no_colour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
           (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace rocklock
