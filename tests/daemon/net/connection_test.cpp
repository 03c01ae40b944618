// Connections over real sockets: the grants that a client keeps when it closes its connection.
#include "daemon/net/connection.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/assert.hpp"
#include "support/conversing.hpp"
#include "wire/call_frame.hpp"

namespace rocklock::conversing {
namespace {

std::string item_call(const std::string& operation, const std::string& rest) {
    return post("DynamoDB_20120810." + operation, R"({"TableName":"orders",)" + rest + "}",
                "Authorization: AWS4-HMAC-SHA256 Credential=x/20261121/eu/dynamodb/aws4_request, "
                "SignedHeaders=host, Signature=x\r\nX-Amz-Date: 20261121T000000Z\r\n");
}

// The requests that a client sends after the response to its Acquire.
const std::array<std::string, 7>& later_requests() {
    static const std::array<std::string, 7> requests{
        item_call("PutItem", R"("Item":{"id":{"S":"1"}})"),
        item_call("GetItem", R"("Key":{"id":{"S":"1"}})"),
        item_call(
            "Query",
            R"("KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"1"}})"),
        post("Rocklock_20261121.BeginEdit", R"({"Items":[{"TableName":"nothing"}]})"),
        post("Rocklock_20261121.ListLocks", "{}"),
        "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n",
    };
    return requests;
}

// Returns the value of a string or a number in a response.
std::string member_of(const std::string& answer, const std::string& name) {
    const auto found = answer.find('"' + name + "\":");
    ROCKLOCK_ASSERT(found != std::string::npos);
    auto begin = found + name.size() + 3;
    if (answer[begin] == '"') ++begin;
    return answer.substr(begin, answer.find_first_of("\",}", begin) - begin);
}

// A grant of `bound/1`, as the response shows it.
struct Known {
    explicit Known(const std::string& answer)
        : session(member_of(answer, "Session")),
          secret(member_of(answer, "Secret")),
          grant(member_of(answer, "Grant")),
          token(member_of(answer, "Token")) {}

    // A call of the lock API that presents the session. `more` are further members.
    std::string call(const std::string& name, const std::string& more = "") const {
        return post("Rocklock_20261121." + name,
                    R"({"Session":")" + session + R"(","Secret":")" + secret + '"' + more + "}");
    }
    // A call for tables that presents the session and, if requested, the token.
    std::string item(const std::string& operation, const std::string& body, bool with_token) const {
        return post("DynamoDB_20120810." + operation, R"({"TableName":"bound",)" + body + "}",
                    "Authorization: AWS4-HMAC-SHA256 "
                    "Credential=x/20261121/eu/dynamodb/aws4_request, SignedHeaders=host, "
                    "Signature=x\r\nX-Amz-Date: 20261121T000000Z\r\nX-Rocklock-Session: " +
                        session + ":" + secret + "\r\n" +
                        (with_token ? "X-Rocklock-Token: " + token + "\r\n" : ""));
    }

    std::string session;
    std::string secret;
    std::string grant;
    std::string token;
};

const auto put_body = R"("Item":{"id":{"S":"1"}})";

}  // namespace

BOOST_AUTO_TEST_SUITE(a_grant_that_was_answered)

BOOST_AUTO_TEST_CASE(stays_when_its_client_reads_the_answer_and_closes) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            client.send(acquire_of(resource));
            expect_success(client.answer());
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(stays_when_its_client_has_read_two_answers_and_closes) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t i) {
            client.send(acquire_of(resource));
            expect_success(client.answer());
            client.send(later_requests().at(i / 4 % later_requests().size()));
            client.answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(stays_when_its_client_leaves_the_answer_to_a_later_request_unread) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t i) {
            client.send(acquire_of(resource));
            client.answer();
            client.send(later_requests().at(i / 4 % later_requests().size()));
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(stays_when_its_client_speaks_frames) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            Acquire acquire;
            acquire.opens.emplace().principal = "ann";
            acquire.locks = {{.resource = resource}};
            std::string bytes(frame_greeting);
            append_call(bytes, 1, {acquire, {}, {}});
            client.send(bytes);
            client.read_frame();
            bytes.clear();
            append_call(bytes, 2, {ListLocks{}, {}, {}});
            client.send(bytes);
            client.read_frame();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(is_released_if_its_client_does_not_read_it) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            client.send(acquire_of(resource));
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == conversations());
    }
}

BOOST_AUTO_TEST_CASE(is_released_if_its_client_sent_the_next_request_before_the_answer) {
    // Both requests arrive in one piece, so the second one does not confirm the response to the
    // first.
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            client.send(acquire_of(resource) + later_requests().at(4));
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == conversations());
    }
}

// A second request that joins the grant, and whose answer is lost, must not release it.
BOOST_AUTO_TEST_CASE(stays_when_its_session_joins_it_and_leaves_that_answer_unread) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const std::string session = world.open_session();
        for (std::size_t i = 0; i < 50; ++i) {
            const std::string resource = "r" + std::to_string(i);
            const auto acquire = [&](const std::string& held) {
                return post("Rocklock_20261121.Acquire", "{" + session + R"("Held":")" + held +
                                                             R"(","Locks":[{"Resource":")" +
                                                             resource + "\"}]}");
            };
            world.converse(way, i, [&](Client& client) {
                client.send(acquire("refuse"));
                expect_success(client.answer());
            });
            world.converse(way, i, [&](Client& client) {
                client.send(acquire("join"));
                client.await_answer();
            });
        }
        world.await_end();
        for (std::size_t i = 0; i < 50; ++i) BOOST_TEST(world.is_held("r" + std::to_string(i)));
    }
}

// The client peeks at the response, so the socket reports it as unread.
BOOST_AUTO_TEST_CASE(stays_when_a_call_on_another_connection_shows_that_its_client_knows_it) {
    const std::vector<std::function<std::string(const Known&)>> calls{
        [](const Known& at) { return at.item("PutItem", put_body, true); },
        [](const Known& at) { return at.item("PutItem", put_body, false); },
        [](const Known& at) { return at.item("GetItem", R"("Key":{"id":{"S":"1"}})", true); },
        [](const Known& at) {
            return at.call("Convert", R"(,"Mode":"exclusive","Grant":)" + at.grant);
        },
        [](const Known& at) {
            return at.call("SaveEdit", R"(,"Token":)" + at.token +
                                           R"(,"TransactItems":[{"Put":{"TableName":"bound",)" +
                                           put_body + "}}]");
        },
        [](const Known& at) {
            return at.call("Acquire", R"(,"Held":"join","Locks":[{"Resource":"bound/1"}])");
        },
    };
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        for (const auto& call : calls) {
            World world;
            const auto session = world.open_session();
            world.converse(way, 0, [&](const Client& client) {
                client.send(post("Rocklock_20261121.Acquire",
                                 "{" + session + R"("Locks":[{"Resource":"bound/1"}]})"));
                // The response has no secret, because the session was opened before.
                const Known known("{" + session + client.peek_answer());
                world.converse(way, 1, [&](Client& other) {
                    other.send(call(known));
                    const auto answer = other.answer();
                    BOOST_TEST(answer.find("200 OK") != std::string::npos, answer);
                });
            });
            world.await_end();
            BOOST_TEST(world.is_held("bound/1"));
        }
    }
}

BOOST_AUTO_TEST_CASE(stays_when_the_session_that_was_opened_for_it_is_presented_elsewhere) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        for (const std::string verb : {"RenewSession", "ShowSession"}) {
            World world;
            world.converse(way, 0, [&](const Client& client) {
                client.send(acquire_of("bound/1"));
                const Known known(client.peek_answer());
                world.converse(way, 1, [&](Client& other) {
                    other.send(known.call(verb));
                    expect_success(other.answer());
                });
            });
            world.await_end();
            BOOST_TEST(world.is_held("bound/1"));
        }
    }
}

// A renewal shows that a client of the session is alive, but not that it knows the grant.
BOOST_AUTO_TEST_CASE(is_given_back_when_its_session_is_only_renewed_elsewhere) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto session = world.open_session();
        world.converse(way, 0, [&](const Client& client) {
            client.send(post("Rocklock_20261121.Acquire",
                             "{" + session + R"("Locks":[{"Resource":"bound/1"}]})"));
            const Known known("{" + session + client.peek_answer());
            world.converse(way, 1, [&](Client& other) {
                other.send(known.call("RenewSession"));
                expect_success(other.answer());
            });
        });
        world.await_end();
        BOOST_TEST(!world.is_held("bound/1"));
    }
}

// The response to an incomplete or invalid request is left unread, not the one that was read.
BOOST_AUTO_TEST_CASE(stays_when_the_answer_to_an_incomplete_request_is_left_unread) {
    const std::array<std::string, 4> requests{
        post("Rocklock_20261121.ListLocks", "", "Expect: 100-continue\r\n"),
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        "invalid\r\n\r\n",
    };
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [&](Client& client, const std::string& resource, std::size_t i) {
            client.send(acquire_of(resource));
            expect_success(client.answer());
            auto request = requests.at(i / 4 % requests.size());
            const auto length = request.find("Content-Length: 0");
            if (length != std::string::npos) request.replace(length, 17, "Content-Length: 2");
            client.send(request);
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_CASE(stays_when_the_answer_to_an_invalid_frame_is_left_unread) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            Acquire acquire;
            acquire.opens.emplace().principal = "ann";
            acquire.locks = {{.resource = resource}};
            std::string bytes(frame_greeting);
            append_call(bytes, 1, {acquire, {}, {}});
            client.send(bytes);
            client.read_frame();
            client.send(std::string(64, '\xFF'));
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::conversing
