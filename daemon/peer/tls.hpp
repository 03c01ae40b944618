// Mutual TLS between the daemons of several hosts.
//
// Only TLS 1.3 is used, and sessions are not resumed. Each side checks that the certificate of the
// other side was issued by the configured authority. If there are no certificates, which is allowed
// on loopback addresses only, the connection is encrypted but neither side is authenticated.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

// Types of OpenSSL.
struct ssl_ctx_st;
struct ssl_st;

namespace rocklock {

// The files of one daemon, in PEM format. All three are empty if the daemon has no certificate.
struct TlsFiles {
    // The certificate of this daemon, followed by those of intermediate authorities.
    std::string certificate;
    std::string key;
    // The certificates of the authorities that issue the certificates of the other daemons.
    std::string authority;

    bool empty() const { return certificate.empty() && key.empty() && authority.empty(); }
};

// The names in the certificate of a peer.
struct PeerCertificate {
    // The common name of the subject.
    std::string common_name;
    // The names of the extension subjectAltName that are DNS names.
    std::vector<std::string> dns_names;
};

class TlsChannel;

// The certificates and rules of one side of the connections.
//
// Threads: thread-safe.
class TlsContext {
public:
    // For the side that accepts connections. Without files, creates a certificate of its own.
    //
    // Errors: invalid_argument  a file cannot be read, or does not contain a certificate or key; or
    //                           the key does not belong to the certificate
    static Result<std::shared_ptr<const TlsContext>> for_manager(const TlsFiles& files);
    // For the side that connects. Errors: as for_manager()
    static Result<std::shared_ptr<const TlsContext>> for_relay(const TlsFiles& files);

    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;
    ~TlsContext();

    // Begins the handshake of an accepted socket.
    std::unique_ptr<TlsChannel> accept(int socket) const;
    // Begins the handshake of a connected socket. The certificate of the other side must be valid
    // for `host`, which is a name or an IP address, unless this context has no certificate.
    std::unique_ptr<TlsChannel> connect(int socket, const std::string& host) const;

private:
    explicit TlsContext(ssl_ctx_st* context, bool authenticates)
        : context_(context), authenticates_(authenticates) {}

    static Result<std::shared_ptr<const TlsContext>> make(const TlsFiles& files, bool manager);

    ssl_ctx_st* const context_;
    const bool authenticates_;
};

// A connection that is encrypted with TLS.
//
// Threads:  one at a time.
// Lifetime: the owner closes the socket after the channel is destroyed.
class TlsChannel {
public:
    enum class Progress : std::uint8_t { done, wants_input, wants_output, failed };

    explicit TlsChannel(ssl_st* ssl) : ssl_(ssl) {}
    TlsChannel(const TlsChannel&) = delete;
    TlsChannel& operator=(const TlsChannel&) = delete;
    ~TlsChannel();

    // Continues the handshake. Must be called until it returns `done` or `failed`, each time after
    // the socket has become readable or writable. No other function may be called before `done`.
    Progress shake_hands();
    // Returns the reason why the handshake, receive() or send() has failed.
    const std::string& failure() const { return failure_; }
    // Returns the names in the peer's certificate, or nullopt if the peer has no certificate.
    std::optional<PeerCertificate> peer_certificate() const;

    // As recv() and send() on a non-blocking socket: return -1 and set errno on failure, with
    // EAGAIN if the socket is not ready.
    //
    // receive() returns 0 only if the peer has ended its output with the TLS alert close_notify. If
    // the connection ends without it, receive() fails with ECONNRESET, because a part of the output
    // may be missing. If send() fails with EAGAIN, the next call must begin with the same bytes.
    ssize_t receive(std::span<char> buffer);
    ssize_t send(std::string_view bytes);
    // Returns true if receive() may return bytes that were already read from the socket. The kernel
    // does not report the socket as readable for these bytes.
    bool has_buffered() const;
    // Ends the output with close_notify. The peer can still send.
    void end_output();

private:
    ssize_t result_of(int result);

    ssl_st* const ssl_;
    // Whether the last receive() returned -1. If so, has_buffered() returns false. After EAGAIN,
    // OpenSSL may have buffered a part of a record, but receive() cannot return bytes of this
    // record until the rest of it has arrived.
    bool drained_ = false;
    std::string failure_;
};

}  // namespace rocklock
