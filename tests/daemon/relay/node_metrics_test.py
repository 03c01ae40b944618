"""The metrics of a manager that describe its relays and their clients."""

import os
import pathlib
import pwd
import re
import signal
import subprocess
import unittest

import tap
from harness import Connection, wait_until
from relayed import Relays

PAGE = pathlib.Path(__file__).parents[3] / "docs/operations.md"


def samples_of(text, name):
    """Returns the labels and the value of each line of a metric."""
    lines = re.findall(rf"(?m)^{name}\{{(.*)\}} (\d+)$", text)
    return [(dict(re.findall(r'(\w+)="([^"]*)"', labels)), int(value)) for labels, value in lines]


class NodeMetrics(Relays):
    def text(self, daemon):
        return subprocess.run(["curl", "-s", "-m", "20", "--unix-socket", daemon.socket, "http://localhost/metrics"],
                              capture_output=True, text=True, check=True).stdout

    def of_nodes(self, daemon, name):
        return {labels["node"]: value for labels, value in samples_of(self.text(daemon), name)}

    def sessions(self, daemon):
        """Returns the number of sessions of each user, by its labels."""
        lines = samples_of(self.text(daemon), "rocklock_user_sessions")
        return {(labels["uid"], labels.get("user")): value for labels, value in lines}

    def connect(self, daemon):
        client = Connection(daemon.socket)
        self.connections.append(client)
        self.assertEqual(client.call("Ping").status, 200)
        return client

    def test_links_and_connections_of_each_node(self):
        nodes = self.folder / "nodes"
        nodes.write_text("web1\nweb2\n")
        main = self.manager("--peer-nodes", nodes)
        self.assertEqual(self.of_nodes(main, "rocklock_node_links"), {"web1": 0, "web2": 0})
        web = self.relay(main.peer)
        wait_until(lambda: self.of_nodes(main, "rocklock_node_links")["web1"] > 0, "the link is counted")
        clients = [self.connect(web) for _ in range(3)]
        self.connect(main)
        self.assertEqual(self.of_nodes(main, "rocklock_node_connections"), {"web1": 3, "web2": 0})
        self.assertEqual(self.of_nodes(main, "rocklock_node_links")["web2"], 0)
        clients[0].close()
        wait_until(lambda: self.of_nodes(main, "rocklock_node_connections")["web1"] == 2, "the end is counted")
        # Through the relay, the metrics are those of the manager, including this connection.
        self.assertEqual(self.of_nodes(web, "rocklock_node_connections")["web1"], 3)
        web.stop(signal.SIGKILL)
        wait_until(lambda: self.of_nodes(main, "rocklock_node_connections")["web1"] == 0, "no connections are left")
        self.assertEqual(self.of_nodes(main, "rocklock_node_links"), {"web1": 0, "web2": 0})

    def test_a_manager_without_nodes_has_no_metrics_of_nodes(self):
        main = self.manager()
        self.assertNotIn("rocklock_node", self.text(main))
        self.relay(main.peer)
        wait_until(lambda: "web1" in self.of_nodes(main, "rocklock_node_links"), "the link is counted")

    def test_have_help_texts_and_are_documented(self):
        main = self.manager()
        self.relay(main.peer)
        wait_until(lambda: "rocklock_node_links" in self.text(main), "the link is counted")
        described = PAGE.read_text(encoding="utf-8")
        for name in ("rocklock_node_links", "rocklock_node_connections"):
            self.assertRegex(self.text(main), rf"# HELP {name} .*\.\n# TYPE {name} gauge\n")
            self.assertIn(f"`{name}{{node}}`", described)

    def test_users_of_nodes_are_named(self):
        main = self.manager()
        webs = [self.relay(main.peer, node=node) for node in ("web1", "web2")]
        for daemon, resource in zip((main, *webs), "abc"):
            self.assertEqual(self.at(daemon, "acquire", resource, "--lease", "1m").returncode, 0)
        uid = os.getuid()
        name = pwd.getpwuid(uid).pw_name
        self.assertEqual(self.sessions(main), {(str(uid), None): 1, (f"{uid}@web1", f"{name}@web1"): 1,
                                               (f"{uid}@web2", f"{name}@web2"): 1})

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    def test_a_user_without_a_name_has_only_its_uid(self):
        main = self.manager("--max-user-sessions", "1")
        web = self.relay(main.peer)
        web.socket.chmod(0o777)
        self.folder.chmod(0o755)
        user = {"user": 54321, "group": 54321, "extra_groups": []}
        self.assertEqual(self.at(web, "acquire", "a", "--lease", "1m", **user).returncode, 0)
        self.assertIn(("54321@web1", None), self.sessions(main))
        # The message does not contain the number that identifies the user for the manager.
        refused = self.at(web, "acquire", "b", "--lease", "1m", **user)
        self.assertIn("user 54321 of the client's host has 1 sessions", refused.stderr)

    # The session is recovered. The file of nodes, but not the relay, has named the node.
    def test_a_user_whose_relay_is_not_connected(self):
        nodes = self.folder / "nodes"
        nodes.write_text("web1\n")
        store = ("--db", pathlib.Path(self.folder) / "store")
        main = self.manager("--peer-nodes", nodes, store=store)
        web = self.relay(main.peer)
        self.assertEqual(self.at(web, "acquire", "a", "--lease", "10m").returncode, 0)
        web.stop(signal.SIGKILL)
        main.stop(signal.SIGTERM)
        main = self.manager("--peer-nodes", nodes, store=store)
        self.assertIn((f"{os.getuid()}@web1", None), self.sessions(main))
        main.stop(signal.SIGTERM)
        main = self.manager(store=store)
        unknown, = [uid for uid, _ in self.sessions(main) if "@" in uid]
        self.assertRegex(unknown, rf"^{os.getuid()}@\?\d+$")


if __name__ == "__main__":
    tap.main()
