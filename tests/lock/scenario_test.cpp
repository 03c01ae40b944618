// Each script below scenarios/ is two test cases: one on the reference model, and one on the lock
// table, which is compared with the model after each step.
#include "support/scenario/scenario.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

std::vector<std::filesystem::path> scripts() {
    const char* root = std::getenv("ROCKLOCK_SOURCE_ROOT");
    const std::filesystem::path folder =
        std::filesystem::path(root != nullptr ? root : ".") / "tests" / "lock" / "scenarios";
    std::vector<std::filesystem::path> found;
    if (!std::filesystem::is_directory(folder)) return found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".txt") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

// Generates one test case for each script, for one kind of subject.
class Scripts : public boost::unit_test::test_unit_generator {
public:
    explicit Scripts(bool on_model) : on_model_(on_model), scripts_(scripts()) {}

    boost::unit_test::test_unit* next() const override {
        if (next_ >= scripts_.size()) return nullptr;
        const auto script = scripts_[next_++];
        const bool on_model = on_model_;
        return boost::unit_test::make_test_case(
            [script, on_model] {
                using namespace rocklock::proof;
                const auto subject = on_model ? make_model_subject() : make_table_subject();
                for (const auto& wrong : play(script, *subject, !on_model)) BOOST_ERROR(wrong);
            },
            script.stem().string(), script.string(), 1);
    }

private:
    bool on_model_;
    std::vector<std::filesystem::path> scripts_;
    mutable std::size_t next_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_reference_model_follows)
const boost::unit_test::ut_detail::auto_test_unit_registrar model_scripts(
    boost::shared_ptr<boost::unit_test::test_unit_generator>(new Scripts(true)),
    boost::unit_test::decorator::collector_t::instance());
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_lock_table_follows)
const boost::unit_test::ut_detail::auto_test_unit_registrar table_scripts(
    boost::shared_ptr<boost::unit_test::test_unit_generator>(new Scripts(false)),
    boost::unit_test::decorator::collector_t::instance());
BOOST_AUTO_TEST_CASE(scripts_in_the_source_tree) { BOOST_TEST(scripts().size() >= 50u); }
BOOST_AUTO_TEST_SUITE_END()
