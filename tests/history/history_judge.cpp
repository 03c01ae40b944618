#include "history/history_judge.hpp"

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "history/serial_order.hpp"

namespace rocklock::proof {

namespace {

using std::chrono::steady_clock;

std::chrono::seconds seconds_wanted() {
    const char* text = std::getenv("ROCKLOCK_HISTORY_SECONDS");
    if (text == nullptr) return {};
    const std::string_view view(text);
    std::int64_t wanted = 0;
    std::from_chars(view.data(), view.data() + view.size(), wanted);
    return std::chrono::seconds(wanted);
}

Explanation judge_order(const ClientsRun& run) {
    // After a problem, the history is incomplete.
    BOOST_TEST_REQUIRE(run.problem == "");
    Explanation found = explain(run.history);
    const bool explained = found.verdict == Explanation::Verdict::explained;
    const bool undecided = found.verdict == Explanation::Verdict::undecided;
    BOOST_TEST(explained, (undecided ? "undecided: " : "no order explains it: ") << found.text);
    return found;
}

}  // namespace

void judge_history(const ClientsRun& run) {
    const Explanation found = judge_order(run);
    std::string text = std::to_string(found.operations) + " operations, " +
                       std::to_string(found.reasons) + " reasons, " +
                       std::to_string(found.choices) + " choices, " +
                       std::to_string(found.guesses) + " guesses";
    for (const auto& [name, count] : run.counts) text += ", " + name + " " + std::to_string(count);
    BOOST_TEST_MESSAGE(text);
    for (const char* wanted : {"get done", "batch_get done", "transact_get done", "write done",
                               "write refused", "transact_write done", "transact_write refused"}) {
        BOOST_TEST(run.counts.contains(wanted), wanted << ": there was none");
    }
}

boost::test_tools::assertion_result long_run_wanted(boost::unit_test::test_unit_id /*unit*/) {
    boost::test_tools::assertion_result asked(seconds_wanted().count() > 0);
    asked.message() << "takes minutes: run scripts/serialise";
    return asked;
}

HistorySums::HistorySums()
    : end_(steady_clock::now() + seconds_wanted()),
      first_seed_(std::random_device{}() % 1'000'000) {}

bool HistorySums::over() const { return steady_clock::now() >= end_; }

ClientsOptions HistorySums::next_options() {
    ClientsOptions options;
    options.seed = first_seed_ + static_cast<std::uint32_t>(histories_);
    options.keys = 2 + options.seed % 11;
    return options;
}

void HistorySums::add(const ClientsRun& run) {
    const auto start = steady_clock::now();
    const Explanation found = judge_order(run);
    judging_ += steady_clock::now() - start;
    ++histories_;
    operations_ += found.operations;
    reasons_ += found.reasons;
    choices_ += found.choices;
    guesses_ += found.guesses;
    for (const auto& [name, count] : run.counts) counts_[name] += count;
}

void HistorySums::print() const {
    std::cout << histories_ << " histories of " << operations_ << " operations, with " << reasons_
              << " reasons, " << choices_ << " choices and " << guesses_ << " guesses; judged in "
              << std::chrono::duration<double>(judging_).count() << " s\n";
    for (const auto& [name, count] : counts_) std::cout << "  " << name << ": " << count << '\n';
}

}  // namespace rocklock::proof
