// Limits the size of the responses to writes of single items. If the request asks for the
// attributes of the item, the response can be much larger than the request. The size is checked
// before the commit, because the response must not be discarded after it.
#pragma once

#include <functional>

#include <rocklock/items/table.hpp>
#include <rocklock/result.hpp>

namespace rocklock::table {

// While this object exists, TableService::write_item(), TableService::begin_write() and
// PendingWrite::write() call `check` on this thread if the response will contain attributes. They
// call it before each attempt to commit, with these attributes as the argument. If `check` returns
// an error, the write changes nothing and fails with this error.
//
// Threads:  belongs to the thread that creates it. The objects of one thread must be destroyed in
//           the reverse order of their creation.
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
