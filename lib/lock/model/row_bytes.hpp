// The size, in bytes, of the texts in a row of a list. A page ends when the sizes of its rows reach
// max_page_bytes.
#pragma once

#include <cstddef>

#include <rocklock/lock.hpp>
#include <rocklock/watch.hpp>

#include "base/page_bytes.hpp"

namespace rocklock::lock_model {

inline std::size_t row_bytes(const Metadata& metadata) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : metadata) bytes += key.size() + value.size();
    return bytes;
}

inline std::size_t row_bytes(const Holder& row) {
    return row.resource.size() + row.principal.size() + row.note.size() + row.cause.size() +
           row_bytes(row.metadata);
}

inline std::size_t row_bytes(const HistoryRow& row) {
    const std::size_t end = row.ended ? row.ended->by.size() + row.ended->reason.size() : 0;
    return row_bytes(row.holder) + end;
}

inline std::size_t row_bytes(const SessionView& row) {
    return row.principal.size() + row.note.size() + row_bytes(row.metadata);
}

inline std::size_t row_bytes(const WaitEdge& row) {
    return row.resource.size() + row.waiter_principal.size() + row.blocker_principal.size();
}

inline std::size_t row_bytes(const AuditRow& row) {
    return row.by.size() + row.reason.size() + row.resource.size() + row.principal.size();
}

inline std::size_t row_bytes(const LockEvent& row) {
    return row.resource.size() + row.principal.size() + row.by.size() + row.reason.size();
}

}  // namespace rocklock::lock_model
