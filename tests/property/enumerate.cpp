// enumerate [--operations N] [--seconds N] [--exclusive] [--subtrees] [--forced] [--in-full]
//
// Plays every history of 3 owners and 2 resources of up to N operations (default: 6), and prints
// how many there are. --exclusive adds the third mode. --subtrees puts one resource below the
// other. --forced adds steal, break and transfer. --in-full does not merge equal states.
#include <cstdio>
#include <string>

#include "property/histories.hpp"

int main(int argc, char** argv) {
    using namespace rocklock;
    proof::HistoryBounds bounds;
    double seconds = 1e18;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const bool valued = i + 1 < argc;
        if (option == "--operations" && valued) {
            bounds.operations = static_cast<std::uint32_t>(std::stoul(argv[++i]));
        } else if (option == "--seconds" && valued) {
            seconds = std::stod(argv[++i]);
        } else if (option == "--exclusive") {
            bounds.modes.push_back(Mode::exclusive);
        } else if (option == "--subtrees") {
            bounds.subtrees = true;
            bounds.resources = {"a", "a/b"};
        } else if (option == "--forced") {
            bounds.forced = true;
        } else if (option == "--in-full") {
            bounds.merge = false;
        } else {
            std::fprintf(stderr,
                         "enumerate [--operations N] [--seconds N] [--exclusive] [--subtrees] "
                         "[--forced] [--in-full]\n");
            return 2;
        }
    }
    const auto tally = proof::play_every_history(bounds, seconds);
    std::printf("%s\n", tally.text().c_str());
    if (!tally.wrong) return 0;
    std::printf("%s\n", tally.wrong->c_str());
    return 1;
}
