// A real etcd cluster on this machine, for tests.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "storage/etcd/client/client.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {

// For Boost.Test's `precondition`: whether the programs etcd, etcdctl and openssl are installed.
boost::test_tools::assertion_result has_etcd(boost::unit_test::test_unit_id);

struct RealEtcdOptions {
    std::size_t members = 1;
    // Whether clients must use TLS, with a certificate of their own.
    bool tls = false;
    // Arguments of etcd that are added to those for all members.
    std::vector<std::string> arguments{};
};

// The members are processes that listen on free ports of 127.0.0.1 and store their data in a
// temporary directory. They end with this process.
//
// Threads: one thread.
class RealEtcd {
public:
    // Starts all members and waits until each of them serves requests. Throws an exception on
    // failure, which contains the log.
    explicit RealEtcd(RealEtcdOptions options = {});
    RealEtcd(const RealEtcd&) = delete;
    RealEtcd& operator=(const RealEtcd&) = delete;
    // Kills all members.
    ~RealEtcd();

    // The options of a client of all members.
    etcd::ClientOptions client_options() const;
    std::unique_ptr<etcd::Client> client() const;

    // Kills a member. Its data remain.
    void kill(std::size_t member = 0);
    // Starts a member that was killed. Does not wait until it serves requests.
    void start(std::size_t member = 0);
    // Stops all threads of a member; its connections remain open.
    void pause(std::size_t member = 0);
    void resume(std::size_t member = 0);
    // Waits until a member answers linearizable reads, which requires a leader.
    void await_ready(std::size_t member = 0) const;
    // Waits until requests of `client` are answered again after a restart. On a busy machine, the
    // first attempts to connect again can time out.
    static void await_connection(etcd::Client& client);

    // Executes etcdctl and throws an exception if it fails.
    void control(const std::vector<std::string>& arguments) const;
    // The file with this name in the temporary directory.
    std::string file(const std::string& name) const { return directory_ / name; }

private:
    struct Member {
        std::string client_address;
        std::string peer_address;
        pid_t process = -1;
    };

    void make_certificates() const;

    const RealEtcdOptions options_;
    const TemporaryDirectory directory_;
    std::vector<Member> members_;
};

}  // namespace rocklock::testing
