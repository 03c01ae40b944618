#include "daemon/peer/tls.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/assert.hpp"

namespace rocklock {
namespace {

struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// Returns the oldest reason in OpenSSL's queue, and empties the queue.
std::string take_reason() {
    const auto code = ERR_get_error();
    ERR_clear_error();
    if (code == 0) return "unknown reason";
    if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : "error " + std::to_string(code);
}

Error unusable(const char* setting, const std::string& file) {
    return {ErrorCode::invalid_argument,
            std::string(setting) + ": the file " + file + " cannot be used: " + take_reason()};
}

Result<void> load(SSL_CTX* context, const TlsFiles& files) {
    if (files.certificate.empty() || files.key.empty() || files.authority.empty()) {
        return Error(ErrorCode::invalid_argument,
                     "peer-cert, peer-key and peer-ca must be given together");
    }
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
        return unusable("peer-cert", files.certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        return unusable("peer-key", files.key);
    }
    if (SSL_CTX_load_verify_locations(context, files.authority.c_str(), nullptr) != 1) {
        return unusable("peer-ca", files.authority);
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    return {};
}

// Gives the manager a certificate that no authority has issued. Without any certificate, TLS cannot
// be used.
void make_certificate(SSL_CTX* context) {
    const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    const Owned<X509> certificate(X509_new());
    ROCKLOCK_ASSERT(key && certificate);
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
    constexpr long seconds_per_year = 31'536'000;
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 10 * seconds_per_year);
    X509_set_pubkey(certificate.get(), key.get());
    const int signed_bytes = X509_sign(certificate.get(), key.get(), EVP_sha256());
    ROCKLOCK_ASSERT(signed_bytes > 0);
    SSL_CTX_use_certificate(context, certificate.get());
    SSL_CTX_use_PrivateKey(context, key.get());
}

int size_for_openssl(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

bool is_address(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string text_of(const ASN1_STRING* text) {
    unsigned char* bytes = nullptr;
    const int size = ASN1_STRING_to_UTF8(&bytes, text);
    if (size < 0) return "";
    std::string result(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
    return result;
}

std::string common_name_of(const X509* certificate) {
    const X509_NAME* subject = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0) return "";
    return text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

std::vector<std::string> dns_names_of(const X509* certificate) {
    std::vector<std::string> found;
    const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const auto* name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type == GEN_DNS) found.push_back(text_of(name->d.dNSName));
    }
    return found;
}

}  // namespace

// ---- TlsContext ----

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsFiles& files, bool manager) {
    Owned<SSL_CTX> context(SSL_CTX_new(manager ? TLS_server_method() : TLS_client_method()));
    ROCKLOCK_ASSERT(context);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    // Without tickets, the manager sends nothing after the handshake until the relay has sent
    // something. Therefore the relay can recognize that an unused connection has ended.
    SSL_CTX_set_num_tickets(context.get(), 0);
    // One system call reads the head of a record together with the rest.
    SSL_CTX_set_read_ahead(context.get(), 1);
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    if (!files.empty()) {
        auto loaded = load(context.get(), files);
        if (!loaded) return std::move(loaded).error();
    } else if (manager) {
        make_certificate(context.get());
    }
    return std::shared_ptr<const TlsContext>(new TlsContext(context.release(), !files.empty()));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_manager(const TlsFiles& files) {
    return make(files, true);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_relay(const TlsFiles& files) {
    return make(files, false);
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::unique_ptr<TlsChannel> TlsContext::accept(int socket) const {
    SSL* ssl = SSL_new(context_);
    ROCKLOCK_ASSERT(ssl != nullptr);
    SSL_set_fd(ssl, socket);
    SSL_set_accept_state(ssl);
    return std::make_unique<TlsChannel>(ssl);
}

std::unique_ptr<TlsChannel> TlsContext::connect(int socket, const std::string& host) const {
    SSL* ssl = SSL_new(context_);
    ROCKLOCK_ASSERT(ssl != nullptr);
    SSL_set_fd(ssl, socket);
    SSL_set_connect_state(ssl);
    if (authenticates_) {
        if (is_address(host)) {
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
        } else {
            SSL_set1_host(ssl, host.c_str());
            SSL_set_tlsext_host_name(ssl, host.c_str());
        }
    }
    return std::make_unique<TlsChannel>(ssl);
}

// ---- TlsChannel ----

TlsChannel::~TlsChannel() { SSL_free(ssl_); }

TlsChannel::Progress TlsChannel::shake_hands() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    if (result == 1) return Progress::done;
    const int code = SSL_get_error(ssl_, result);
    if (code == SSL_ERROR_WANT_READ) return Progress::wants_input;
    if (code == SSL_ERROR_WANT_WRITE) return Progress::wants_output;
    const long verified = SSL_get_verify_result(ssl_);
    if (verified != X509_V_OK) {
        failure_ = X509_verify_cert_error_string(verified);
        ERR_clear_error();
    } else if (code == SSL_ERROR_SYSCALL && ERR_peek_error() == 0) {
        failure_ = errno == 0 ? "the other side has closed the connection" : std::strerror(errno);
    } else {
        failure_ = take_reason();
    }
    return Progress::failed;
}

std::optional<PeerCertificate> TlsChannel::peer_certificate() const {
    const X509* certificate = SSL_get0_peer_certificate(ssl_);
    if (certificate == nullptr) return std::nullopt;
    return PeerCertificate{common_name_of(certificate), dns_names_of(certificate)};
}

// Converts a result of SSL_read() or SSL_write() to that of a system call.
ssize_t TlsChannel::result_of(int result) {
    if (result > 0) return result;
    const int system_error = errno;
    switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_ZERO_RETURN:
            return 0;
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            errno = EAGAIN;
            return -1;
        case SSL_ERROR_SYSCALL:
            failure_ = std::strerror(system_error);
            ERR_clear_error();
            break;
        default:
            failure_ = take_reason();
    }
    errno = ECONNRESET;
    return -1;
}

ssize_t TlsChannel::receive(std::span<char> buffer) {
    ERR_clear_error();
    const auto size = result_of(SSL_read(ssl_, buffer.data(), size_for_openssl(buffer.size())));
    drained_ = size < 0;
    return size;
}

ssize_t TlsChannel::send(std::string_view bytes) {
    ERR_clear_error();
    return result_of(SSL_write(ssl_, bytes.data(), size_for_openssl(bytes.size())));
}

bool TlsChannel::has_buffered() const { return !drained_ && SSL_has_pending(ssl_) == 1; }

void TlsChannel::end_output() {
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
}

}  // namespace rocklock
