// Clients that die while they hold a lock.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <variant>

#include "scenarios/all.hpp"
#include "scenarios/lockers.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t mortal_resources = 16;
constexpr std::chrono::milliseconds lease{300};
constexpr std::chrono::microseconds hold_time{1000};

// A client with its own connection and session. It abandons both as a killed process does.
class Mortal {
public:
    Mortal(const std::string& socket, Bound bound) : socket_(socket), bound_(bound) { be_born(); }
    Mortal(const Mortal&) = delete;
    Mortal& operator=(const Mortal&) = delete;
    ~Mortal() = default;

    void take_and_release(const std::string& resource, bool dies) {
        AcquireOptions options;
        options.patience = no_limit;
        Guard guard = must(session_.acquire(resource, options), "acquire");
        hold(hold_time);
        if (!dies) {
            must(guard.release(), "release");
            return;
        }
        guard.detach();
        session_.detach();
        be_born();
    }

private:
    void be_born() {
        // Closes the previous connection.
        database_.emplace(must(Database::connect(socket_), "connect"));
        OpenSession open;
        open.principal = "mortal";
        open.lease = lease;
        open.bound = bound_;
        const auto info = opened(std::move(open));
        session_ = must(database_->resume_session({info.id, info.secret}), "take up the session");
    }

    SessionInfo opened(OpenSession open) {
        std::promise<Result<Answer>> answer;
        database_->service().submit(
            std::move(open), [&](Result<Answer> said) { answer.set_value(std::move(said)); });
        return std::get<SessionInfo>(must(answer.get_future().get(), "open a session"));
    }

    const std::string socket_;
    const Bound bound_;
    std::optional<Database> database_;
    Session session_;
};

Contender of_mortals(const std::string& socket, const std::string& name, Bound bound,
                     std::size_t deaths, std::chrono::milliseconds duration) {
    return {name, [=] {
                static std::atomic<int> rounds{0};
                // Each round uses new names, because dead clients of the previous round may still
                // hold some of the old ones.
                const std::string prefix = "round-" + std::to_string(++rounds) + "/";
                std::vector<std::unique_ptr<Mortal>> mortals;
                std::vector<std::mt19937_64> random;
                for (std::size_t i = 0; i < usual_clients; ++i) {
                    mortals.push_back(std::make_unique<Mortal>(socket, bound));
                    random.emplace_back(i + 1);
                }
                return work_without(usual_clients, duration, [&](std::size_t thread) {
                    const auto resource = random[thread]() % mortal_resources;
                    mortals[thread]->take_and_release(prefix + std::to_string(resource),
                                                      random[thread]() % 100 < deaths);
                });
            }};
}

void run_deaths(Setting& setting) {
    const Server* const daemon = setting.server("Rocklock, written");
    if (daemon == nullptr) give_up("start the daemon", "it cannot be started");
    const auto duration = setting.few(std::chrono::milliseconds{1000}, setting.duration());
    for (const std::string& deaths : setting.some<std::string>({"0", "1", "5", "20"})) {
        const auto share = static_cast<std::size_t>(std::stoul(deaths));
        const auto rounds = setting.measure(
            deaths,
            {served_by(daemon, of_mortals(daemon->socket(), "freed with the closed connection",
                                          Bound::connection, share, duration)),
             served_by(daemon, of_mortals(daemon->socket(), "freed when the lease of 300 ms ends",
                                          Bound::none, share, duration))},
            {{"rate", rate_of}, {"late", one_of_a_hundred_of}});
        setting.compare(
            {deaths + " of 100 die: freed with the connection", "times held/s", "with the lease"},
            rounds[0], rounds[1]);
    }
}

}  // namespace

Scenario deaths() {
    const std::string x = "holders that die, percent";
    return {
        "deaths",
        "Holders that die",
        "Sixteen clients of a daemon repeatedly hold one of sixteen resources for a millisecond. "
        "Some of them die while they hold it, and new clients replace them. A lease ends 300 ms "
        "after its last renewal, and the resource is unavailable until then. A session that is "
        "bound to its connection ends when the kernel closes the connection of the dead process.",
        {{"rate", "Work of the clients of a daemon while some clients die, written", x,
          Scale::linear, "times held, a second", Scale::log, "more"},
         {"late", "Time from the request to the end of the work, 99th percentile", x, Scale::linear,
          "microseconds", Scale::log, "less"}},
        run_deaths};
}

}  // namespace rocklock::bench
