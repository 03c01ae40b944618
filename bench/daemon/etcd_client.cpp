// A lock client for etcd that uses the JSON gateway of its API (version 3) over HTTP/1.1 with
// keep-alive.
#include <cstdlib>

#include <openssl/evp.h>

#include "daemon/client.hpp"

namespace rocklock::bench {
namespace {

std::string base64(const std::string& bytes) {
    std::string text(4 * (bytes.size() / 3 + 1) + 1, '\0');
    const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                       reinterpret_cast<const unsigned char*>(bytes.data()),
                                       static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

class EtcdClient final : public LockClient {
public:
    explicit EtcdClient(int fd) : LockClient(fd) {
        post("lease/grant", R"({"TTL":"60"})");
        await();
        lease_ = text_after(R"("ID":")");
    }

    void ask(const std::string& resource, bool waits) override {
        waits_ = waits;
        const auto key = base64(resource);
        if (waits) {
            return post("lock/lock", R"({"name":")" + key + R"(","lease":")" + lease_ + R"("})");
        }
        post("kv/txn", R"({"compare":[{"target":"CREATE","createRevision":"0","key":")" + key +
                           R"("}],"success":[{"requestPut":{"key":")" + key +
                           R"(","value":"YmVuY2g=","lease":")" + lease_ + R"("}}]})");
    }

    void give_back(const std::string& resource) override {
        if (waits_) return post("lock/unlock", R"({"key":")" + text_after(R"("key":")") + R"("})");
        if (answer_.find(R"("succeeded":true)") == std::string::npos) {
            give_up("unexpected: " + answer_);
        }
        post("kv/deleterange", R"({"key":")" + base64(resource) + R"("})");
    }

private:
    void post(const std::string& path, const std::string& body) {
        send("POST /v3/" + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body);
    }

    bool take_answer() override {
        static constexpr std::string_view length = "Content-Length: ";
        const auto end = received_.find("\r\n\r\n");
        if (end == std::string::npos) return false;
        if (!received_.starts_with("HTTP/1.1 200")) give_up("etcd says: " + received_);
        const auto begin = end + 4;
        const auto at = received_.find(length);
        if (at < end) {
            const auto size = std::strtoul(received_.c_str() + at + length.size(), nullptr, 10);
            if (received_.size() < begin + size) return false;
        } else if (!received_.ends_with("\r\n0\r\n\r\n")) {
            return false;
        }
        answer_ = received_.substr(begin);
        received_.clear();
        return true;
    }

    std::string text_after(const std::string& name) const {
        const auto at = answer_.find(name);
        if (at == std::string::npos) give_up("etcd did not say " + name + ": " + answer_);
        const auto begin = at + name.size();
        return answer_.substr(begin, answer_.find('"', begin) - begin);
    }

    std::string lease_;
    std::string answer_;
    bool waits_ = false;
};

}  // namespace

std::unique_ptr<LockClient> etcd_client(int fd) { return std::make_unique<EtcdClient>(fd); }

}  // namespace rocklock::bench
