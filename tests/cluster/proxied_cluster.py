"""Three members of etcd and three nodes, with proxies on all their ways.

Each node reaches each member through a proxy of its own, and other nodes through the proxy of that
node. The members reach each other directly.
"""

from cluster import STORE, Cluster
from harness import wait_until
from proxy import Proxy
from relayed import free_port

NODES = ("a", "b", "c")


class ProxiedCluster(Cluster):
    """Tests start everything with start_all()."""

    def start_all(self, *options):
        self.options = options
        self.etcd(3)
        self.ways = {name: [Proxy(member.port) for member in self.members] for name in NODES}
        self.links = {}
        for name in NODES:
            self.ports[name] = free_port()
            self.links[name] = Proxy(self.ports[name])
        self.http_ports = {name: free_port() for name in NODES}
        self.nodes = {}
        for name in NODES:
            self.start_node(name)
        for name in NODES:
            wait_until(lambda node=self.nodes[name]: self.is_ready(node), f"{name} is ready")

    def tearDown(self):
        for proxy in self.proxies():
            proxy.close()
        super().tearDown()

    def proxies(self):
        ways = getattr(self, "ways", {})
        return [proxy for each in ways.values() for proxy in each] + list(getattr(self, "links", {}).values())

    def url_for(self, name):
        return "etcd://" + ",".join(f"127.0.0.1:{proxy.port}" for proxy in self.ways[name]) + STORE[:-1]

    def start_node(self, name):
        """Starts a node, and does not wait until it is ready."""
        self.nodes[name] = self.node(name, "--peer-address", f"127.0.0.1:{self.links[name].port}",
                                     "--http", f"127.0.0.1:{self.http_ports[name]}", *self.options, ready=False)

    def is_ready(self, node):
        self.assertIsNone(node.process.poll(), node.log())
        return "the store is open" in node.log() or "connected to the manager" in node.log()
