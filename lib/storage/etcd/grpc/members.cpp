#include "storage/etcd/grpc/members.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "base/read_file.hpp"

namespace rocklock::etcd {

namespace {

using std::chrono::milliseconds;

// An idle connection is tested by pings. etcd closes a connection on which pings arrive more often
// than every 5 s (its option --grpc-keepalive-min-time).
constexpr milliseconds ping_interval{5'100};
constexpr milliseconds ping_timeout{2'000};
// The time to connect, including the handshake of TLS.
constexpr milliseconds connect_timeout{2'000};
constexpr milliseconds min_reconnect_delay{100};
constexpr milliseconds max_reconnect_delay{1'000};
// The time to connect again to a member to which an earlier attempt has failed.
constexpr milliseconds reconnect_timeout{300};
constexpr std::size_t max_pem_bytes = 1 << 20;

int as_int(milliseconds duration) { return static_cast<int>(duration.count()); }

grpc::ChannelArguments channel_arguments() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, as_int(ping_interval));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, as_int(ping_timeout));
    // Without a limit of pings, because a watch may be idle for a long time.
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, as_int(min_reconnect_delay));
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, as_int(connect_timeout));
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, as_int(max_reconnect_delay));
    // A request is sent at most once, so that the classification of errors is correct. A service
    // configuration from DNS could enable retries again.
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    // The environment variable http_proxy does not apply to a cluster.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Two clients of one process do not share a connection.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // Unlimited, because a watch that is behind receives the changes of up to 1,000 revisions in
    // one message. With a limit, such a watch would fail again after each start.
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    return arguments;
}

Result<std::string> read_pem(const std::string& path) {
    if (path.empty()) return std::string();
    auto content = read_file(path, max_pem_bytes);
    if (!content) {
        return Error(ErrorCode::invalid_argument,
                     "cannot read the file " + path + " for TLS: " + std::strerror(errno));
    }
    return std::move(*content);
}

// Also enters the client's certificate into `own`.
Result<std::shared_ptr<grpc::ChannelCredentials>> credentials(const ClientOptions& options,
                                                              std::optional<OwnCertificate>& own) {
    if (!options.tls) return grpc::InsecureChannelCredentials();
    if (options.cert_file.empty() != options.key_file.empty()) {
        return Error(ErrorCode::invalid_argument,
                     "a client certificate for etcd needs both a file with the certificate and a "
                     "file with the key");
    }
    grpc::SslCredentialsOptions ssl;
    for (const auto& [path, target] : {std::pair{&options.ca_file, &ssl.pem_root_certs},
                                       std::pair{&options.cert_file, &ssl.pem_cert_chain},
                                       std::pair{&options.key_file, &ssl.pem_private_key}}) {
        auto content = read_pem(*path);
        if (!content) return content.error();
        *target = std::move(*content);
    }
    own = OwnCertificate{options.cert_file, expiry_of_certificate(ssl.pem_cert_chain)};
    return grpc::SslCredentials(ssl);
}

// Returns the reason why there is no connection. gRPC reports it only for a request, which fails at
// once if the last attempt to connect has failed.
std::string connection_problem(const Member& member, Deadline deadline) {
    deadline = std::min(deadline, std::chrono::steady_clock::now() + min_reconnect_delay);
    grpc::ClientContext context;
    context.set_deadline(for_grpc(deadline));
    etcdserverpb::StatusResponse response;
    const grpc::Status status = member.maintenance->Status(&context, {}, &response);
    if (status.ok() || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
        return "it did not accept a connection in time";
    }
    return status.error_message();
}

}  // namespace

Deadline deadline_after(milliseconds timeout) {
    return std::chrono::steady_clock::now() + std::min<milliseconds>(timeout, std::chrono::days(1));
}

std::chrono::system_clock::time_point for_grpc(Deadline deadline) {
    return std::chrono::system_clock::now() +
           std::chrono::duration_cast<std::chrono::system_clock::duration>(
               deadline - std::chrono::steady_clock::now());
}

Result<void> Member::connect(Deadline deadline) const {
    auto state = channel->GetState(true);
    if (state == GRPC_CHANNEL_READY) return {};
    const bool failed_before = state == GRPC_CHANNEL_TRANSIENT_FAILURE;
    if (failed_before) {
        // gRPC would connect again only after a delay. It can stay in this state while it connects.
        grpc::experimental::ChannelResetConnectionBackoff(channel.get());
    }
    const auto until =
        std::min(deadline, std::chrono::steady_clock::now() +
                               (failed_before ? reconnect_timeout : connect_timeout));
    while (channel->WaitForStateChange(state, for_grpc(until))) {
        state = channel->GetState(true);
        if (state == GRPC_CHANNEL_READY) return {};
        if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && !failed_before) break;
    }
    return Error(ErrorCode::unreachable, explain("cannot connect to etcd at " + address + ": " +
                                                 connection_problem(*this, deadline)));
}

std::string Member::explain(std::string problem) const {
    if (tls) problem += tls_advice(*tls, problem, std::chrono::system_clock::now());
    return problem;
}

Result<std::unique_ptr<Members>> Members::create(const ClientOptions& options) {
    if (options.endpoints.empty()) {
        return Error(ErrorCode::invalid_argument, "no address of an etcd member is given");
    }
    std::optional<OwnCertificate> own;
    const auto trust = credentials(options, own);
    if (!trust) return trust.error();
    auto members = std::make_unique<Members>();
    for (const std::string& address : options.endpoints) {
        Member member;
        member.address = address;
        member.tls = own;
        member.channel =
            grpc::CreateCustomChannel("dns:///" + address, *trust, channel_arguments());
        member.kv = etcdserverpb::KV::NewStub(member.channel);
        member.lease = etcdserverpb::Lease::NewStub(member.channel);
        member.watch = etcdserverpb::Watch::NewStub(member.channel);
        member.maintenance = etcdserverpb::Maintenance::NewStub(member.channel);
        member.auth = etcdserverpb::Auth::NewStub(member.channel);
        members->members_.push_back(std::move(member));
    }
    return members;
}

void Members::failed(std::size_t index) {
    index %= members_.size();
    current_.compare_exchange_strong(index, (index + 1) % members_.size());
}

}  // namespace rocklock::etcd
