#include "storage/etcd/grpc/tls_advice.hpp"

#include <ctime>
#include <memory>

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace rocklock::etcd {
namespace {

std::string as_date(std::chrono::system_clock::time_point time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> expiry_of_certificate(const std::string& pem) {
    const std::unique_ptr<BIO, int (*)(BIO*)> text(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
    const std::unique_ptr<X509, void (*)(X509*)> certificate(
        PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr), X509_free);
    std::tm parts{};
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1) {
        return std::nullopt;
    }
    return std::chrono::system_clock::from_time_t(timegm(&parts));
}

std::string tls_advice(const OwnCertificate& certificate, const std::string& problem,
                       std::chrono::system_clock::time_point now) {
    if (certificate.expires && *certificate.expires < now) {
        return "; the certificate in " + certificate.file + " expired at " +
               as_date(*certificate.expires) + ": replace it and restart this process";
    }
    if (problem.find("certificate verify failed") != std::string::npos) {
        return "; check that etcd-ca contains the authority that has signed the certificate of "
               "etcd, and that this certificate has not expired";
    }
    if (problem.find("is not in peer certificate") != std::string::npos) {
        return "; use a name or an address in the URL that the certificate of etcd contains";
    }
    return {};
}

}  // namespace rocklock::etcd
