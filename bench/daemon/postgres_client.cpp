// Lock clients for PostgreSQL. They send simple queries of PostgreSQL's protocol (version 3.0), and
// use a user without a password.
#include <cstdint>
#include <functional>
#include <utility>

#include "daemon/client.hpp"

namespace rocklock::bench {
namespace {

std::string number_of(const std::string& resource) {
    // Shifted so that the number fits into the key of an advisory lock.
    return std::to_string(std::hash<std::string>{}(resource) >> 2);
}

class PostgresClient final : public LockClient {
public:
    PostgresClient(int fd, bool advisory) : LockClient(fd), advisory_(advisory) {
        static constexpr char start[] = "\0\3\0\0user\0postgres\0database\0postgres\0";
        send(message(0, std::string(start, sizeof start)));
        await();
        if (advisory_) return;
        query("CREATE TABLE IF NOT EXISTS locks (name text PRIMARY KEY)");
        await();
    }

    void ask(const std::string& resource, bool /*waits*/) override {
        if (advisory_) return query("SELECT pg_advisory_lock(" + number_of(resource) + ")");
        // The first request of the client inserts the row of its resource.
        if (!std::exchange(inserted_, true)) {
            query("INSERT INTO locks VALUES ('" + resource + "') ON CONFLICT DO NOTHING");
            await();
        }
        query("BEGIN; SELECT 1 FROM locks WHERE name = '" + resource + "' FOR UPDATE");
    }

    void give_back(const std::string& resource) override {
        query(advisory_ ? "SELECT pg_advisory_unlock(" + number_of(resource) + ")" : "COMMIT");
    }

private:
    static std::string message(char kind, const std::string& body) {
        std::string bytes;
        if (kind != 0) bytes += kind;
        const auto size = static_cast<std::uint32_t>(body.size() + 4);
        for (int shift = 24; shift >= 0; shift -= 8) {
            bytes += static_cast<char>(size >> shift & 0xff);
        }
        return bytes + body;
    }

    void query(const std::string& text) { send(message('Q', text + '\0')); }

    // Removes all messages up to "ready for query".
    bool take_answer() override {
        while (received_.size() >= 5) {
            std::uint32_t size = 0;
            for (std::size_t i = 1; i < 5; ++i) {
                size = size << 8 | static_cast<unsigned char>(received_[i]);
            }
            if (received_.size() < size + 1U) return false;
            const char kind = received_.front();
            if (kind == 'E') give_up("PostgreSQL says: " + received_.substr(5, size - 4));
            received_.erase(0, size + 1U);
            if (kind == 'Z') return true;
        }
        return false;
    }

    const bool advisory_;
    bool inserted_ = false;
};

}  // namespace

std::unique_ptr<LockClient> postgres_row_client(int fd) {
    return std::make_unique<PostgresClient>(fd, false);
}
std::unique_ptr<LockClient> postgres_advisory_client(int fd) {
    return std::make_unique<PostgresClient>(fd, true);
}

}  // namespace rocklock::bench
