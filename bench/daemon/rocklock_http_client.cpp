// A lock client for Rocklock's API as JSON over HTTP.
#include <cstdlib>
#include <utility>

#include "daemon/client.hpp"
#include "daemon/http_answer.hpp"

namespace rocklock::bench {
namespace {

class RocklockHttpClient final : public LockClient {
public:
    explicit RocklockHttpClient(int fd) : LockClient(fd) {
        call("OpenSession", R"({"Principal":"bench"})");
        await();
        proof_ =
            R"({"Session":")" + text_of("Session") + R"(","Secret":")" + text_of("Secret") + '"';
    }

    void ask(const std::string& resource, bool waits) override {
        call("Acquire", proof_ + (waits ? R"(,"PatienceMs":-1)" : "") +
                            R"(,"Locks":[{"Resource":")" + resource + R"("}]})");
    }

    void give_back(const std::string& /*resource*/) override {
        call("Release", proof_ + R"(,"Grant":)" + rest_from("\"Grant\":", ",") + "}");
    }

private:
    void call(std::string_view verb, std::string_view body) {
        send(http_request("Rocklock_20261121." + std::string(verb), {}, body));
    }

    bool take_answer() override {
        const auto answer = take_http_answer(received_);
        if (!answer) return false;
        if (!answer->accepted) give_up("unexpected: " + received_);
        answer_ = answer->body;
        received_.erase(0, answer->bytes);
        return true;
    }

    std::string rest_from(const std::string& begin, std::string_view end) const {
        const auto at = answer_.find(begin);
        if (at == std::string::npos) give_up("unexpected: " + answer_);
        const auto first = at + begin.size();
        return answer_.substr(first, answer_.find(end, first) - first);
    }
    std::string text_of(const std::string& member) const {
        return rest_from('"' + member + "\":\"", "\"");
    }

    // The start of each request's body: the proof of the session.
    std::string proof_;
    std::string answer_;
};

}  // namespace

std::unique_ptr<LockClient> rocklock_http_client(int fd) {
    return std::make_unique<RocklockHttpClient>(fd);
}

}  // namespace rocklock::bench
