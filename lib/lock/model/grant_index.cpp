#include "lock/model/grant_index.hpp"

#include <algorithm>
#include <new>

#include "base/assert.hpp"

namespace rocklock::lock_model {

GrantIndex::~GrantIndex() {
    while (first_ != nullptr) remove_page(*first_);
}

void GrantIndex::add(Grant& grant) {
    const std::uint64_t number_of = number(grant.id());
    const std::uint64_t key = key_of(number_of);
    Page& page = last_ != nullptr && key == last_->key() ? *last_ : append_page(key);
    ROCKLOCK_ASSERT(page.used < Page::bit(number_of) && page.count() < page.capacity);
    new (page.grants() + page.count()) Near<Grant>(&grant);
    page.used |= Page::bit(number_of);
    ++size_;
}

void GrantIndex::remove(const Grant& grant) {
    const std::uint64_t number_of = number(grant.id());
    Page* const page = page_of(number_of);
    ROCKLOCK_ASSERT(page != nullptr && page->has(number_of) && size_ > 0);
    const std::size_t place = page->place(number_of);
    ROCKLOCK_ASSERT(page->grants()[place] == &grant);
    std::copy(page->grants() + place + 1, page->grants() + page->count(), page->grants() + place);
    page->used &= ~Page::bit(number_of);
    --size_;
    if (page == last_) return;
    if (page->used == 0) return remove_page(*page);
    if (page->count() * 2 <= page->capacity) shrink(*page);
}

void GrantIndex::free_empty_page() {
    if (last_ != nullptr && last_->used == 0) remove_page(*last_);
}

Grant* GrantIndex::oldest() const {
    // Only the last page can be empty.
    return first_ != nullptr && first_->used != 0 ? first_->grants()[0].get() : nullptr;
}

GrantIndex::Page& GrantIndex::append_page(std::uint64_t key) {
    if (last_ != nullptr) {
        if (last_->used == 0) {
            remove_page(*last_);
        } else if (last_->count() * 2 <= last_->capacity) {
            shrink(*last_);
        }
    }
    ROCKLOCK_ASSERT(last_ == nullptr || last_->key() < key);
    Page& made = *new (Arena::allocate(Page::bytes(page_numbers))) Page(key, page_numbers);
    made.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &made;
    last_ = &made;
    const bool added = pages_.insert(&made).second;
    ROCKLOCK_ASSERT(added);
    return made;
}

void GrantIndex::shrink(Page& page) {
    // An odd number of grants leaves no space between the pieces of the arena.
    const std::size_t count = page.count();
    const std::size_t capacity = count | 1;
    Page& made = *new (Arena::allocate(Page::bytes(capacity))) Page(page.key(), capacity);
    made.used = page.used;
    std::uninitialized_copy_n(page.grants(), count, made.grants());
    made.next = page.next;
    made.previous = page.previous;
    (made.previous != nullptr ? made.previous->next : first_) = &made;
    (made.next != nullptr ? made.next->previous : last_) = &made;
    pages_.erase(&page);
    pages_.insert(&made);
    Arena::free(&page, Page::bytes(page.capacity));
}

void GrantIndex::remove_page(Page& page) {
    (page.previous != nullptr ? page.previous->next : first_) = page.next;
    (page.next != nullptr ? page.next->previous : last_) = page.previous;
    pages_.erase(&page);
    Arena::free(&page, Page::bytes(page.capacity));
}

}  // namespace rocklock::lock_model
