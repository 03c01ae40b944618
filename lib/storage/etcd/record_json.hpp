// Reads the members of records that are JSON objects in etcd. A member that is absent or has
// another type has its default value, because another version may have written the record.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <rocklock/clock.hpp>

namespace rocklock::etcd {

// Threads: one.
class RecordJson {
public:
    explicit RecordJson(std::string_view text) {
        boost::system::error_code failed;
        value_ = boost::json::parse(text, failed);
        if (failed || !value_.is_object()) value_ = boost::json::object();
    }

    std::string text(std::string_view name) const {
        const auto* const found = member(name);
        const auto* const text = found != nullptr ? found->if_string() : nullptr;
        return text != nullptr ? std::string(text->begin(), text->end()) : std::string();
    }
    std::int64_t number(std::string_view name) const {
        const auto* const found = member(name);
        return found != nullptr && found->is_int64() ? found->get_int64() : 0;
    }
    bool boolean(std::string_view name) const {
        const auto* const found = member(name);
        return found != nullptr && found->is_bool() && found->get_bool();
    }
    WallTime time(std::string_view name) const {
        return WallTime(std::chrono::milliseconds(number(name)));
    }

private:
    const boost::json::value* member(std::string_view name) const {
        return value_.get_object().if_contains(name);
    }

    boost::json::value value_;
};

}  // namespace rocklock::etcd
