// Rules for names, patterns and texts of requests, as the reference model applies them. They do not
// use the library, because the model must not share code with the code that it tests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock::proof::model {

// Returns whether `path` is below `ancestor`.
bool below(std::string_view path, std::string_view ancestor);
bool pattern_matches(std::string_view pattern, std::string_view resource);
// Returns whether `one` is more specific than `other`. Both patterns must match the same name.
// Elements are compared from the left, and a literal element is more specific than `*`.
bool more_specific(std::string_view one, std::string_view other);
std::size_t size_of(const Metadata& metadata);
std::optional<Error> check_name(std::string_view name);
std::optional<Error> check_open(const OpenSession& open);
// Returns a text of the parameters. Two requests have equal texts if and only if they have the same
// parameters.
std::string printed(const Acquire& request);
// Returns the scope of a request id: the session, or the caller if the request has no session.
std::string scope(const std::optional<SessionId>& session, const std::optional<OpenSession>& opens);

}  // namespace rocklock::proof::model
