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
    auto client = etcd::load_client(etcd::client_options(*parsed, options));
    if (!client) return std::move(client).error();
    return etcd::open_storage(*std::move(client), parsed->prefix, clock, options);
}

}  // namespace rocklock
