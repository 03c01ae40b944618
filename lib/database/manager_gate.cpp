#include "database/manager_gate.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/bytes.hpp"
#include "database/saved_releases.hpp"
#include "lock/model/names.hpp"
#include "lock/records/history.hpp"
#include "lock/records/records.hpp"

namespace rocklock {
namespace {

// Records in Family::meta, by grant: the version of the grant's record, the session, and AfterSave.
constexpr std::string_view after_save_prefix = "after save ";
constexpr std::string_view after_save_end = "after save!";

std::string after_save_key(GrantId grant) {
    std::string key(after_save_prefix);
    append_u64(key, number(grant));
    return key;
}

struct AfterSaveRecord {
    GrantId grant{};
    // The version of the grant's record when the write was permitted.
    std::uint64_t version = 0;
    SessionId session;
    AfterSave after = AfterSave::keep;
};

Result<AfterSaveRecord> read_after_save(std::string_view key, std::string_view value) {
    AfterSaveRecord record;
    Reader in_key(key.substr(after_save_prefix.size()));
    Reader in_value(value);
    const auto grant = in_key.u64();
    const auto version = in_value.u64();
    const auto session = in_value.bytes(record.session.bytes.size());
    const auto after = in_value.u8();
    const auto last = static_cast<std::uint8_t>(AfterSave::downgrade);
    if (!in_key.done() || !in_value.done() || *after == 0 || *after > last) {
        return Error(ErrorCode::corrupt,
                     "the record of a lock change that a save requested is damaged");
    }
    record.grant = GrantId{*grant};
    record.version = *version;
    std::copy(session->begin(), session->end(), record.session.bytes.begin());
    record.after = static_cast<AfterSave>(*after);
    return record;
}

// Returns whether the manager could not decide the request, so that it must be repeated. Other
// errors are final, for example that the grant has ended.
bool is_failure(ErrorCode code) {
    return code == ErrorCode::io_error || code == ErrorCode::no_space ||
           code == ErrorCode::corrupt || code == ErrorCode::closing ||
           code == ErrorCode::not_the_manager;
}

// The principal of the locks that the tables acquire themselves.
constexpr std::string_view own_principal = "rocklock";
constexpr std::string_view own_note = "removes items that have expired";

// Returns whether the lock is not available now, or can never be acquired in this way. Other errors
// are failures of the storage or the manager.
bool is_refusal(ErrorCode code) {
    return code == ErrorCode::conflict || code == ErrorCode::kind_mismatch ||
           code == ErrorCode::invalid_argument || code == ErrorCode::limit_exceeded ||
           code == ErrorCode::class_draining;
}

}  // namespace

Result<LockGate::WriteTerms> ManagerGate::check_write(const LockProof* proof,
                                                      std::string_view resource,
                                                      DraftOwner& drafts_of) {
    if (!resource.empty()) {
        if (auto error = check_name("the resource of the item", resource)) return *std::move(error);
    }
    if (proof == nullptr) return manager_.lock_missing(resource);
    LostHolder lost;
    auto fence = manager_.fence({proof->session, proof->token, resource}, &lost);
    if (!fence) {
        drafts_of = {std::move(lost.principal), lost.uid};
        return Error(fence.error());
    }
    return WriteTerms{{Family::locks, records::grant_key(fence->grant), fence->version},
                      fence->until,
                      std::move(fence->principal),
                      proof->session,
                      fence->grant,
                      fence->downgrades};
}

Result<void> ManagerGate::open() {
    const auto snapshot = storage_.snapshot();
    const auto cursor = snapshot->scan(Family::meta, after_save_prefix, after_save_end);
    for (; cursor->valid(); cursor->next()) {
        const auto pending = read_after_save(cursor->key(), cursor->value());
        if (!pending) return Error(pending.error());
        const auto record = read_grant(storage_, pending->grant);
        if (!record) return Error(record.error());
        // If the record has changed since the save, the grant may have been released already, and a
        // second release would decrement its count twice. Such a grant is not released: a grant
        // that is held too long is safer than one that ends too early.
        const bool changed = *record && (*record)->version != pending->version;
        if (pending->after == AfterSave::downgrade || !changed) {
            auto given_up = give_up(pending->session, pending->grant, pending->after);
            if (!given_up) return given_up;
        }
        Batch batch;
        batch.writes.push_back({Family::meta, std::string(cursor->key()), std::nullopt});
        auto removed = storage_.commit(std::move(batch), Durability::written);
        if (!removed) return removed;
    }
    return cursor->status();
}

Write ManagerGate::after_save_record(const WriteTerms& terms, AfterSave after) const {
    std::string value;
    append_u64(value, terms.unchanged.version.value_or(0));
    value.append(reinterpret_cast<const char*>(terms.session.bytes.data()),
                 terms.session.bytes.size());
    append_u8(value, static_cast<std::uint8_t>(after));
    return {Family::meta, after_save_key(terms.grant), std::move(value)};
}

void ManagerGate::apply_after_save(const WriteTerms& terms, AfterSave after) {
    // If give_up() fails, the record of the release or downgrade remains, and open() completes it
    // when the store is opened again.
    if (!give_up(terms.session, terms.grant, after)) return;
    Batch batch;
    batch.writes.push_back({Family::meta, after_save_key(terms.grant), std::nullopt});
    std::ignore = storage_.commit(std::move(batch), Durability::deferred);
}

Result<void> ManagerGate::give_up(const SessionId& session, GrantId grant, AfterSave after) {
    std::optional<Error> error;
    if (after == AfterSave::release) {
        const auto released = manager_.ask(Release{session, grant});
        if (!released) error = released.error();
        if (released && released->outcome == Outcome::released) {
            SavedReleases::add(session, grant);
            if (released_) released_(session, grant);
        }
    } else {
        Convert down;
        down.session = session;
        down.grant = grant;
        down.mode = Mode::read;
        if (auto converted = manager_.ask(std::move(down)); !converted) {
            error = std::move(converted).error();
        }
    }
    if (error && is_failure(error->code)) return *std::move(error);
    return {};
}

Result<std::optional<LockProof>> ManagerGate::try_lock(const std::vector<std::string>& resources) {
    Acquire acquire;
    OpenSession& opens = acquire.opens.emplace();
    opens.principal = own_principal;
    opens.uid = ::geteuid();
    opens.pid = ::getpid();
    opens.note = own_note;
    for (const auto& resource : resources) {
        LockRequest& lock = acquire.locks.emplace_back();
        lock.resource = resource;
        lock.mode = Mode::write;
    }
    const auto grant = manager_.ask(std::move(acquire));
    if (grant) return std::optional(LockProof{grant->session, grant->token});
    // While the disk is almost full, no lock is granted, so the expired items are not deleted.
    const bool full = grant.error().code == ErrorCode::no_space && !storage_.failure();
    if (full || is_refusal(grant.error().code)) return std::optional<LockProof>();
    return Error(grant.error());
}

void ManagerGate::unlock(const LockProof& own) {
    // The id of a grant that was never converted is equal to its token. If the release fails, the
    // grant ends with its lease.
    std::ignore = manager_.ask(Release{own.session, GrantId{number(*own.token)}});
}

LockGate::ReadMark ManagerGate::before_read() const {
    const auto mark = manager_.read_mark();
    return {mark.changes, mark.any};
}

Result<bool> ManagerGate::check_read(const ReadMark& before, const PlainRead& read) {
    std::optional<SessionId> reader;
    if (read.proof) reader = read.proof->session;
    return manager_.check_read({before.changes, before.any}, {read.resources, reader, read.strict});
}

}  // namespace rocklock
