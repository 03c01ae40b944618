// Lock clients for Redis and memcached.
#include <array>

#include "daemon/client.hpp"

namespace rocklock::bench {
namespace {

class RedisClient final : public LockClient {
public:
    using LockClient::LockClient;

    void ask(const std::string& resource, bool waits) override {
        waits_ = waits;
        asks_ = true;
        if (waits) return send("*3\r\n$5\r\nBLPOP\r\n$4\r\nlock\r\n$1\r\n0\r\n");
        send("*6\r\n$3\r\nSET\r\n" + bulk(resource) +
             "$5\r\nbench\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n");
    }

    void give_back(const std::string& resource) override {
        asks_ = false;
        if (waits_) return send("*3\r\n$5\r\nRPUSH\r\n$4\r\nlock\r\n$1\r\n1\r\n");
        send("*2\r\n$3\r\nDEL\r\n" + bulk(resource));
    }

private:
    static std::string bulk(const std::string& word) {
        return "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }

    bool take_answer() override {
        static constexpr std::string_view popped = "*2\r\n$4\r\nlock\r\n$1\r\n1\r\n";
        if (asks_ && waits_) {
            if (received_.size() < popped.size()) return false;
            if (received_ != popped) give_up("unexpected: " + received_);
            received_.clear();
            return true;
        }
        if (!waits_) return take_line(asks_ ? "+OK" : ":1");
        // The response to RPUSH is the length of the list: 0 if another client was waiting.
        const auto end = received_.find("\r\n");
        if (end == std::string::npos) return false;
        received_.erase(0, end + 2);
        return true;
    }

    bool waits_ = false;
    bool asks_ = false;
};

class MemcachedClient final : public LockClient {
public:
    using LockClient::LockClient;

    void ask(const std::string& resource, bool /*waits*/) override {
        asks_ = true;
        send("add " + resource + " 0 30 5\r\nbench\r\n");
    }

    void give_back(const std::string& resource) override {
        asks_ = false;
        send("delete " + resource + "\r\n");
    }

private:
    bool take_answer() override { return take_line(asks_ ? "STORED" : "DELETED"); }

    bool asks_ = false;
};

}  // namespace

std::unique_ptr<LockClient> redis_client(int fd) { return std::make_unique<RedisClient>(fd); }
std::unique_ptr<LockClient> memcached_client(int fd) {
    return std::make_unique<MemcachedClient>(fd);
}

}  // namespace rocklock::bench
