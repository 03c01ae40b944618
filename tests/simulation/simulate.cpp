// simulate [--cluster] --seeds FROM..TO [--seconds N] | simulate [--cluster] --seed N
//
// Simulates the worlds of these seeds, and prints how often each kind of event occurred. The second
// form simulates one world and prints every step. With --cluster, the worlds have several managers.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simulation/world.hpp"

namespace {

int usage() {
    std::fprintf(stderr, "simulate [--cluster] --seeds FROM..TO [--seconds N] | --seed N\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace rocklock::simulation;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    double seconds = 1e18;
    auto kind = WorldKind::one_manager;
    int first = 1;
    if (argc > 1 && std::string(argv[1]) == "--cluster") {
        kind = WorldKind::cluster;
        ++first;
    }
    for (int i = first; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        const std::string value = argv[i + 1];
        if (option == "--seed") {
            Counts counts;
            const auto verdict = play(kind, std::stoull(value), true, counts);
            std::printf("%s%s\n", verdict.trace.c_str(),
                        verdict.wrong ? verdict.wrong->c_str() : "all is well");
            return verdict.wrong ? 1 : 0;
        }
        if (option == "--seeds") {
            const auto dots = value.find("..");
            if (dots == std::string::npos) return usage();
            from = std::stoull(value.substr(0, dots));
            to = std::stoull(value.substr(dots + 2));
        } else if (option == "--seconds") {
            seconds = std::stod(value);
        } else {
            return usage();
        }
    }
    if (to <= from) return usage();
    const auto summary = play_all(kind, from, to, seconds);
    for (const auto& [event, times] : summary.counts) {
        std::printf("%12llu  %s\n", static_cast<unsigned long long>(times), event.c_str());
    }
    std::printf("%llu seeds, %llu steps in %.1f s: %.0f steps a second, %.0f a seed\n",
                static_cast<unsigned long long>(summary.seeds),
                static_cast<unsigned long long>(summary.steps), summary.seconds,
                static_cast<double>(summary.steps) / summary.seconds,
                static_cast<double>(summary.steps) / static_cast<double>(summary.seeds));
    if (!summary.failed) return 0;
    std::printf("%s\nseed %llu: %s\nreplay it: scripts/simulate %s--seed %llu\n",
                summary.failed->trace.c_str(),
                static_cast<unsigned long long>(summary.failed->seed),
                summary.failed->wrong->c_str(), kind == WorldKind::cluster ? "--cluster " : "",
                static_cast<unsigned long long>(summary.failed->seed));
    return 1;
}
