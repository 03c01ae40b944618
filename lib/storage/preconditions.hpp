// Checks the preconditions of a batch.
#pragma once

#include <optional>
#include <string>

#include <rocklock/storage/storage.hpp>

namespace rocklock {

// Return the errors for a deadline that has passed and for a precondition that does not hold.
Error deadline_passed();
Error precondition_failed(const Precondition& precondition);

// Returns whether a read of this family that failed with `error` must fail the whole store. This is
// the case if the read found damage in the lock state. Damage to an item, an index entry or the
// audit log concerns only the calls that read the damaged data.
bool fails_store(const Error& error, Family family);

// Returns nullopt if the batch may be applied. Otherwise, returns the error with which the batch is
// refused. `version_of_key(family, key)` returns a Result with the current version of a key, or
// nullopt if the key is absent. Errors: those of `version_of_key`, unless they concern only this
// batch.
template <typename VersionOfKey>
Result<std::optional<Error>> judge(const Batch& batch, BootTime now,
                                   const VersionOfKey& version_of_key) {
    if (batch.not_after && now >= *batch.not_after) return std::optional(deadline_passed());
    for (const Precondition& precondition : batch.preconditions) {
        Result<std::optional<std::uint64_t>> present =
            version_of_key(precondition.family, std::string_view(precondition.key));
        if (!present) {
            const Error& error = present.error();
            const bool damaged = error.code == ErrorCode::corrupt;
            if (damaged && !fails_store(error, precondition.family)) return std::optional(error);
            return std::move(present).error();
        }
        if (*present != precondition.version)
            return std::optional(precondition_failed(precondition));
    }
    return std::optional<Error>();
}

}  // namespace rocklock
