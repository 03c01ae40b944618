#include "support/fake_etcd_node.hpp"

#include <algorithm>
#include <utility>

namespace rocklock::testing {

void FakeNode::fail_next(EtcdFault fault, unsigned count) {
    fail_next(PlannedFault{fault, std::nullopt, std::nullopt}, count);
}

void FakeNode::fail_next(const PlannedFault& fault, unsigned count) {
    const MutexLock lock(mutex_);
    planned_.insert(planned_.end(), count, fault);
}

std::size_t FakeNode::planned() const {
    const MutexLock lock(mutex_);
    return planned_.size();
}

void FakeNode::plan_none() {
    const MutexLock lock(mutex_);
    planned_.clear();
}

std::uint64_t FakeNode::occurred(EtcdFault fault) const {
    const MutexLock lock(mutex_);
    const auto found = occurred_.find(fault);
    return found == occurred_.end() ? 0 : found->second;
}

void FakeNode::draw(std::uint64_t seed, const EtcdFaultRates& rates) {
    const MutexLock lock(mutex_);
    random_ = simulation::Random(seed);
    rates_ = rates;
    drawn_shown_.reset();
}

void FakeNode::draw_none() { draw(0, {}); }

void FakeNode::cut(EtcdCut cut) {
    const MutexLock lock(mutex_);
    cut_ = cut;
}

void FakeNode::show_changes_through(std::optional<etcd::Revision> revision) {
    const MutexLock lock(mutex_);
    shown_ = revision;
}

void FakeNode::end_watches() {
    const MutexLock lock(mutex_);
    ++watch_epoch_;
}

FakeNode::Course FakeNode::next_course(EtcdRequest request) {
    const MutexLock lock(mutex_);
    const Course course = draw_course(request);
    ++occurred_[course.fault];
    return course;
}

FakeNode::Course FakeNode::draw_course(EtcdRequest request) {
    Course course;
    course.request = request;
    switch (cut_) {
        case EtcdCut::none:
            break;
        case EtcdCut::refused:
            course.fault = EtcdFault::unreachable;
            return course;
        case EtcdCut::requests_lost:
            course.fault = EtcdFault::request_lost;
            return course;
        case EtcdCut::answers_lost:
            course.fault = EtcdFault::answer_lost;
            return course;
    }
    if (const auto planned = take_planned(request)) {
        course.fault = planned->fault;
        course.after_requests = planned->after_requests;
        return course;
    }
    course.fault = draw_fault(request);
    if (course.fault == EtcdFault::applied_late || course.fault == EtcdFault::duplicated) {
        const auto max_requests = std::max(rates_.max_late_requests, 1U);
        course.after_requests = static_cast<unsigned>(1 + random_.below(max_requests));
    }
    if (rates_.lease_ended > 0 && random_.percent(rates_.lease_ended)) {
        course.end_lease = random_.next();
    }
    if (rates_.compacted > 0 && random_.percent(rates_.compacted)) course.compact = random_.next();
    return course;
}

std::optional<PlannedFault> FakeNode::take_planned(EtcdRequest request) {
    const auto found = std::find_if(planned_.begin(), planned_.end(), [&](const auto& planned) {
        return !planned.request || *planned.request == request;
    });
    if (found == planned_.end()) return std::nullopt;
    const auto fault = *found;
    planned_.erase(found);
    return fault;
}

EtcdFault FakeNode::draw_fault(EtcdRequest request) {
    const std::pair<unsigned, EtcdFault> rates[] = {
        {rates_.request_lost, EtcdFault::request_lost},
        {rates_.answer_lost, EtcdFault::answer_lost},
        {rates_.applied_late, EtcdFault::applied_late},
        {rates_.duplicated, EtcdFault::duplicated},
        {rates_.unreachable, EtcdFault::unreachable},
        {request == EtcdRequest::keep_alive ? rates_.keep_alive_ignored : 0,
         EtcdFault::keep_alive_ignored},
    };
    for (const auto& [rate, fault] : rates) {
        if (rate > 0 && random_.percent(rate)) return fault;
    }
    return EtcdFault::none;
}

void FakeNode::next_of_watch(etcd::Revision newest) {
    const MutexLock lock(mutex_);
    if (rates_.watch_ended > 0 && random_.percent(rates_.watch_ended)) ++watch_epoch_;
    if (rates_.watch_delayed == 0 || random_.percent(rates_.watch_delayed)) return;
    const auto from = std::min(drawn_shown_.value_or(newest), newest);
    drawn_shown_ = random_.percent(50) ? newest : random_.between(from, newest);
}

std::optional<etcd::Revision> FakeNode::visible(etcd::Revision newest) {
    const MutexLock lock(mutex_);
    if (cut_ == EtcdCut::refused || cut_ == EtcdCut::answers_lost) return std::nullopt;
    if (rates_.watch_delayed > 0 && !drawn_shown_) drawn_shown_ = newest;
    return std::min({newest, shown_.value_or(newest), drawn_shown_.value_or(newest)});
}

std::uint64_t FakeNode::watch_epoch() const {
    const MutexLock lock(mutex_);
    return watch_epoch_;
}

}  // namespace rocklock::testing
