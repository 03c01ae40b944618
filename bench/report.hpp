// The common part of the benchmark programs: their arguments, and the output of their rows.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "measure.hpp"

namespace rocklock::bench {

// [--quick] [--json] [--rounds N] [--seconds S] [--directory DIR] [--only WORD]
struct CommonOptions {
    // If true, each row is measured only briefly, to check that the program works.
    bool quick = false;
    bool json = false;
    std::size_t rounds = 5;
    // The duration of one measurement.
    std::chrono::milliseconds duration{1000};
    std::string directory;
    // Only rows whose names contain this text are measured.
    std::string only;
};

// Returns the value that follows after the argument that was just read. Ends the program if there
// is no value.
using NextValue = std::function<const char*()>;
// Handles an argument that is not common to all programs. Returns false if the argument is unknown.
using OwnArgument = std::function<bool(std::string_view word, const NextValue& value)>;

// Parses the arguments. If they are wrong, prints the reason and the usage, and ends the program
// with status 2. With --help, prints the usage and ends the program. `own_usage` describes the
// additional arguments of this program.
CommonOptions read_arguments(int argc, char** argv, const std::string& own_usage = {},
                             const OwnArgument& own = {});

// The rows of a run. With --json, prints each row as JSON when it is added. Otherwise, prints each
// row in short form on stderr, and finish() prints the table of all rows.
class Report {
public:
    explicit Report(const CommonOptions& options) : options_(options) {}

    bool wanted(const std::string& name) const { return name.find(options_.only) != name.npos; }
    void add(Row row);
    void finish() const;

private:
    const CommonOptions& options_;
    std::vector<Row> rows_;
};

}  // namespace rocklock::bench
