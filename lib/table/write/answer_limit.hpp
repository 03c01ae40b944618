// Limits the answers to the writes of single items. An answer can be much larger than its request,
// if the request asks for the attributes of the item, and it cannot be discarded after the commit.
#pragma once

#include <functional>

#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

namespace rocklock::table {

// While this object exists, TableService::write_item(), TableService::begin_write() and
// PendingWrite::write() call `check` on this thread before each attempt to commit, if the answer
// will contain attributes. The argument of the call is these attributes. If `check` returns an
// error, the write changes nothing and fails with this error.
//
// Threads:  belongs to the thread that creates it. Objects of one thread are nested.
// Lifetime: borrows `check`. If it is empty, there is no limit.
class AnswerLimit {
public:
    using Check = std::function<Result<void>(const Item& attributes)>;

    explicit AnswerLimit(const Check& check);
    AnswerLimit(const AnswerLimit&) = delete;
    AnswerLimit& operator=(const AnswerLimit&) = delete;
    ~AnswerLimit();

    // Returns the result of the check of the current thread.
    static Result<void> check(const WriteAnswer& answer);

private:
    const Check* const outer_;
};

}  // namespace rocklock::table
