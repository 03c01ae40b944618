// A table of text with aligned columns.
#pragma once

#include <string>
#include <vector>

namespace rocklock {

class TextTable {
public:
    explicit TextTable(std::vector<std::string> titles) : rows_{std::move(titles)} {}
    // A row may have fewer cells than there are titles, but not more.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

    // Returns one line with the titles and one line for each row. If `colour` is true, the titles
    // are bold. The width of a cell is its number of UTF-8 characters, not its number of bytes.
    std::string text(bool colour) const;

private:
    std::vector<std::vector<std::string>> rows_;
};

// Returns true if stdout is a terminal, NO_COLOR is unset or empty, and TERM is not "dumb".
bool stdout_takes_colour();

}  // namespace rocklock
