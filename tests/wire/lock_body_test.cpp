// The direct reader accepts only calls that the general reader reads in the same way.
#include "wire/json/lock_body.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/types.hpp>

#include "wire/call.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

constexpr std::string_view session = "AAECAwQFBgcICQoLDA0ODw";
constexpr std::string_view secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

template <typename Body>
std::optional<Call> read_directly(std::string_view json) {
    Body body;
    Secret proof;
    if (!read_usual_body(json, body, proof)) return std::nullopt;
    return Call{std::move(body), proof, {}};
}

// Reads the call with the general reader. The direct reader refuses names with escapes.
template <typename Body>
std::optional<Call> read_in_general(std::string json) {
    constexpr std::string_view name = "\"Session\"";
    const auto at = json.find(name);
    BOOST_REQUIRE(at != std::string::npos);
    json.replace(at, name.size(), R"("\u0053ession")");
    BOOST_TEST(!read_directly<Body>(json).has_value());
    auto call = read_call(Call{Body{}, {}, {}}, json);
    if (!call) return std::nullopt;
    return *std::move(call);
}

// Checks that the direct reader refuses the body or reads it as the general reader does. Returns
// whether it accepts the body.
template <typename Body>
bool is_read_alike(const std::string& json) {
    const auto direct = read_directly<Body>(json);
    if (!direct) return false;
    const auto general = read_in_general<Body>(json);
    BOOST_TEST_REQUIRE(general.has_value(), json);
    BOOST_TEST(write_call(*direct) == write_call(*general), json);
    return true;
}

class Bodies {
public:
    explicit Bodies(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

    std::string acquire() {
        std::vector<std::string> members = proof();
        members.push_back(member("Locks", locks()));
        const std::vector<std::string> patience{"0", "-1", "5000", "31536000000"};
        if (below(2) == 0) members.push_back(member("PatienceMs", patience[below(4)]));
        if (below(2) == 0) members.push_back(member("RequestId", text()));
        if (below(2) == 0) members.push_back(member("Note", text()));
        return object(std::move(members));
    }
    std::string release() {
        std::vector<std::string> members = proof();
        const auto grant = below(2) == 0 ? below(100) : random_() >> 11;
        members.push_back(member("Grant", std::to_string(grant)));
        return object(std::move(members));
    }
    std::string renewal() { return object(proof()); }

    std::string changed(std::string json) {
        constexpr std::string_view likely = "\"\\{}[],:-.0123456789eESsM \x1F\x7F\xC3\xA4";
        for (auto left = 1 + below(3); left > 0; --left) {
            const auto at = below(json.size());
            const char byte =
                below(2) == 0 ? likely[below(likely.size())] : static_cast<char>(below(256));
            switch (below(4)) {
                case 0:
                    json.erase(at, 1);
                    break;
                case 1:
                    json.insert(at, 1, byte);
                    break;
                case 2: {
                    // Some members occur twice.
                    const auto size = below(json.size() - at) + 1;
                    json.insert(at, json.substr(at, size));
                    break;
                }
                default:
                    json[at] = byte;
            }
        }
        return json;
    }

private:
    std::string gap() {
        constexpr std::string_view spaces = " \n\r\t";
        std::string gap;
        for (auto size = below(8); size > 5; --size) gap += spaces[below(spaces.size())];
        return gap;
    }
    std::string text() {
        std::string text(below(30), '\0');
        for (char& byte : text) {
            do {
                byte = static_cast<char>(' ' + below(96));
            } while (byte == '"' || byte == '\\');
        }
        return '"' + text + '"';
    }
    std::string member(std::string_view name, const std::string& value) {
        return gap() + '"' + std::string(name) + '"' + gap() + ":" + gap() + value + gap();
    }
    std::vector<std::string> proof() {
        return {member("Session", '"' + std::string(session) + '"'),
                member("Secret", '"' + std::string(secret) + '"')};
    }
    std::string object(std::vector<std::string> members) {
        std::shuffle(members.begin(), members.end(), random_);
        std::string text;
        for (const auto& each : members) text += (text.empty() ? "" : ",") + each;
        return gap() + "{" + text + gap() + "}" + gap();
    }
    std::string locks() {
        std::string text;
        for (auto left = below(4); left > 0; --left) {
            std::vector<std::string> members{member("Resource", this->text())};
            const std::vector<std::string> modes{R"("read")", R"("write")", R"("exclusive")"};
            if (below(2) == 0) members.push_back(member("Mode", modes[below(3)]));
            if (below(4) == 0) members.push_back(member("Subtree", below(2) ? "true" : "false"));
            text += (text.empty() ? "" : ",") + object(std::move(members));
        }
        return "[" + text + gap() + "]";
    }

    std::mt19937_64 random_;
};

template <typename Body>
bool accepts(std::string_view rest) {
    return read_directly<Body>(R"({"Session":")" + std::string(session) + R"(","Secret":")" +
                               std::string(secret) + '"' + std::string(rest) + "}")
        .has_value();
}

BOOST_AUTO_TEST_SUITE(lock_body)

BOOST_AUTO_TEST_CASE(usual_calls_are_read_like_by_the_general_reader) {
    Bodies bodies(1);
    for (int i = 0; i < 3000; ++i) {
        BOOST_TEST(is_read_alike<Acquire>(bodies.acquire()));
        BOOST_TEST(is_read_alike<Release>(bodies.release()));
        BOOST_TEST(is_read_alike<RenewSession>(bodies.renewal()));
    }
}

BOOST_AUTO_TEST_CASE(changed_calls_are_refused_or_read_like_by_the_general_reader) {
    Bodies bodies(2);
    int accepted = 0;
    for (int i = 0; i < 20'000; ++i) {
        accepted += is_read_alike<Acquire>(bodies.changed(bodies.acquire())) ? 1 : 0;
        accepted += is_read_alike<Release>(bodies.changed(bodies.release())) ? 1 : 0;
        accepted += is_read_alike<RenewSession>(bodies.changed(bodies.renewal())) ? 1 : 0;
    }
    // Many changes concern a name or a note, or only spaces.
    BOOST_TEST(accepted > 1000);
}

BOOST_AUTO_TEST_CASE(other_members_and_values_are_left_to_the_general_reader) {
    const std::string lock = R"(,"Locks":[{"Resource":"a"}])";
    BOOST_TEST(accepts<Acquire>(lock));
    for (const auto* rest : {R"(,"PatienceMs":-10)",
                             R"(,"PatienceMs":-1.5)",
                             R"(,"PatienceMs":-1e2)",
                             R"(,"PatienceMs":-0)",
                             R"(,"PatienceMs":1,"PatienceMs":1)",
                             R"(,"RequestId":"a","RequestId":"a")",
                             R"(,"Note":"a","Note":"a")",
                             R"(}x)",
                             R"(}{)",
                             R"(,"Secret":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")",
                             R"(,"Held":"join")",
                             R"(,"MaxHoldMs":1)",
                             R"(,"Any":true)",
                             R"(,"PatienceMs":-2)",
                             R"(,"PatienceMs":1.0)",
                             R"(,"PatienceMs":1e3)",
                             R"(,"PatienceMs":01)",
                             R"(,"PatienceMs":31536000001)",
                             R"(,"PatienceMs":"1")",
                             R"(,"Note":null)",
                             R"(,"Session":"AAECAwQFBgcICQoLDA0ODw")",
                             R"(,"Locks":[])"}) {
        BOOST_TEST(!accepts<Acquire>(lock + rest), rest);
    }
    for (const auto* rest :
         {"", R"(,"Locks":[{}])", R"(,"Locks":[{"Resource":"a","Mode":"shared"}])",
          R"(,"Locks":[{"Resource":"a","To":"edit"}])",
          R"(,"Locks":[{"Resource":"a","Permits":1}])",
          R"(,"Locks":[{"Resource":"a","Resource":"b"}])",
          R"(,"Locks":[{"Resource":"a","Mode":"read","Mode":"read"}])",
          R"(,"Locks":[{"Resource":"a","Subtree":true,"Subtree":true}])",
          R"(,"Locks":[{"Resource":"a"},])", R"(,"Locks":{"Resource":"a"})",
          R"(,"Locks":[{"Resource":"\u0061"}])"}) {
        BOOST_TEST(!accepts<Acquire>(rest), rest);
    }
    BOOST_TEST(accepts<Release>(R"(,"Grant":9007199254740991)"));
    for (const auto* rest : {"", R"(,"Grant":9007199254740992)", R"(,"Grant":-1)",
                             R"(,"Grant":99999999999999999999)", R"(,"Grant":1,"Grant":1)"}) {
        BOOST_TEST(!accepts<Release>(rest), rest);
    }
    BOOST_TEST(!accepts<RenewSession>(R"(,"LeaseMs":1000)"));
    Secret proof;
    RenewSession renewal;
    BOOST_TEST(!read_usual_body(R"({"Session":"AAECAwQFBgcICQoLDA0ODw"})", renewal, proof));
    BOOST_TEST(!read_usual_body("", renewal, proof));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
