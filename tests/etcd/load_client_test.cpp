#include "storage/etcd/client/load_client.hpp"

#include <cstdlib>
#include <string>

#include <boost/test/unit_test.hpp>

namespace rocklock::etcd {

namespace {

class LibraryVariable {
public:
    explicit LibraryVariable(const std::string& path) {
        setenv("ROCKLOCK_ETCD_LIBRARY", path.c_str(), 1);
    }
    LibraryVariable(const LibraryVariable&) = delete;
    LibraryVariable& operator=(const LibraryVariable&) = delete;
    ~LibraryVariable() { unsetenv("ROCKLOCK_ETCD_LIBRARY"); }
};

ClientOptions some_options() {
    ClientOptions options;
    options.endpoints = {"127.0.0.1:1"};
    return options;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_loader_of_the_client_of_etcd)

BOOST_AUTO_TEST_CASE(finds_it_in_the_folder_of_libraries_next_to_the_program) {
    const auto client = load_client(some_options());
    BOOST_TEST(client.has_value(), (client ? "" : client.error().message));
}

BOOST_AUTO_TEST_CASE(names_the_missing_library) {
    const LibraryVariable variable("/missing/librocklock_etcd.so");
    const auto client = load_client(some_options());
    BOOST_REQUIRE(!client);
    BOOST_TEST((client.error().code == ErrorCode::invalid_argument));
    BOOST_TEST(client.error().message.find("no support for etcd") != std::string::npos);
    BOOST_TEST(client.error().message.find("/missing/librocklock_etcd.so") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(refuses_another_library) {
    const LibraryVariable variable("libc.so.6");
    const auto client = load_client(some_options());
    BOOST_REQUIRE(!client);
    BOOST_TEST((client.error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_CASE(refuses_invalid_options) {
    const auto without_address = load_client({});
    BOOST_REQUIRE(!without_address);
    BOOST_TEST((without_address.error().code == ErrorCode::invalid_argument));

    auto options = some_options();
    options.tls = true;
    options.ca_file = "/missing/ca.pem";
    const auto without_file = load_client(options);
    BOOST_REQUIRE(!without_file);
    BOOST_TEST((without_file.error().code == ErrorCode::invalid_argument));
    BOOST_TEST(without_file.error().message.find("/missing/ca.pem") != std::string::npos);

    options.ca_file.clear();
    options.cert_file = "client.pem";
    const auto without_key = load_client(options);
    BOOST_REQUIRE(!without_key);
    BOOST_TEST((without_key.error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::etcd
