// The memory layout of grants, holds and resources: what is in the piece of a plain lock, and what
// is stored separately.
#include "lock/model/held.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "lock/model/nodes.hpp"

namespace rocklock::lock_model {

namespace {

struct Destroy {
    void operator()(Resource* resource) const { Resource::destroy(resource); }
    void operator()(Grant* grant) const { Grant::destroy(grant); }
};
using OwnedResource = std::unique_ptr<Resource, Destroy>;
using OwnedGrant = std::unique_ptr<Grant, Destroy>;

OwnedResource made(const std::string& name, Slot slot = Slot::with) {
    return OwnedResource(Resource::make(name, slot));
}

constexpr std::uint64_t greatest = (std::uint64_t{1} << 53) - 1;

// A grant with one hold that is linked to a resource.
class Linked {
public:
    Linked(Resource& at, std::uint64_t number, Mode mode) : at_(at), grant_(Grant::make(1)) {
        grant_->set_id(GrantId{number});
        hold().at = &at;
        hold().mode = mode;
        at.link(hold());
        at.set_last(LastGrant(grant_->id()));
    }
    ~Linked() { end(); }
    Linked(const Linked&) = delete;
    Linked& operator=(const Linked&) = delete;

    LinkedHold& hold() { return *static_cast<LinkedGrant&>(*grant_).linked_holds(); }
    void end() {
        if (grant_) at_.unlink(hold());
        grant_.reset();
    }

private:
    Resource& at_;
    OwnedGrant grant_;
};

PlainGrant& hold_plain(Resource& at, std::uint64_t number, Mode mode) {
    PlainGrant& grant = at.make_plain();
    grant.set_id(GrantId{number});
    grant.hold.mode = mode;
    at.set_last(LastGrant(grant.id()));
    return grant;
}

std::vector<std::uint64_t> holders(const Resource& at) {
    std::vector<std::uint64_t> numbers;
    for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next())
        numbers.push_back(number(hold->grant()->id()));
    return numbers;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_memory_of_held_locks)

BOOST_AUTO_TEST_CASE(a_plain_lock_is_one_piece_of_80_bytes_or_88_with_a_path) {
    BOOST_TEST(Resource::bytes(24, Slot::with, false) <= 80U);
    BOOST_TEST(Resource::bytes(24, Slot::with, true) <= 88U);
    BOOST_TEST(Resource::bytes(24, Slot::without, true) <= 64U);
    BOOST_TEST(Resource::bytes(24, Slot::with_request, false) <= 104U);
    BOOST_TEST(Resource::bytes(24, Slot::with_request, true) <= 112U);
    BOOST_TEST(LinkedGrant::bytes(16) <= 552U);
    const OwnedResource at = made("orders/1");
    hold_plain(*at, 1, Mode::write);
    BOOST_TEST(at->extra() == nullptr);
}

BOOST_AUTO_TEST_CASE(members_keep_their_greatest_values) {
    const OwnedResource at = made(std::string(limits::name_bytes, 'n'));
    PlainGrant& grant = hold_plain(*at, greatest, Mode::exclusive);
    grant.set_version(UINT64_MAX);
    grant.set_acquired(BootTime::max());
    grant.hold.set_before(GrantId{greatest - 1});
    grant.hold.subtree = true;
    grant.waited = true;
    const auto check = [&] {
        BOOST_TEST(number(grant.id()) == greatest);
        BOOST_TEST(grant.version() == UINT64_MAX);
        BOOST_TEST((grant.acquired() == BootTime::max()));
        BOOST_TEST(number(grant.hold.before()) == greatest - 1);
        BOOST_TEST((grant.hold.mode == Mode::exclusive && grant.hold.subtree));
        BOOST_TEST((grant.waited && !grant.confirmed));
        BOOST_TEST(at->name() == std::string(limits::name_bytes, 'n'));
    };
    check();
    // Values of neighbours do not disturb each other.
    grant.confirmed = true;
    grant.confirmed = false;
    at->dirty = true;
    at->dirty = false;
    check();
    grant.set_acquired(BootTime(std::chrono::nanoseconds(-1)));
    BOOST_TEST((grant.acquired() == BootTime(std::chrono::nanoseconds(-1))));
    BOOST_TEST(Hold::can_store(GrantId{greatest}));
    BOOST_TEST(!Hold::can_store(GrantId{greatest + 1}));
}

BOOST_AUTO_TEST_CASE(a_plain_hold_knows_its_grant_and_its_resource) {
    for (const std::string name : {"flat", "orders/1"}) {
        const OwnedResource at = made(name);
        PlainGrant& grant = hold_plain(*at, 5, Mode::read);
        Hold& hold = grant.holds().front();
        BOOST_TEST(grant.holds().size() == 1U);
        BOOST_TEST((&hold == &grant.hold && hold.grant() == &grant && hold.resource() == at.get()));
        BOOST_TEST((hold.permits() == 0U && hold.root() && hold.next() == nullptr));
        BOOST_TEST(at->name() == name);
    }
}

BOOST_AUTO_TEST_CASE(the_holds_of_a_set_know_their_grant) {
    const OwnedResource first = made("first", Slot::without);
    const OwnedResource second = made("second", Slot::without);
    const OwnedGrant grant(Grant::make(2));
    auto* const holds = static_cast<LinkedGrant&>(*grant).linked_holds();
    holds[0].at = first.get();
    holds[1].at = second.get();
    holds[1].permit_count = UINT32_MAX;
    holds[1].cause_index = 0;
    BOOST_TEST(grant->holds().size() == 2U);
    BOOST_TEST(grant->holds()[0].resource() == first.get());
    BOOST_TEST(grant->holds()[1].resource() == second.get());
    BOOST_TEST(grant->holds()[1].permits() == UINT32_MAX);
    BOOST_TEST((!grant->holds()[1].root() && grant->holds()[0].root()));
    for (const Hold& hold : grant->holds()) BOOST_TEST(hold.grant() == grant.get());
}

BOOST_AUTO_TEST_CASE(the_last_grant_outlives_its_hold) {
    for (const Slot slot : {Slot::with, Slot::without}) {
        const OwnedResource at = made("orders/1", slot);
        BOOST_TEST(number(at->last().grant()) == 0U);
        at->set_last(LastGrant(GrantId{3}));
        BOOST_TEST(number(at->last().grant()) == 3U);
        {
            const Linked linked(*at, 4, Mode::write);
            BOOST_TEST(number(at->last().grant()) == 4U);
        }
        BOOST_TEST(number(at->last().grant()) == 4U);
    }
    const OwnedResource at = made("orders/1");
    PlainGrant& grant = hold_plain(*at, 7, Mode::write);
    LastGrant converted = at->last();
    converted.note_conversion_of(grant.id());
    at->set_last(converted);
    BOOST_TEST(at->last().itself_converted());
    Grant::destroy(&grant);
    BOOST_TEST((at->last() == converted));
    hold_plain(*at, 8, Mode::write);
    BOOST_TEST((at->last() == LastGrant(GrantId{8})));
    at->set_last(LastGrant(GrantId{9}));
    BOOST_TEST((at->last() == LastGrant(GrantId{9})));
}

BOOST_AUTO_TEST_CASE(holds_are_listed_from_the_newest_to_the_oldest) {
    const OwnedResource at = made("orders/1");
    PlainGrant& plain = hold_plain(*at, 1, Mode::read);
    BOOST_TEST(!at->can_hold_plain());
    Linked second(*at, 2, Mode::read);
    Linked third(*at, 3, Mode::write);
    BOOST_TEST((holders(*at) == std::vector<std::uint64_t>{3, 2, 1}));
    BOOST_TEST((at->holds() == 3U && at->strong() == 1U));
    at->set_mode(third.hold(), Mode::read);
    at->set_mode(plain.hold, Mode::exclusive);
    BOOST_TEST((at->holds() == 3U && at->strong() == 1U));
    Grant::destroy(&plain);
    BOOST_TEST((holders(*at) == std::vector<std::uint64_t>{3, 2}));
    // The hold in a slot must be the oldest one.
    BOOST_TEST(!at->can_hold_plain());
    second.end();
    BOOST_TEST((holders(*at) == std::vector<std::uint64_t>{3}));
    third.end();
    BOOST_TEST((!at->held() && at->can_hold_plain()));
    BOOST_TEST((at->holds() == 0U && at->strong() == 0U));
    BOOST_TEST(number(at->last().grant()) == 3U);
}

BOOST_AUTO_TEST_CASE(a_resource_without_a_slot_counts_its_holds) {
    const OwnedResource at = made("orders", Slot::without);
    BOOST_TEST(!at->can_hold_plain());
    Linked first(*at, 1, Mode::write);
    BOOST_TEST((at->holds() == 1U && at->strong() == 1U && at->extra() == nullptr));
    at->set_mode(first.hold(), Mode::read);
    BOOST_TEST((at->holds() == 1U && at->strong() == 0U));
    Linked second(*at, 2, Mode::exclusive);
    BOOST_TEST((at->holds() == 2U && at->strong() == 1U));
    first.end();
    BOOST_TEST((at->holds() == 1U && at->strong() == 1U));
}

BOOST_AUTO_TEST_CASE(the_extra_of_a_plain_grant_ends_with_the_grant) {
    const OwnedResource at = made("orders/1");
    PlainGrant& grant = hold_plain(*at, 1, Mode::write);
    BOOST_TEST(grant.extra() == nullptr);
    grant.with_extra().note = "n";
    BOOST_TEST(grant.extra()->note == "n");
    BOOST_TEST(grant.extra()->timer.owner == static_cast<Grant*>(&grant));
    Grant::destroy(&grant);
    PlainGrant& next = hold_plain(*at, 2, Mode::write);
    BOOST_TEST(next.extra() == nullptr);
}

BOOST_AUTO_TEST_CASE(a_plain_grant_can_become_a_linked_one) {
    const OwnedResource at = made("orders/1");
    PlainGrant& grant = hold_plain(*at, 1, Mode::exclusive);
    grant.set_version(12);
    grant.set_acquired(BootTime(std::chrono::seconds(3)));
    grant.hold.set_before(GrantId{4});
    grant.hold.subtree = true;
    grant.waited = true;
    grant.confirmed = true;
    grant.with_extra().note = "n";
    const OwnedGrant moved(Grant::make_from(grant));
    BOOST_TEST(number(moved->id()) == 1U);
    BOOST_TEST(moved->version() == 12U);
    BOOST_TEST((moved->acquired() == BootTime(std::chrono::seconds(3))));
    BOOST_TEST((moved->waited && moved->confirmed && !moved->plain));
    const Hold& hold = moved->holds().front();
    BOOST_TEST((hold.mode == Mode::exclusive && hold.subtree && number(hold.before()) == 4U));
    BOOST_TEST(moved->extra()->note == "n");
    BOOST_TEST(moved->extra()->timer.owner == moved.get());
    BOOST_TEST(grant.extra() == nullptr);
}

BOOST_AUTO_TEST_CASE(a_request_id_is_in_the_piece_of_its_lock_or_in_the_extra) {
    const RequestIdentity request{{UINT64_MAX, 1}, UINT64_MAX - 1};
    for (const std::string name : {"flat", "orders/1"}) {
        for (const Slot slot : {Slot::with, Slot::with_request}) {
            const OwnedResource at = made(name, slot);
            BOOST_TEST(at->name() == name);
            PlainGrant& grant = hold_plain(*at, 1, Mode::write);
            BOOST_TEST(!grant.request().key);
            grant.set_request(request);
            BOOST_TEST((grant.request() == request));
            BOOST_TEST((at->extra() == nullptr) == (slot == Slot::with_request));
            BOOST_TEST((number(grant.id()) == 1U && grant.hold.mode == Mode::write));
            BOOST_TEST(at->name() == name);
            Grant::destroy(&grant);
            // The id ends with its grant.
            PlainGrant& next = hold_plain(*at, 2, Mode::write);
            BOOST_TEST(!next.request().key);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_grant_that_leaves_its_slot_keeps_its_request_id) {
    const RequestIdentity request{{3, 4}, 5};
    for (const Slot slot : {Slot::with, Slot::with_request}) {
        for (const bool with_note : {false, true}) {
            const OwnedResource at = made("orders/1", slot);
            PlainGrant& grant = hold_plain(*at, 1, Mode::write);
            grant.set_request(request);
            if (with_note) grant.with_extra().note = "n";
            const OwnedGrant moved(Grant::make_from(grant));
            BOOST_TEST((moved->request() == request));
            BOOST_TEST(moved->extra()->note == (with_note ? "n" : ""));
            BOOST_TEST(moved->extra()->timer.owner == moved.get());
        }
    }
}

BOOST_AUTO_TEST_CASE(children_are_listed_with_and_without_a_slot) {
    for (const Slot slot : {Slot::with, Slot::with_request, Slot::without}) {
        const OwnedResource above = made("orders", slot);
        const OwnedResource first = made("orders/1");
        const OwnedResource second = made("orders/2", Slot::without);
        BOOST_TEST((above->children() == nullptr && first->parent() == nullptr));
        first->set_parent(*above);
        second->set_parent(*above);
        BOOST_TEST((above->children() == second.get()));
        BOOST_TEST((second->next_sibling() == first.get() && first->next_sibling() == nullptr));
        BOOST_TEST((first->parent() == above.get() && second->parent() == above.get()));
        BOOST_TEST((first->name() == "orders/1" && second->name() == "orders/2"));
        first->leave_parent();
        BOOST_TEST((above->children() == second.get() && second->next_sibling() == nullptr));
        second->leave_parent();
        BOOST_TEST((above->children() == nullptr));
        BOOST_TEST(!above->needed(BootTime{}));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::lock_model
