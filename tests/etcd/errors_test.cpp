#include "storage/etcd/grpc/errors.hpp"

#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock::etcd {

namespace {

Failure classified(grpc::StatusCode code, const std::string& message) {
    return classify(grpc::Status(code, message), "host:2379");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_failed_request)

BOOST_AUTO_TEST_CASE(has_an_unknown_outcome_if_it_may_have_been_sent) {
    for (const auto code : {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::DEADLINE_EXCEEDED,
                            grpc::StatusCode::CANCELLED, grpc::StatusCode::UNKNOWN,
                            grpc::StatusCode::INTERNAL, grpc::StatusCode::RESOURCE_EXHAUSTED}) {
        const Failure failure = classified(code, "Socket closed");
        BOOST_TEST((failure.outcome == Outcome::unknown));
        BOOST_TEST((failure.error.code == ErrorCode::indeterminate));
    }
}

BOOST_AUTO_TEST_CASE(has_an_unknown_outcome_if_the_cluster_may_still_execute_it) {
    for (const std::string message :
         {"etcdserver: request timed out",
          "etcdserver: request timed out, possibly due to previous leader failure",
          "etcdserver: request timed out, possibly due to connection lost",
          "etcdserver: leader changed", "etcdserver: server stopped"}) {
        const Failure failure = classified(grpc::StatusCode::UNAVAILABLE, message);
        BOOST_TEST((failure.outcome == Outcome::unknown), message);
    }
}

BOOST_AUTO_TEST_CASE(is_refused_if_the_member_has_not_proposed_it) {
    BOOST_TEST((classified(grpc::StatusCode::UNAVAILABLE, "etcdserver: no leader").outcome ==
                Outcome::refused));
    BOOST_TEST((
        classified(grpc::StatusCode::RESOURCE_EXHAUSTED, "etcdserver: too many requests").outcome ==
        Outcome::refused));
}

BOOST_AUTO_TEST_CASE(has_the_code_of_the_answer_of_the_cluster) {
    using grpc::StatusCode;
    const std::vector<std::pair<grpc::Status, ErrorCode>> cases{
        {{StatusCode::RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded"},
         ErrorCode::no_space},
        {{StatusCode::OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted"},
         ErrorCode::precondition_failed},
        {{StatusCode::OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision"},
         ErrorCode::io_error},
        {{StatusCode::NOT_FOUND, "etcdserver: requested lease not found"},
         ErrorCode::resource_not_found},
        {{StatusCode::INVALID_ARGUMENT, "etcdserver: too many operations in txn request"},
         ErrorCode::invalid_argument},
        {{StatusCode::RESOURCE_EXHAUSTED, "grpc: received message larger than max (3 vs. 2)"},
         ErrorCode::invalid_argument},
        {{StatusCode::PERMISSION_DENIED, "etcdserver: permission denied"},
         ErrorCode::access_denied},
        {{StatusCode::UNIMPLEMENTED, "unknown service"}, ErrorCode::io_error},
    };
    for (const auto& [status, code] : cases) {
        const Failure failure = classify(status, "host:2379");
        BOOST_TEST((failure.outcome == Outcome::answered), status.error_message());
        BOOST_TEST((failure.error.code == code), status.error_message());
        BOOST_TEST(failure.error.message == "etcd at host:2379: " + status.error_message());
    }
}

BOOST_AUTO_TEST_CASE(needs_another_token_if_its_token_was_rejected) {
    for (const auto& status :
         {grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "etcdserver: invalid auth token"),
          grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "etcdserver: user name is empty"),
          grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                       "etcdserver: revision of auth store is old")}) {
        const Failure failure = classify(status, "host:2379");
        BOOST_TEST((failure.outcome == Outcome::token_rejected));
        BOOST_TEST((failure.error.code == ErrorCode::access_denied));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_reason_of_an_ended_watch)

BOOST_AUTO_TEST_CASE(is_understood_with_and_without_the_prefix_of_a_status) {
    for (const std::string reason :
         {"etcdserver: permission denied",
          "rpc error: code = PermissionDenied desc = etcdserver: permission denied"}) {
        BOOST_TEST((classify_reason(reason, "host:2379").error.code == ErrorCode::access_denied));
    }
    BOOST_TEST((classify_reason("", "host:2379").error.code == ErrorCode::unreachable));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::etcd
