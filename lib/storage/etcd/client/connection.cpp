#include "storage/etcd/client/connection.hpp"

#include <utility>

#include "storage/etcd/client/load_client.hpp"
#include "storage/etcd/client/url.hpp"

namespace rocklock::etcd {

Result<Connection> open_connection(const std::string& url, const EtcdOptions& options) {
    auto parsed = parse_url(url);
    if (!parsed) return std::move(parsed).error();
    Layout layout(parsed->prefix);
    auto client = load_client(client_options(*parsed, options));
    if (!client) return std::move(client).error();
    return Connection{*std::move(client), std::move(layout)};
}

}  // namespace rocklock::etcd
