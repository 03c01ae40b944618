// What the programs of bench/ have in common: their arguments, and how their rows are told.
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
    // A moment each, to see that it works.
    bool quick = false;
    bool json = false;
    std::size_t rounds = 5;
    // Of one measurement.
    std::chrono::milliseconds duration{1000};
    std::string directory;
    // Only rows with this in their name.
    std::string only;
};

// The value of the argument that was just read.
using NextValue = std::function<const char*()>;
// Takes an argument that not all programs have; false where there is no such one.
using OwnArgument = std::function<bool(std::string_view word, const NextValue& value)>;

// Says how the program is called, and ends it, where the arguments are wrong. `own_usage` names the
// arguments of this program alone.
CommonOptions read_arguments(int argc, char** argv, const std::string& own_usage = {},
                             const OwnArgument& own = {});

// The rows of a run. Each is told when it is there: as JSON, or in short on stderr with the table
// of all of them at the end.
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
