#include <utility>

#include <rocklock/storage/etcd.hpp>

#include "storage/etcd/etcd_storage.hpp"
#include "storage/etcd/load_client.hpp"
#include "storage/etcd/url.hpp"

namespace rocklock {

bool is_etcd_url(const std::string& location) { return location.starts_with(etcd::url_scheme); }

Result<std::unique_ptr<Storage>> open_etcd_storage(const std::string& url, Clock& clock,
                                                   const EtcdOptions& options) {
    auto parsed = etcd::parse_url(url);
    if (!parsed) return std::move(parsed).error();
    etcd::ClientOptions client_options;
    client_options.endpoints = std::move(parsed->endpoints);
    client_options.tls = parsed->tls;
    client_options.ca_file = options.ca_file;
    client_options.cert_file = options.cert_file;
    client_options.key_file = options.key_file;
    client_options.user = options.user;
    client_options.password = options.password;
    auto client = etcd::load_client(client_options);
    if (!client) return std::move(client).error();
    return etcd::open_storage(*std::move(client), parsed->prefix, clock, options);
}

}  // namespace rocklock
