#include <utility>

#include <rocklock/storage/etcd.hpp>

#include "storage/etcd/client/connection.hpp"
#include "storage/etcd/client/url.hpp"
#include "storage/etcd/etcd_storage.hpp"

namespace rocklock {

bool is_etcd_url(const std::string& location) { return location.starts_with(etcd::url_scheme); }

Result<std::unique_ptr<Storage>> open_etcd_storage(const std::string& url, Clock& clock,
                                                   const EtcdOptions& options) {
    auto connection = etcd::open_connection(url, options);
    if (!connection) return std::move(connection).error();
    return etcd::open_storage(std::move(connection->client), connection->layout.prefix(), clock,
                              options);
}

}  // namespace rocklock
