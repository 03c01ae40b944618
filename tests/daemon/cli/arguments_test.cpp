#include "daemon/cli/arguments.hpp"

#include <boost/test/unit_test.hpp>

using rocklock::parse_arguments;
using rocklock::Verb;

namespace {

const Verb verb{.name = "run",
                .operands = "NAME... -- COMMAND",
                .summary = "Runs.",
                .example = "rocklock run a -- b",
                .options = {{"lease", "DURATION", "how long"},
                            {"json", "", "as JSON"},
                            {"E", "N", "status", false, false, "status"},
                            {"shared", "", "for reading", false, false, "s"},
                            {"command", "COMMAND", "for the shell", false, false, "c"},
                            {"inner", "", ""}},
                .min_operands = 1,
                .max_operands = -1,
                .takes_command = true};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_command_line)

BOOST_AUTO_TEST_CASE(is_split_into_options_operands_and_command) {
    const auto read = parse_arguments(
        verb, {"a", "--lease", "3s", "-E", "4", "--json", "b", "--", "c", "--json"});
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->get("lease").value() == "3s");
    BOOST_TEST(read->get("E").value() == "4");
    BOOST_TEST(read->has("json"));
    BOOST_TEST((read->operands == std::vector<std::string>{"a", "b"}));
    BOOST_TEST((read->command == std::vector<std::string>{"c", "--json"}));
}

// One of 64 ids begins with a dash.
BOOST_AUTO_TEST_CASE(accepts_the_id_of_a_session_that_begins_with_a_dash) {
    const auto read = parse_arguments(verb, {"-DEaNZRDRjL7S0PopKm_Kg", "--", "c"});
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST((read->operands == std::vector<std::string>{"-DEaNZRDRjL7S0PopKm_Kg"}));
    BOOST_TEST(!parse_arguments(verb, {"-DEaNZRDRjL7S0PopKm", "--", "c"}).has_value());
}

BOOST_AUTO_TEST_CASE(accepts_a_value_after_an_equals_sign) {
    const auto read = parse_arguments(verb, {"--lease=1=2", "a", "--", "c"});
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->get("lease").value() == "1=2");
}

BOOST_AUTO_TEST_CASE(has_options_with_several_names) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"-s", "-E", "4"}, {"-sE4"}, {"-sE", "4"}, {"--shared", "--status=4"}}) {
        auto line = words;
        line.insert(line.end(), {"a", "--", "c"});
        const auto read = parse_arguments(verb, line);
        BOOST_REQUIRE(read.has_value());
        BOOST_TEST(read->has("shared"));
        BOOST_TEST(read->get("E").value() == "4");
    }
}

BOOST_AUTO_TEST_CASE(can_have_the_command_as_a_value) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"a", "-c", "x y"}, {"-c", "x y", "a"}, {"--command=x y", "--", "a"}}) {
        const auto read = parse_arguments(verb, words);
        BOOST_REQUIRE(read.has_value());
        BOOST_TEST(read->get("command").value() == "x y");
        BOOST_TEST((read->operands == std::vector<std::string>{"a"}));
    }
}

BOOST_AUTO_TEST_CASE(is_refused_with_advice) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"a"},
             {"a", "--"},
             {"--", "c"},
             {"--leese", "3s", "a", "--", "c"},
             {"-lease", "3s", "a", "--", "c"},
             {"--E", "3", "a", "--", "c"},
             {"a", "--lease"},
             {"-sx", "a", "--", "c"},
             {"-cs", "a"},
             {"a", "-c", "b", "--", "c"},
             {"--json=x", "a", "--", "c"},
         }) {
        const auto read = parse_arguments(verb, words);
        BOOST_REQUIRE(!read.has_value());
        BOOST_TEST(read.error().message.find("rocklock run --help") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(lists_every_documented_option_in_its_help) {
    const auto text = help_text(verb);
    BOOST_TEST(text.find("--lease DURATION") != std::string::npos);
    BOOST_TEST(text.find("-E, --status N") != std::string::npos);
    BOOST_TEST(text.find("inner") == std::string::npos);
    BOOST_TEST(text.find("rocklock run a -- b") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
