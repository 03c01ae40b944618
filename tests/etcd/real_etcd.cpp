#include "etcd/real_etcd.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "storage/etcd/client/load_client.hpp"

namespace rocklock::testing {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds start_timeout{20};

// Starts a program with its output in the file `log`. The kernel kills it when this thread ends.
pid_t start_program(const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t process = fork();
    if (process != 0) return process;
    // Only system calls, because this process may have had other threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
}

int wait_for(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void run_program(const std::vector<std::string>& words, const std::string& log) {
    if (wait_for(start_program(words, log)) == 0) return;
    std::string text = words[0];
    for (std::size_t index = 1; index < words.size(); ++index) text += " " + words[index];
    throw std::runtime_error(text + ": " + content(log));
}

// Tries to bind a socket to this port of 127.0.0.1, and closes the socket.
bool is_free(std::uint16_t port) {
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool bound = bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(server);
    return bound;
}

// Returns an address with a port below the range from which the kernel chooses ports for outgoing
// connections. One of these could otherwise take the port before etcd is started or restarted.
std::string free_address() {
    constexpr std::uint16_t first_port = 10'000;
    constexpr std::uint16_t last_port = 32'767;
    static std::mt19937 random{std::random_device{}()};
    static std::set<std::uint16_t> used;
    std::uniform_int_distribution<std::uint16_t> ports(first_port, last_port);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const std::uint16_t port = ports(random);
        if (is_free(port) && used.insert(port).second) return "127.0.0.1:" + std::to_string(port);
    }
    throw std::runtime_error("no free port");
}

std::string name_of(std::size_t member) { return "member" + std::to_string(member); }

}  // namespace

boost::test_tools::assertion_result has_etcd(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result found = true;
    for (const char* program : {"etcd --version", "etcdctl version", "openssl version"}) {
        const std::string command = std::string(program) + " >/dev/null 2>&1";
        if (std::system(command.c_str()) != 0) found = false;
    }
    found.message() << "needs the programs etcd, etcdctl and openssl";
    return found;
}

RealEtcd::RealEtcd(RealEtcdOptions options) : options_(std::move(options)) {
    if (options_.tls) make_certificates();
    for (std::size_t index = 0; index < options_.members; ++index) {
        members_.push_back({.client_address = free_address(), .peer_address = free_address()});
    }
    for (std::size_t index = 0; index < members_.size(); ++index) start(index);
    for (std::size_t index = 0; index < members_.size(); ++index) await_ready(index);
}

RealEtcd::~RealEtcd() {
    for (std::size_t index = 0; index < members_.size(); ++index) kill(index);
}

void RealEtcd::make_certificates() const {
    const std::string log = file("openssl.log");
    const auto openssl = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "openssl");
        run_program(words, log);
    };
    std::ofstream(file("names")) << "subjectAltName=IP:127.0.0.1\n";
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", file("ca.key"), "-out", file("ca.pem"), "-subj", "/CN=test", "-days", "2"});
    for (const std::string name : {"server", "client"}) {
        openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-keyout", file(name + ".key"), "-out", file(name + ".request"), "-subj",
                 "/CN=" + name});
        openssl({"x509", "-req", "-in", file(name + ".request"), "-CA", file("ca.pem"), "-CAkey",
                 file("ca.key"), "-CAcreateserial", "-extfile", file("names"), "-out",
                 file(name + ".pem"), "-days", "2"});
    }
    openssl({"x509", "-req", "-in", file("client.request"), "-CA", file("ca.pem"), "-CAkey",
             file("ca.key"), "-CAcreateserial", "-out", file("expired.pem"), "-days", "-1"});
}

void RealEtcd::start(std::size_t member) {
    const std::string scheme = options_.tls ? "https://" : "http://";
    std::string cluster;
    for (std::size_t index = 0; index < members_.size(); ++index) {
        cluster +=
            (index == 0 ? "" : ",") + name_of(index) + "=http://" + members_[index].peer_address;
    }
    const std::string client_url = scheme + members_[member].client_address;
    const std::string peer_url = "http://" + members_[member].peer_address;
    const bool alone = members_.size() == 1;
    std::vector<std::string> words{
        "etcd", "--name", name_of(member), "--data-dir", file(name_of(member)),
        "--listen-client-urls", client_url, "--advertise-client-urls", client_url,
        "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
        "--initial-cluster", cluster, "--log-level", "error", "--logger", "zap",
        // A single member waits for the others, too, and needs no heartbeats. With several members
        // on a busy machine, an election timeout of less than the default causes elections.
        "--heartbeat-interval", alone ? "10" : "100", "--election-timeout", alone ? "100" : "1000"};
    if (options_.tls) {
        words.insert(words.end(),
                     {"--cert-file", file("server.pem"), "--key-file", file("server.key"),
                      "--client-cert-auth", "--trusted-ca-file", file("ca.pem")});
    }
    words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
    members_[member].process = start_program(words, file(name_of(member) + ".log"));
}

void RealEtcd::kill(std::size_t member) {
    pid_t& process = members_[member].process;
    if (process <= 0) return;
    ::kill(process, SIGKILL);
    wait_for(process);
    process = -1;
}

void RealEtcd::pause(std::size_t member) {
    const pid_t process = members_[member].process;
    ::kill(process, SIGSTOP);
    // On a busy machine, threads can continue for a while after kill() has returned.
    int status = 0;
    while (waitpid(process, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    if (!WIFSTOPPED(status)) throw std::runtime_error("etcd has ended");
}

void RealEtcd::resume(std::size_t member) { ::kill(members_[member].process, SIGCONT); }

etcd::ClientOptions RealEtcd::client_options() const {
    etcd::ClientOptions options;
    for (const Member& member : members_) options.endpoints.push_back(member.client_address);
    if (options_.tls) {
        options.tls = true;
        options.ca_file = file("ca.pem");
        options.cert_file = file("client.pem");
        options.key_file = file("client.key");
    }
    return options;
}

std::unique_ptr<etcd::Client> RealEtcd::client() const {
    return etcd::load_client(client_options()).value();
}

void RealEtcd::await_ready(std::size_t member) const {
    auto options = client_options();
    options.endpoints = {members_[member].client_address};
    const auto deadline = std::chrono::steady_clock::now() + start_timeout;
    while (true) {
        // A client that has not failed before connects without a delay.
        const auto read = etcd::load_client(options).value()->range({.key = "ready"}, 1s);
        // A cluster with authentication serves requests if it refuses this one.
        if (read || read.error().code == ErrorCode::access_denied) return;
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::runtime_error("etcd does not start: " + read.error().message + "\n" +
                                     content(file(name_of(member) + ".log")));
        }
        std::this_thread::yield();
    }
}

void RealEtcd::await_connection(etcd::Client& client) {
    const auto deadline = std::chrono::steady_clock::now() + start_timeout;
    while (true) {
        const auto read = client.range({.key = "ready"}, 1s);
        if (read || read.error().code != ErrorCode::unreachable) return;
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::runtime_error("the client does not connect again: " + read.error().message);
        }
        std::this_thread::yield();
    }
}

void RealEtcd::control(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words{"etcdctl", "--endpoints", members_[0].client_address};
    words.insert(words.end(), arguments.begin(), arguments.end());
    run_program(words, file("etcdctl.log"));
}

}  // namespace rocklock::testing
