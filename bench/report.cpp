#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

namespace rocklock::bench {

CommonOptions read_arguments(int argc, char** argv, const std::string& own_usage,
                             const OwnArgument& own) {
    const auto usage = [&] {
        const auto name = std::filesystem::path(argv[0]).filename().string();
        std::cerr << "usage: " << name
                  << " [--quick] [--json] [--rounds N] [--seconds S] [--directory DIR] "
                     "[--only WORD]"
                  << (own_usage.empty() ? "" : " " + own_usage) << "\n";
        std::exit(2);
    };
    CommonOptions options;
    options.directory = std::filesystem::temp_directory_path().string();
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const NextValue value = [&] { return ++i < argc ? argv[i] : (usage(), ""); };
        if (word == "--quick") {
            options.quick = true;
            options.rounds = 1;
            options.duration = std::chrono::milliseconds{20};
        } else if (word == "--json") {
            options.json = true;
        } else if (word == "--rounds") {
            options.rounds = std::max<std::size_t>(std::strtoull(value(), nullptr, 10), 1);
        } else if (word == "--seconds") {
            options.duration =
                std::chrono::milliseconds{static_cast<int>(std::strtod(value(), nullptr) * 1000)};
        } else if (word == "--directory") {
            options.directory = value();
        } else if (word == "--only") {
            options.only = value();
        } else if (!own || !own(word, value)) {
            usage();
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
