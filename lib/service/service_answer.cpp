#include "service/service_answer.hpp"

#include "wire/json/json_writer.hpp"

namespace rocklock {

ServiceAnswer refusal(int status, std::string_view name, std::string_view message) {
    // The message may contain bytes of the request, but JSON must be UTF-8.
    std::string shown(message);
    for (auto& byte : shown) {
        if (static_cast<unsigned char>(byte) >= 0x80) byte = '?';
    }
    JsonWriter json;
    json.begin_object();
    json.key("__type");
    json.string("rocklock#" + std::string(name));
    json.key("message");
    json.string(shown);
    json.end_object();
    return {status, json_type, {}, json.take()};
}

}  // namespace rocklock
