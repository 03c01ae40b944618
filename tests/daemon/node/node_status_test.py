"""The health and the metrics of each node, and of a relay, at the address of --status-listen."""

import contextlib
import http.client
import pathlib
import re
import signal
import socket
import subprocess
import time

import tap
from cluster import STORE, Cluster, ask_member, encoded
from harness import Connection, wait_until
from relayed import Relays, free_port

PAGE = pathlib.Path(__file__).parents[3] / "docs/operations.md"


def bytes_not_read(port):
    """Returns how many bytes from the port have been received by connections that have not read them."""
    rows = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        rows += [line.split() for line in pathlib.Path(table).read_text(encoding="ascii").splitlines()[1:]]
    return sum(int(row[4].split(":")[1], 16) for row in rows if int(row[2].split(":")[1], 16) == port)


class Statuses(Relays):
    """Tests start processes with the option that listening() returns."""

    def setUp(self):
        super().setUp()
        self.status_ports = {}

    def listening(self, name):
        """Returns the option, with a port for the process with this name."""
        port = self.status_ports.setdefault(name, free_port())
        return "--status-listen", f"127.0.0.1:{port}"

    def get(self, name, path, method="GET"):
        """Returns the response of the process: status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.status_ports[name], timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()

    def health(self, name, query=""):
        """Returns the status and the text of /healthz."""
        status, _, body = self.get(name, "/healthz" + query)
        return status, body.strip()

    def wait_for_health(self, name, text):
        wait_until(lambda: text in self.health(name)[1], f"{name}: {text}")

    def metrics(self, name):
        """Returns the values of the metrics, by the name with its labels."""
        text = self.get(name, "/metrics")[2]
        return {key: float(value) for key, value in re.findall(r"(?m)^(rocklock_\S+|process_\S+) (\S+)$", text)}

    def roles(self, name):
        """Returns the roles whose metric is 1."""
        return [key.split('"')[1] for key, value in self.metrics(name).items()
                if key.startswith("rocklock_role{") and value == 1]


class StatusCluster(Cluster, Statuses):
    def status_node(self, name, *options, **more):
        return self.node(name, *self.listening(name), *options, **more)

    def measured(self, name, condition, what):
        """Returns the metrics after they meet the condition, which measurements of etcd may change."""
        def found():
            metrics = self.metrics(name)
            return metrics if "rocklock_etcd_database_bytes" in metrics and condition(metrics) else None
        return wait_until(found, f"{name}: {what}")


class Health(StatusCluster):
    def test_in_each_role(self):
        self.etcd()
        self.status_node("a")
        self.status_node("b")
        self.wait_for_health("b", "standby")
        for name, role, other in (("a", "manager", "standby"), ("b", "standby", "manager")):
            self.assertEqual(self.health(name), (200, role))
            self.assertEqual(self.health(name, f"?role={role}"), (200, role))
            self.assertEqual(self.health(name, f"?role={other}"), (503, role))
            self.assertEqual(self.health(name, "?role=relay"), (503, role))
            self.assertEqual(self.roles(name), [role])

    def test_after_a_takeover(self):
        self.etcd()
        first = self.status_node("a")
        second = self.status_node("b")
        self.wait_for_health("b", "standby")
        first.stop(signal.SIGKILL)
        # The link is lost at once, and the takeover follows later.
        self.wait_for_health("b", "waiting: ")
        self.wait_for_manager(second)
        self.wait_for_health("b", "manager")
        self.assertEqual(self.health("b", "?role=manager")[0], 200)
        self.status_node("a")
        self.wait_for_health("a", "standby")
        self.assertEqual([self.metrics(name)["rocklock_terms_total"] for name in "ab"], [0, 1])

    def test_after_yield(self):
        self.etcd()
        first = self.status_node("a")
        self.status_node("b")
        self.acquire_at(first, "x")
        epoch = self.metrics("a")["rocklock_epoch"]
        wait_until(lambda: self.at(first, "node", "yield").returncode == 0, "the standby is registered")
        self.wait_for_health("b", "manager")
        self.wait_for_health("a", "standby")
        # The standby knows the new epoch from the first commit of the new manager.
        self.acquire_at(first, "y")
        wait_until(lambda: self.metrics("a")["rocklock_epoch"] == self.metrics("b")["rocklock_epoch"] > epoch,
                   "both know the new epoch")
        self.assertEqual([self.metrics(name)["rocklock_terms_total"] for name in "ab"], [1, 1])

    def test_of_a_node_that_waits_for_etcd(self):
        self.etcd()
        self.members[0].kill()
        node = self.status_node("a", ready=False)
        node.wait_for("the store cannot be opened yet")
        status, text = self.health("a")
        self.assertEqual(status, 503)
        self.assertRegex(text, "waiting: the store cannot be opened yet: .*etcd")
        for role in ("manager", "standby"):
            self.assertEqual(self.health("a", f"?role={role}")[0], 503)
        self.assertEqual(self.roles("a"), ["waiting"])
        metrics = self.metrics("a")
        self.assertEqual(metrics["rocklock_etcd_up"], 0)
        self.assertNotIn("rocklock_etcd_database_bytes", metrics)
        self.members[0].start()
        self.wait_for_health("a", "manager")
        self.measured("a", lambda metrics: metrics["rocklock_etcd_up"] == 1, "etcd answers")

    def test_of_a_manager_that_cannot_reach_etcd(self):
        self.etcd()
        node = self.status_node("a", "--etcd-timeout", "1s")
        self.acquire_at(node, "x", "--lease", "1m")
        self.assertEqual(self.metrics("a")["rocklock_etcd_unknown_outcomes_total"], 0)
        self.members[0].process.send_signal(signal.SIGSTOP)
        self.assertNotEqual(self.at(node, "acquire", "y", "--patience", "0").returncode, 0)
        self.wait_for_health("a", "waiting: ")
        metrics = self.metrics("a")
        self.assertEqual(metrics["rocklock_etcd_unknown_outcomes_total"], 1)
        self.members[0].process.send_signal(signal.SIGCONT)
        self.wait_for_health("a", "manager")
        self.assertEqual(self.metrics("a")["rocklock_terms_total"], 2)

    def test_of_a_node_that_cannot_relay(self):
        self.etcd()
        manager = self.daemon("m", "--store", self.url, "--node", "m", "--lead-ttl", "2s")
        manager.wait_for("the store is open")
        node = self.status_node("b", ready=False)
        node.wait_for("the clients of this node are refused")
        self.wait_for_health("b", "does not accept other nodes")
        self.assertEqual(self.health("b")[0], 503)
        refused = self.at(node, "ls")
        self.assertEqual(refused.returncode, 69, refused.stderr)
        self.assertIn("cannot relay to the manager m: it does not accept other nodes", refused.stderr)

    # SIGHUP reloads the certificates of a standby. A node without a role must survive it.
    def test_sighup_does_not_end_a_node_that_was_a_standby(self):
        self.etcd()
        first = self.status_node("a")
        second = self.status_node("b")
        self.wait_for_health("b", "standby")
        # The standby learns that there is no manager, and then cannot reach etcd.
        self.pause(second)
        first.stop(signal.SIGKILL)
        port = self.members[0].port
        before = bytes_not_read(port)
        ask_member(port, "/v3/kv/deleterange", {"key": encoded(STORE + "lead")})
        wait_until(lambda: bytes_not_read(port) > before, "the member reports it to the standby")
        # A member that is stopped, unlike one that has ended, leaves the connection open: on a closed
        # one, gRPC may drop what the standby has not read.
        self.members[0].process.send_signal(signal.SIGSTOP)
        self.resume(second)
        self.wait_for_health("b", "the store cannot be opened yet")
        second.process.send_signal(signal.SIGHUP)
        self.members[0].process.send_signal(signal.SIGCONT)
        self.wait_for_manager(second)


class Metrics(StatusCluster):
    def test_of_both_roles(self):
        self.etcd()
        first = self.status_node("a")
        self.status_node("b")
        self.wait_for_health("b", "standby")
        for number in range(3):
            self.acquire_at(first, f"x{number}", "--lease", "1m")
        before = self.metrics("a")
        self.assertGreater(before["rocklock_epoch"], 0)
        self.assertGreater(before["rocklock_etcd_transaction_duration_seconds_count"], 3)
        self.assertGreater(before["rocklock_etcd_transaction_duration_seconds_sum"], 0)
        self.assertGreater(before["rocklock_etcd_writes_total"], 3)
        self.assertEqual(before["rocklock_etcd_unknown_outcomes_total"], 0)
        self.assertEqual(before["rocklock_terms_total"], 1)
        self.assertEqual(before["rocklock_etcd_quota_bytes"], 2 << 30)
        self.acquire_at(first, "y", "--lease", "1m")
        after = self.metrics("a")
        for name in ("rocklock_commit", "rocklock_etcd_writes_total",
                     "rocklock_etcd_transaction_duration_seconds_count"):
            self.assertGreater(after[name], before[name], name)
        for name in "ab":
            metrics = self.measured(name, lambda metrics: metrics["rocklock_copy_missing_commits"] == 0, "it is current")
            self.assertEqual(metrics["rocklock_etcd_up"], 1)
            self.assertGreater(metrics["rocklock_etcd_database_bytes"], 0)
            self.assertGreater(metrics["rocklock_etcd_database_used_bytes"], 0)
            self.assertLess(metrics["rocklock_etcd_measurement_age_seconds"], 60)
            self.assertLess(metrics["rocklock_copy_delay_seconds"], 5)
            self.assertGreater(metrics["process_resident_memory_bytes"], 0)
        # The same commit and epoch, and no commits of its own.
        wait_until(lambda: self.metrics("a")["rocklock_commit"] == self.metrics("b")["rocklock_commit"], "both agree")
        standby = self.metrics("b")
        self.assertEqual(standby["rocklock_epoch"], after["rocklock_epoch"])
        self.assertEqual(standby["rocklock_etcd_transaction_duration_seconds_count"], 0)
        self.assertGreater(standby["rocklock_manager_links"], 0)

    def test_of_the_clients_of_a_standby(self):
        self.etcd()
        self.status_node("a")
        second = self.status_node("b")
        self.wait_for_health("b", "standby")
        client = Connection(second.socket)
        with contextlib.closing(client):
            self.assertEqual(client.call("Ping").status, 200)
            wait_until(lambda: self.metrics("b")["rocklock_relayed_connections"] == 1, "the client is counted")
        wait_until(lambda: self.metrics("b")["rocklock_relayed_connections"] == 0, "the end is counted")

    def test_are_also_in_the_metrics_of_the_manager(self):
        self.etcd()
        first = self.status_node("a")
        second = self.status_node("b")
        self.wait_for_health("b", "standby")
        own = self.get("a", "/metrics")[2]
        names = set(re.findall(r"(?m)^# TYPE (\S+)", own)) - {"rocklock_manager_links", "rocklock_relayed_connections"}
        # On its other sockets, a standby shows the metrics of the manager.
        for node in (first, second):
            shown = subprocess.run(["curl", "-s", "-m", "20", "--unix-socket", node.socket, "http://localhost/metrics"],
                                   capture_output=True, text=True, check=True).stdout
            self.assertLessEqual(names, set(re.findall(r"(?m)^# TYPE (\S+)", shown)))
            self.assertIn('rocklock_role{role="manager"} 1\n', shown)
            self.assertEqual(len(re.findall(r"(?m)^# TYPE (\S+)", shown)),
                             len(set(re.findall(r"(?m)^# TYPE (\S+)", shown))))

    def test_are_documented(self):
        self.etcd()
        self.status_node("a")
        self.measured("a", lambda _: True, "all metrics")
        text = self.get("a", "/metrics")[2]
        described = PAGE.read_text(encoding="utf-8")
        names = set(re.findall(r"(?m)^# HELP (\S+) .*\.$", text))
        self.assertIn("rocklock_epoch", names)
        self.assertEqual(names - set(re.findall(r"`(\w+)[`{]", described)), set())


class RelayHealth(Statuses):
    def test_follows_the_connection_to_the_manager(self):
        address = f"127.0.0.1:{free_port()}"
        self.relay(address, *self.listening("web1"), connected=False)
        status, text = self.health("web1")
        self.assertEqual(status, 503)
        self.assertIn(f"waiting: there is no link to the manager {address}", text)
        self.wait_for_health("web1", "refused")
        main = self.manager(port=address.rpartition(":")[2])
        self.wait_for_health("web1", "relay")
        self.assertEqual(self.health("web1"), (200, "relay"))
        self.assertEqual(self.health("web1", "?role=relay"), (200, "relay"))
        self.assertEqual(self.health("web1", "?role=manager"), (503, "relay"))
        self.assertEqual(self.roles("web1"), ["relay"])
        metrics = self.metrics("web1")
        self.assertGreater(metrics["rocklock_manager_links"], 0)
        self.assertNotIn("rocklock_commit", metrics)
        main.stop(signal.SIGKILL)
        self.wait_for_health("web1", "waiting: there is no link to the manager")
        self.assertEqual(self.metrics("web1")["rocklock_manager_links"], 0)


class Server(Statuses):
    """The HTTP server itself, at a relay without a manager."""

    def setUp(self):
        super().setUp()
        self.web = self.relay(f"127.0.0.1:{free_port()}", *self.listening("web1"), connected=False)

    def send(self, data):
        """Sends bytes, and returns all that the server answers."""
        with socket.create_connection(("127.0.0.1", self.status_ports["web1"]), timeout=20) as client:
            with contextlib.suppress(ConnectionError):
                client.sendall(data)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while (part := client.recv(4096)):
                    answer += part
            return answer

    def test_of_paths_methods_and_queries(self):
        for path in ("/", "/readyz", "/events", "/healthz/", "/metricsx"):
            self.assertEqual(self.get("web1", path)[0], 404, path)
        for path in ("/healthz", "/metrics"):
            status, headers, body = self.get("web1", path, "HEAD")
            self.assertEqual((body, int(headers["Content-Length"]) > 0), ("", True))
            self.assertIn(status, (200, 503))
            for method in ("POST", "DELETE", "PUT"):
                status, headers, _ = self.get("web1", path, method)
                self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        for query in ("?role=leader", "?role=", "?role=waiting", "?rol=manager", "?role=manager&x"):
            status, text = self.health("web1", query)
            self.assertEqual((status, "write /healthz" in text), (400, True), query)
        self.assertEqual(self.health("web1", "?")[0], 503)

    def test_of_invalid_and_large_requests(self):
        self.assertIn(b"HTTP/1.1 400 ", self.send(b"hello\r\n\r\n"))
        self.assertIn(b"HTTP/1.1 413 ", self.send(b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 20_000))
        self.assertIn(b"HTTP/1.1 413 ", self.send(b"POST /healthz HTTP/1.1\r\nContent-Length: 30000\r\n\r\n" + b"x" * 20_000))
        answer = self.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n")
        # Each connection serves one request.
        self.assertEqual(answer.count(b"HTTP/1.1 "), 1)
        self.assertIn(b"Connection: close", answer)

    def test_of_clients_that_send_nothing(self):
        silent = [socket.create_connection(("127.0.0.1", self.status_ports["web1"]), timeout=20) for _ in range(100)]
        try:
            # A new client replaces the oldest one.
            self.assertEqual(self.health("web1")[0], 503)
            self.assertEqual(silent[0].recv(10), b"")
            began = time.monotonic()
            self.assertEqual(silent[-1].recv(10), b"")
            self.assertLess(time.monotonic() - began, 15)
        finally:
            for each in silent:
                each.close()
        self.web.stop(signal.SIGTERM)
        self.assertEqual(self.web.process.returncode, 0)


class Options(Statuses):
    def test_that_are_invalid_are_refused(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            used = f"127.0.0.1:{other.getsockname()[1]}"
            relay = ("--relay", "127.0.0.1:7")
            for words, code, reasons in (
                    (("--memory", "--status-listen", "127.0.0.1:0"), 64, ["together with store or relay", "use http"]),
                    ((*relay, "--status-listen", "127.0.0.1"), 64, ["status-listen: '127.0.0.1' must be HOST:PORT"]),
                    ((*relay, "--status-listen", "127.0.0.1:99999"), 64, ["must be HOST:PORT"]),
                    ((*relay, "--status-listen", "no.such.host.invalid:1"), 64, ["has no address", "write a name"]),
                    ((*relay, "--status-listen", used), 75, [f"status-listen: cannot listen on {used}", "another port"]),
                    ((*relay, "--status-listen", "192.0.2.1:7"), 70, ["cannot listen", "an address of this machine"])):
                done = self.rocklock("serve", "--socket", self.folder / "s", *words)
                self.assertEqual(done.returncode, code, done.stderr)
                for reason in reasons:
                    self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    tap.main()
