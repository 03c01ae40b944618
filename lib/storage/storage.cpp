#include <rocklock/storage/storage.hpp>

#include "base/bytes.hpp"
#include "storage/preconditions.hpp"

namespace rocklock {
namespace {

// Returns the key as printable text. Other bytes are written as \x and two digits.
std::string printable(std::string_view key) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char character : key) {
        const auto byte = static_cast<std::uint8_t>(character);
        if (byte >= 0x20 && byte < 0x7F && character != '\\') {
            text.push_back(character);
        } else {
            text.append("\\x");
            text.push_back(digits[byte >> 4]);
            text.push_back(digits[byte & 0xF]);
        }
    }
    return text;
}

}  // namespace

Result<void> Storage::commit(Batch batch, Durability durability) {
    // A deferred batch may be checked after wait() has returned, when the verdict no longer exists.
    const bool judged = !batch.preconditions.empty() || batch.not_after.has_value();
    if (judged && durability == Durability::deferred) durability = Durability::written;
    Verdict verdict;
    const CommitNumber number = enqueue(std::move(batch), durability, judged ? &verdict : nullptr);
    if (auto waited = wait(number, durability); !waited) return waited;
    if (verdict.refused) return *std::move(verdict.refused);
    return {};
}

Result<void> Storage::confirm() {
    if (!must_confirm()) return {};
    return commit(Batch{}, Durability::durable);
}

Result<void> Storage::copy_to(const std::string& /*directory*/,
                              const std::vector<Write>& /*marks*/) {
    return Error(ErrorCode::invalid_argument, "this store is not on a disk and cannot be copied");
}

Result<void> Storage::verify() const { return {}; }

Error Storage::growth_refusal() const {
    return {ErrorCode::no_space,
            "the store has almost no space left: make room, or release locks and delete data"};
}

std::uint64_t version_of(std::string_view value) { return Reader(value).u64().value_or(0); }

bool fails_store(const Error& error, Family family) {
    const bool lock_state = family == Family::meta || family == Family::locks;
    return error.code == ErrorCode::corrupt && lock_state;
}

Error deadline_passed() {
    return Error(ErrorCode::precondition_failed, "the batch was not committed before its deadline");
}

Error precondition_failed(const Precondition& precondition) {
    const std::string wanted =
        precondition.version ? "does not have the version " + std::to_string(*precondition.version)
                             : "is present and should be absent";
    return Error(ErrorCode::precondition_failed,
                 "the key '" + printable(precondition.key) + "' " + wanted);
}

}  // namespace rocklock
