// Judging the preconditions of one batch.
#pragma once

#include <optional>
#include <string>

#include <rocklock/storage/storage.hpp>

namespace rocklock {

// What a batch is told that came too late; and the one whose precondition did not hold.
Error deadline_passed();
Error precondition_failed(const Precondition& precondition);

// `version_of_key(family, key)` returns a Result with the present version of a key, or nothing
// where it is absent. The answer is nothing when the batch may be applied, or why not. Errors:
// those of the lookup.
template <typename VersionOfKey>
Result<std::optional<Error>> judge(const Batch& batch, BootTime now,
                                   const VersionOfKey& version_of_key) {
    if (batch.not_after && now >= *batch.not_after) return std::optional(deadline_passed());
    for (const Precondition& precondition : batch.preconditions) {
        Result<std::optional<std::uint64_t>> present =
            version_of_key(precondition.family, std::string_view(precondition.key));
        if (!present) return std::move(present).error();
        if (*present != precondition.version)
            return std::optional(precondition_failed(precondition));
    }
    return std::optional<Error>();
}

}  // namespace rocklock
