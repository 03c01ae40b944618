#include "database/manager_gate.hpp"

#include <optional>
#include <utility>

#include "lock/names.hpp"
#include "lock/records.hpp"

namespace rocklock {

Result<LockGate::WriteTerms> ManagerGate::let_write(const LockProof* proof,
                                                    std::string_view resource) {
    if (!resource.empty()) {
        if (auto error = check_name("the resource of the item", resource)) return *std::move(error);
    }
    if (proof == nullptr) return manager_.lock_missing(resource);
    const auto fence = manager_.fence({proof->session, proof->token, resource});
    if (!fence) return Error(fence.error());
    return WriteTerms{{Family::locks, records::grant_key(fence->grant), fence->version},
                      fence->until};
}

LockGate::ReadMark ManagerGate::before_read() const {
    const auto mark = manager_.read_mark();
    return {mark.changes, mark.any};
}

Result<bool> ManagerGate::let_read(const ReadMark& before, const PlainRead& read) {
    std::optional<SessionId> reader;
    if (read.proof) reader = read.proof->session;
    return manager_.let_read({before.changes, before.any}, {read.resources, reader, read.strict});
}

}  // namespace rocklock
