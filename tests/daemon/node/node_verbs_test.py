"""node ls, node yield and node check."""

import json
import signal
import threading
import time

import tap
from cluster import STORE, Cluster, ask_member, encoded
from harness import SLOWNESS, Connection, wait_until


class Client(threading.Thread):
    """Acquires and releases a read lock through a node until it is stopped. Connects again at once if it loses its
    connection. A grant whose response was lost does not block the others."""

    def __init__(self, node, resource):
        super().__init__(daemon=True)
        self.node = node
        self.resource = resource
        self.stopping = False
        self.ends = []

    def run(self):
        while not self.stopping:
            try:
                self.lock_until_stopped(Connection(str(self.node.socket)))
            except OSError:
                time.sleep(0.001)

    def lock_until_stopped(self, api):
        while not self.stopping:
            answer = api.call("Acquire", Locks=[{"Resource": self.resource, "Mode": "read"}], Principal="p", PatienceMs=10000)
            if answer.status != 200:
                return
            self.ends.append(time.monotonic())
            api.call("Release", Session=answer.json["Session"], Secret=answer.json["Secret"],
                     Grant=answer.json["Grant"])

    def stop(self):
        """Returns the longest time between two grants."""
        self.stopping = True
        self.join()
        return max(second - first for first, second in zip(self.ends, self.ends[1:]))


class List(Cluster):
    def nodes(self, node):
        done = self.at(node, "node", "ls", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_each_node_lists_all_nodes(self):
        self.etcd()
        before = time.time()
        first = self.node("b")
        second = self.node("a")
        wait_until(lambda: [node["Role"] for node in self.nodes(first)] == ["manager", "standby"], "the roles")
        version = self.rocklock("version").stdout.split()[-1]
        for node in (first, second):
            listed = self.nodes(node)
            self.assertEqual([entry["Node"] for entry in listed], ["b", "a"])
            self.assertEqual([entry["Pid"] for entry in listed], [first.process.pid, second.process.pid])
            for entry in listed:
                self.assertEqual(entry["Address"], f"127.0.0.1:{self.ports[entry['Node']]}")
                self.assertIn(version, entry["Version"])
                self.assertGreaterEqual(entry["Since"], time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(before)))
        text = self.at(second, "node", "ls").stdout.splitlines()
        self.assertRegex(text[0], r"^NODE +ROLE +FOR +ADDRESS +PID +VERSION$")
        self.assertRegex(text[1], r"^b +manager ")

    def test_a_node_that_has_ended_is_not_listed(self):
        self.etcd()
        first = self.node("a")
        for number in (signal.SIGTERM, signal.SIGKILL):
            second = self.node("b")
            wait_until(lambda: len(self.nodes(first)) == 2, "both nodes are listed")
            second.stop(number)
            if number == signal.SIGTERM:
                self.assertEqual(len(self.nodes(first)), 1)
            wait_until(lambda: len(self.nodes(first)) == 1, "the lease of the node has ended")

    def test_a_daemon_that_is_not_a_node_refuses(self):
        daemon = self.daemon("alone", "--memory")
        daemon.wait_for("the store is open")
        for verb in ("ls", "yield", "check"):
            done = self.at(daemon, "node", verb)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("not a node of a cluster", done.stderr)


class Check(Cluster):
    def check(self, node, status=0):
        done = self.at(node, "node", "check", "--json")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr + node.log())
        return json.loads(done.stdout)

    def test_the_copy_of_each_node_is_compared_while_clients_lock(self):
        self.etcd()
        nodes = {name: self.node(name, "--copy", str(self.folder / f"copy-{name}")) for name in ("a", "b")}
        for number in range(50):
            self.acquire_at(nodes["b"], f"r{number}", "--lease", "1m")
        client = Client(nodes["b"], "y")
        client.start()
        for name in ("a", "b", "a"):
            wait_until(lambda: self.manager() == name, f"{name} is the manager")
            checked = self.check(nodes[name])
            self.assertEqual((checked["Node"], checked["Differences"], checked["Examples"]), (name, 0, []))
            # A session and a grant for each lock.
            self.assertGreaterEqual(checked["Values"], 100)
            self.assertEqual(self.at(nodes[name], "node", "yield").returncode, 0)
        client.stop()
        wait_until(lambda: self.manager() == "b", "b is the manager")
        text = self.at(nodes["b"], "node", "check")
        self.assertRegex(text.stdout, r"^compared \d+ values of the node b with etcd, differences: 0\n$")
        self.assertEqual(self.at(nodes["b"], "node", "check", "--quiet").stdout, "")

    def test_a_value_that_was_changed_in_etcd_is_reported(self):
        self.etcd()
        node = self.node("a")
        self.acquire_at(node, "x", "--lease", "1m")
        before = self.check(node)
        # A key of the family `items`.
        key = STORE + "d/i"
        ask_member(self.members[0].port, "/v3/kv/put",
                   {"key": encoded(key + "added"), "value": encoded("8 bytes and more")})
        # The check is made at the last commit of the manager, which this lock makes newer than the change.
        self.acquire_at(node, "y", "--lease", "1m")
        done = self.at(node, "node", "check")
        self.assertEqual(done.returncode, 70, done.stdout)
        self.assertIn(f", differences: 1\n  items {b'added'.hex()}: only in etcd\n", done.stdout)
        self.assertIn("rocklock node yield", done.stderr)
        self.assertGreater(self.check(node, 70)["Revision"], before["Revision"])

    def test_only_administrators_may_check(self):
        self.etcd()
        self.node("a")
        standby = self.node("b")
        done = self.at(standby, "node", "check")
        self.assertEqual(done.returncode, 77, done.stderr)


class Yield(Cluster):
    def test_the_role_of_the_manager_moves_to_another_node(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        grant, session = self.acquire_at(first, "x", "--lease", "1m")
        clients = [Client(first, "y"), Client(second, "z")]
        for client in clients:
            client.start()
        for manager, other, name in ((first, second, "b"), (second, first, "a"), (first, second, "b")):
            wait_until(lambda: all(len(client.ends) > 10 for client in clients), "the clients lock")
            done = self.at(manager, "node", "yield")
            self.assertEqual(done.returncode, 0, done.stderr + manager.log())
            self.assertEqual(done.stdout, f"the node {name} is the manager now\n")
            for client in clients:
                client.ends = client.ends[-1:]
            wait_until(lambda: all(len(client.ends) > 10 for client in clients), "the clients lock")
            # Both sides keep serving.
            other.wait_for("this node is the manager now")
            renewed = self.at(manager, "renew", str(grant["Grant"]), environment=session)
            self.assertEqual(renewed.returncode, 0, renewed.stderr)
        self.assertEqual(self.resources(first)[0], "x")
        for client in clients:
            client.stop()
        self.assertNotIn("no other node has become", first.log() + second.log())

    def test_clients_are_served_again_soon(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        clients = [Client(first, "y"), Client(second, "z")]
        for client in clients:
            client.start()
        wait_until(lambda: all(len(client.ends) > 10 for client in clients), "the clients lock")
        done = self.at(first, "node", "yield", "--quiet")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        counts = [len(client.ends) for client in clients]
        wait_until(lambda: all(len(client.ends) > count + 10 for client, count in zip(clients, counts)), "they lock")
        gaps = [client.stop() for client in clients]
        print(f"# longest gap at the old manager {gaps[0] * 1000:.0f} ms, at the new one {gaps[1] * 1000:.0f} ms")
        # The goal is 0.3 s; other programs can delay the takeover.
        self.assertLess(max(gaps), 0.3 + 2 * SLOWNESS)

    def test_is_refused_if_there_is_no_other_node(self):
        self.etcd()
        node = self.node("a")
        self.acquire_at(node, "x")
        done = self.at(node, "node", "yield")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("no other node can become the manager", done.stderr)
        self.assertEqual(node.log().count("the store is open"), 1)

    def test_needs_an_administrator_on_the_host_of_the_manager(self):
        self.etcd()
        self.node("a")
        second = self.node("b")
        done = self.at(second, "node", "yield")
        self.assertEqual(done.returncode, 77, done.stderr)


if __name__ == "__main__":
    tap.main()
