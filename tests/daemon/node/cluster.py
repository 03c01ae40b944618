"""A cluster: members of etcd and nodes of Rocklock, on this machine."""

import base64
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import unittest

from harness import PROGRAM, Connection, wait_until
from relayed import Relays, free_port


# The prefix of the keys of the store.
STORE = "/test/"


def encoded(key):
    return base64.b64encode(key.encode()).decode()


def decoded(text):
    return base64.b64decode(text)


def ask_member(port, path, body, timeout_s=5):
    """Sends a request to the JSON gateway of a member of etcd. Returns the response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    with contextlib.closing(connection):
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())


def etcd_is_usable():
    """Returns whether etcd is installed and the program can load the client for it."""
    if shutil.which("etcd") is None:
        return False
    done = subprocess.run([PROGRAM, "serve", "--store", "etcd://127.0.0.1:1/x", "--socket", "/nonexistent/s",
                           "--peer-listen", "0.0.0.0:0", "--peer-address", "127.0.0.1:1"],
                          capture_output=True, text=True, check=False, timeout=60)
    return "no support for etcd" not in done.stderr


class Member:
    """A member of etcd, with a data directory of its own."""

    def __init__(self, folder, name, client_port, peer_port, cluster):
        self.name = name
        self.port = client_port
        self.words = ["etcd", "--name", name, "--data-dir", str(folder / name), "--log-level", "error",
                      "--listen-client-urls", f"http://127.0.0.1:{client_port}",
                      "--advertise-client-urls", f"http://127.0.0.1:{client_port}",
                      "--listen-peer-urls", f"http://127.0.0.1:{peer_port}",
                      "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer_port}",
                      "--initial-cluster", cluster]
        self.log = folder / f"{name}.log"
        self.process = None

    def start(self):
        with open(self.log, "a", encoding="utf-8") as out:
            self.process = subprocess.Popen(self.words, stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    def answers(self):
        """Returns whether the member has a leader and has executed a request."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
            connection.request("GET", "/health")
            return b'"health":"true"' in connection.getresponse().read()
        return False


@unittest.skipUnless(etcd_is_usable(), "etcd is not installed, or this build has no client for it")
class Cluster(Relays):
    """Tests start etcd with etcd(), and nodes with node()."""

    ttl_s = 2

    def setUp(self):
        super().setUp()
        self.members = []
        self.ports = {}

    def tearDown(self):
        super().tearDown()
        for member in self.members:
            member.kill()

    def etcd(self, count=1):
        """Starts the members and waits until they answer."""
        # Another program can take a free port before a member does. The member then exits.
        for _ in range(5):
            self.start_members(count)
            wait_until(lambda: self.has_exited() or all(member.answers() for member in self.members),
                       "all members answer")
            if not self.has_exited():
                break
            for member in self.members:
                member.kill()
            shutil.rmtree(self.folder / "etcd")
        else:
            self.fail("a member of etcd has exited in each of five attempts")
        self.url = "etcd://" + ",".join(f"127.0.0.1:{member.port}" for member in self.members) + STORE[:-1]

    def has_exited(self):
        return any(member.process.poll() is not None for member in self.members)

    def start_members(self, count):
        folder = self.folder / "etcd"
        folder.mkdir()
        ports = [(f"m{i}", free_port(), free_port()) for i in range(count)]
        cluster = ",".join(f"{name}=http://127.0.0.1:{peer}" for name, _, peer in ports)
        self.members = [Member(folder, name, client, peer, cluster) for name, client, peer in ports]
        for member in self.members:
            member.start()

    def url_for(self, _name):
        """Returns the URL of the store for a node."""
        return self.url

    def node(self, name, *options, ready=True, **more):
        """Starts a node, and waits until it serves or relays clients."""
        port = self.ports.setdefault(name, free_port())
        node = self.daemon(name, "--store", self.url_for(name), "--node", name, "--peer-listen", f"127.0.0.1:{port}",
                           "--lead-ttl", f"{self.ttl_s}s", *options, **more)
        node.name = name
        if ready:
            wait_until(lambda: "the store is open" in node.log() or "connected to the manager" in node.log()
                       or node.process.poll() is not None, f"{name} is ready")
            self.assertIsNone(node.process.poll(), node.log())
        return node

    def wait_for_manager(self, node, count=1):
        """Waits until the node has become the manager for the time number `count`."""
        wait_until(lambda: node.log().count("the store is open") >= count or node.process.poll() is not None,
                   f"{node.name} is the manager")
        self.assertIsNone(node.process.poll(), node.log())

    def manager(self):
        """Returns the name of the node that is the manager, or None."""
        for member in self.members:
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                found = ask_member(member.port, "/v3/kv/range", {"key": encoded(STORE + "lead")}, 1)
                if "header" in found:
                    return json.loads(decoded(found["kvs"][0]["value"]))["node"] if found.get("kvs") else None
        return None

    def wait_for_another_manager(self, name):
        """Waits until another node has become the manager. Returns its name."""
        return wait_until(lambda: self.manager() not in (None, name) and self.manager(), f"{name} is replaced")

    def acquire_at(self, node, resource, *options):
        """Acquires a lock through the node. Returns the grant, and an environment with its credentials."""
        done = self.at(node, "acquire", "--json", resource, *options)
        self.assertEqual(done.returncode, 0, done.stderr + node.log())
        grant = json.loads(done.stdout)
        return grant, {"ROCKLOCK_SESSION": f"{grant['Session']}:{grant['Secret']}"}

    # ---- Tables, through one of the nodes ----

    def call_tables(self, node, operation, **members):
        """Calls DynamoDB's API at the node with this name, which must succeed."""
        connection = Connection(self.folder / f"{node}.sock")
        with contextlib.closing(connection):
            answer = connection.call_tables(operation, members)
        self.assertEqual(answer.status, 200, answer.body)
        return answer

    def create_table(self, name, resource=None, key="id"):
        """Creates a table. Binds it to the resource, if one is given."""
        manager = self.manager()
        self.call_tables(manager, "CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST",
                         AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
                         KeySchema=[{"AttributeName": key, "KeyType": "HASH"}])
        if resource is None:
            return
        # The clients of a standby have no right to bind a table.
        connection = Connection(self.folder / f"{manager}.sock")
        with contextlib.closing(connection):
            bound = connection.call("BindTable", TableName=name, Resource=resource)
        self.assertEqual(bound.status, 200, bound.body)

    def pause(self, node):
        os.kill(node.process.pid, signal.SIGSTOP)

    def resume(self, node):
        os.kill(node.process.pid, signal.SIGCONT)
