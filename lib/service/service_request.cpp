#include "service/service_request.hpp"

#include "base/equal_ignoring_case.hpp"

namespace rocklock {
namespace {

// Compares the media type without its parameters.
bool is_of_type(std::string_view content_type, std::string_view wanted) {
    if (content_type == wanted) return true;
    auto type = content_type.substr(0, content_type.find(';'));
    while (type.ends_with(' ')) type.remove_suffix(1);
    return equal_ignoring_case(type, wanted);
}

}  // namespace

bool is_json(std::string_view content_type) {
    return is_sdk_json(content_type) || is_of_type(content_type, "application/json");
}

bool is_sdk_json(std::string_view content_type) {
    return is_of_type(content_type, "application/x-amz-json-1.0");
}

}  // namespace rocklock
