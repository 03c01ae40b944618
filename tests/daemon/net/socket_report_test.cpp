// What the socket reports decides which grants a client keeps: the daemon closes the connection
// first, or sends a response after the client has closed its end.
#include "daemon/net/socket_report.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "support/conversing.hpp"
#include "wire/call_frame.hpp"

namespace rocklock::conversing {

BOOST_AUTO_TEST_SUITE(a_grant_that_was_answered)

// The daemon closes the connection first, so only a client that closes its socket shows whether it
// has read the response.
BOOST_AUTO_TEST_CASE(follows_the_client_when_the_daemon_closes_the_connection) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        for (const bool reads : {false, true}) {
            World world;
            const auto talk = [&](Client& client, const std::string& resource, std::size_t i) {
                client.send(acquire_of(resource, "Connection: close\r\n"));
                if (!reads) return client.await_answer();
                expect_success(client.answer());
                // Some clients wait for the end of the output.
                if (i % 2 == 0) client.read_to_end();
            };
            BOOST_TEST(revoked_after(world, way, talk) == (reads ? 0U : conversations()));
        }
    }
}

BOOST_AUTO_TEST_CASE(follows_the_client_that_closes_its_sending_side_first) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        for (const bool reads : {false, true}) {
            World world;
            const auto talk = [&](Client& client, const std::string& resource, std::size_t i) {
                client.send(acquire_of(resource));
                client.await_answer();
                client.close_sending_side();
                if (!reads) return;
                expect_success(client.answer());
                if (i % 64 == 0) client.read_to_end();
            };
            BOOST_TEST(revoked_after(world, way, talk) == (reads ? 0U : conversations()));
        }
    }
}

// The response is sent after the client has closed its socket.
BOOST_AUTO_TEST_CASE(is_given_back_when_its_client_closes_before_the_answer) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t i) {
            const auto id = resource.substr(resource.find('/') + 1);
            client.send(i % 2 == 0 ? begin_edit_of(id) : acquire_of(resource));
            // A random part of the work of the daemon is done before the client closes.
            for (std::size_t spins = i % 50 * 200; spins > 0; --spins) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
        };
        converse_all(world, way, talk);
        // An edit may still be in progress after the connection of its client was closed.
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (count_revoked(world) < conversations() &&
               std::chrono::steady_clock::now() < give_up) {
            std::this_thread::yield();
        }
        BOOST_TEST(count_revoked(world) == conversations());
    }
}

BOOST_AUTO_TEST_CASE(is_given_back_when_invalid_input_precedes_an_unread_answer) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            client.send(acquire_of(resource) + "invalid\r\n\r\n");
            client.await_answer();
        };
        BOOST_TEST(revoked_after(world, way, talk) == conversations());
    }
}

// After the client has closed its socket, a response to an earlier call resets the connection.
BOOST_AUTO_TEST_CASE(stays_when_a_response_arrives_after_its_client_has_closed) {
    for (const Way way : {Way::unix_socket, Way::tcp}) {
        World world;
        world.take("taken");
        const auto talk = [](Client& client, const std::string& resource, std::size_t) {
            Acquire acquire;
            acquire.opens.emplace().principal = "ann";
            acquire.locks = {{.resource = resource}};
            Acquire waiting = acquire;
            waiting.locks = {{.resource = "taken"}};
            waiting.patience = no_limit;
            std::string bytes(frame_greeting);
            append_call(bytes, 2, {waiting, {}, {}});
            append_call(bytes, 1, {acquire, {}, {}});
            client.send(bytes);
            client.read_frame();
        };
        BOOST_TEST(revoked_after(world, way, talk) == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::conversing
