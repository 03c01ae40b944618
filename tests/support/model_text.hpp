// Names, patterns and texts of requests, as the reference model judges them. Written apart from the
// library on purpose: the model shares no code with what it checks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock::proof::model {

// Whether a path lies below another one.
bool below(std::string_view path, std::string_view ancestor);
bool pattern_matches(std::string_view pattern, std::string_view resource);
// For patterns that match the same name: a literal before `*`, from the left.
bool more_specific(std::string_view one, std::string_view other);
std::size_t size_of(const Metadata& metadata);
std::optional<Error> check_name(std::string_view name);
std::optional<Error> check_open(const OpenSession& open);
// What makes a request the same as another one with its id.
std::string printed(const Acquire& request);
// Request ids count in a session, or for a caller who has none yet.
std::string scope(const std::optional<SessionId>& session, const std::optional<OpenSession>& opens);

}  // namespace rocklock::proof::model
