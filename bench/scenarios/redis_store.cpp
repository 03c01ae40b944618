#include "scenarios/redis_store.hpp"

#include <algorithm>
#include <cstdlib>

#include "lock/contestants.hpp"

namespace rocklock::bench {
namespace {

// The number of requests that are sent before the first response is read.
constexpr std::size_t at_once = 1000;

std::string text_of(const std::vector<std::string>& words) {
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
        text.append("$").append(std::to_string(word.size())).append("\r\n");
        text.append(word).append("\r\n");
    }
    return text;
}

}  // namespace

void RedisStore::fill(std::size_t count, std::optional<WallTime> end) {
    for (std::size_t first = 0; first < count; first += at_once) {
        const std::size_t last = std::min(first + at_once, count);
        std::string requests;
        for (std::size_t i = first; i < last; ++i) {
            std::vector<std::string> words = {"SET", name_of(i, true), "worker"};
            if (end) {
                words.insert(words.end(),
                             {"PXAT", std::to_string(end->time_since_epoch().count())});
            }
            requests += text_of(words);
        }
        send(requests);
        for (std::size_t i = first; i < last; ++i) {
            if (const auto said = await_answer(); said != "+OK") give_up("Redis says: " + said);
        }
    }
}

std::uint64_t RedisStore::keys() {
    ask({"DBSIZE"});
    const auto said = await_answer();
    if (!said.starts_with(":")) give_up("Redis says: " + said);
    return std::strtoull(said.c_str() + 1, nullptr, 10);
}

void RedisStore::save() {
    ask({"SAVE"});
    if (const auto said = await_answer(); said != "+OK") give_up("Redis says: " + said);
}

bool RedisStore::answers() {
    // The response is one line, whether the name is free or not.
    ask({"SETNX", "a name that may be free", "first"});
    const auto said = await_answer();
    if (said.starts_with("-LOADING")) return false;
    if (!said.starts_with(":")) give_up("Redis says: " + said);
    return true;
}

void RedisStore::ask(const std::vector<std::string>& words) { send(text_of(words)); }

std::string RedisStore::await_answer() {
    await();
    return answer_;
}

// Each request of this class has a response of one line.
bool RedisStore::take_answer() {
    const auto end = received_.find("\r\n");
    if (end == std::string::npos) return false;
    answer_ = received_.substr(0, end);
    received_.erase(0, end + 2);
    return true;
}

}  // namespace rocklock::bench
