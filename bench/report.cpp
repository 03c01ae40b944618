#include "report.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

namespace rocklock::bench {

namespace {

// Reads a number that is greater than 0. Returns 0 if the text is not such a number.
double positive(const char* text) {
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    return end != text && *end == '\0' && value > 0 && value < 1e9 ? value : 0;
}

}  // namespace

CommonOptions read_arguments(int argc, char** argv, const std::string& own_usage,
                             const OwnArgument& own) {
    const auto name = std::filesystem::path(argv[0]).filename().string();
    const auto print_usage = [&](std::ostream& out) {
        out << "usage: " << name << (own_usage.empty() ? "" : " " + own_usage)
            << " [--quick] [--json] [--rounds N] [--seconds S] [--directory DIR] [--only WORD]\n";
    };
    const auto refuse = [&](const std::string& why) {
        std::cerr << name << ": " << why << '\n';
        print_usage(std::cerr);
        std::exit(2);
    };
    CommonOptions options;
    options.directory = std::filesystem::temp_directory_path().string();
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const NextValue value = [&] {
            if (i + 1 == argc) refuse("a value must follow " + std::string(word));
            return argv[++i];
        };
        const auto number = [&] {
            const char* const text = value();
            const double given = positive(text);
            if (given == 0) refuse(std::string(word) + " is '" + text + "'; give a number above 0");
            return given;
        };
        if (word == "--help" || word == "-h") {
            print_usage(std::cout);
            std::exit(0);
        } else if (word == "--quick") {
            options.quick = true;
            options.rounds = 1;
            options.duration = std::chrono::milliseconds{20};
        } else if (word == "--json") {
            options.json = true;
        } else if (word == "--rounds") {
            options.rounds = std::max<std::size_t>(static_cast<std::size_t>(number()), 1);
        } else if (word == "--seconds") {
            const auto milliseconds = static_cast<std::int64_t>(number() * 1000);
            options.duration = std::chrono::milliseconds{std::max<std::int64_t>(milliseconds, 1)};
        } else if (word == "--directory") {
            options.directory = value();
        } else if (word == "--only") {
            options.only = value();
        } else if (!own || !own(word, value)) {
            refuse("unknown argument '" + std::string(word) + "'");
        }
    }
    return options;
}

void Report::add(Row row) {
    if (options_.json) print_json(std::cout, row);
    std::fprintf(stderr, "  %-60s %10.4g (%.4g-%.4g) %s", row.name.c_str(), row.ours.median,
                 row.ours.low, row.ours.high, row.unit.c_str());
    if (!row.against.empty()) std::fprintf(stderr, " %6.2f x", row.ratio.median);
    std::fputc('\n', stderr);
    rows_.push_back(std::move(row));
}

void Report::finish() const {
    if (!options_.json) print_table(std::cout, rows_);
}

}  // namespace rocklock::bench
