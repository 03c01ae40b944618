#include "scenarios/left_store.hpp"

#include <chrono>
#include <filesystem>
#include <system_error>

namespace rocklock::bench {
namespace {

namespace files = std::filesystem;

// A copy of a store, which the destructor removes.
class Copy {
public:
    Copy(const std::string& store, std::string path) : path_(std::move(path)) {
        // Also copies the permissions.
        files::create_directory(path_, store);
        for (const auto& entry : files::recursive_directory_iterator(store)) {
            const files::path to = path_ / entry.path().lexically_relative(store);
            if (entry.is_directory()) {
                files::create_directory(to, entry.path());
            } else if (entry.path().extension() == ".sst") {
                // RocksDB does not change these files after it has written them.
                files::create_hard_link(entry.path(), to);
            } else {
                files::copy_file(entry.path(), to);
            }
        }
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    ~Copy() {
        std::error_code ignored;
        files::remove_all(path_, ignored);
    }

    std::string path() const { return path_.string(); }

private:
    const files::path path_;
};

}  // namespace

Sample sample_of(double seconds) {
    Sample sample;
    sample.seconds = seconds;
    sample.done = {1};
    return sample;
}

double seconds_of(const Sample& sample) { return sample.seconds; }

std::string short_of(std::size_t count) {
    if (count >= 1'000'000) return std::to_string(count / 1'000'000) + "M";
    return std::to_string(count / 1'000) + "k";
}

LeftStore::LeftStore(Setting& setting, std::size_t first, std::size_t locks, End end)
    : setting_(setting), folder_(setting.folder()), path_(folder_ + "/store") {
    fill_store(path_, first, locks, end);
}

Sample LeftStore::open_embedded() const {
    const Copy copy(path_, folder_ + "/copy");
    return sample_of(measure_first_grant(copy.path()));
}

Sample LeftStore::start_daemon() const {
    const Contestant contestant = setting_.contestant("Rocklock, written", folder_);
    // The daemon expects its store in this folder.
    const Copy copy(path_, folder_ + "/wr");
    const auto start = std::chrono::steady_clock::now();
    const Server server(contestant);
    if (!server.why_not().empty()) give_up("start the daemon", server.why_not());
    const auto client = server.connect();
    client->ask("a name that is free", false);
    client->await();
    return sample_of(seconds_since(start));
}

}  // namespace rocklock::bench
