// Columns of text, aligned.
#pragma once

#include <string>
#include <vector>

namespace rocklock {

class Table {
public:
    explicit Table(std::vector<std::string> titles) : rows_{std::move(titles)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

    // One line a row, the titles in bold where that is wanted. Widths count characters, not bytes.
    std::string text(bool colour) const;

private:
    std::vector<std::vector<std::string>> rows_;
};

// Whether stdout takes colour: a terminal, without NO_COLOR and TERM=dumb.
bool stdout_takes_colour();

}  // namespace rocklock
