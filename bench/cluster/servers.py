"""A cluster on this machine: three members of etcd and three nodes of Rocklock."""

import http.client
import os
import random
import re
import signal
import socket
import subprocess
import time

PATIENCE_S = 60
# In a benchmark, all clients have the same user; no limit of a user may be reached.
UNLIMITED = [word for limit in ("sessions", "grants", "waiters", "lock-bytes", "connections")
             for word in (f"--max-user-{limit}", "1000000000000")]


class Failed(Exception):
    """The measurement cannot continue; the message gives the reason."""


def free_ports(count):
    """Returns ports on which no program listens. The system gives no port of this range to an
    outgoing connection, so a node that was killed can listen on its port again."""
    found = set()
    while len(found) < count:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                found.add(port)
    return list(found)


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"not within {PATIENCE_S} s: {what}")
        time.sleep(0.01)


class Member:
    """A member of etcd."""

    def __init__(self, folder, name, port, peer, cluster):
        url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
        self.port = port
        with open(folder / f"{name}.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["etcd", "--name", name, "--data-dir", str(folder / name), "--log-level", "error",
                 "--listen-client-urls", url, "--advertise-client-urls", url,
                 "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
                 "--initial-cluster", cluster, "--quota-backend-bytes", str(8 << 30)],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            connection.close()

    def writes(self):
        """Returns the number of puts and deletes that the member has executed."""
        found = re.findall(r"^etcd_debugging_mvcc_(?:put|delete)_total (\S+)$", self.get("/metrics"), re.MULTILINE)
        return sum(map(float, found))


class Node:
    """A node of Rocklock."""

    def __init__(self, cluster, name, port):
        self.cluster, self.name, self.port = cluster, name, port
        self.socket = cluster.folder / f"{name}.sock"
        self.starts = 0
        self.process = None

    def start(self):
        self.starts += 1
        self.log = self.cluster.folder / f"{self.name}-{self.starts}.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [self.cluster.program, "serve", "--store", self.cluster.store, "--node", self.name,
                 "--socket", str(self.socket), "--peer-listen", f"127.0.0.1:{self.port}",
                 "--history-age", "1h", "--max-history-records", "100000", *UNLIMITED],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env=os.environ | {"ROCKLOCK_CONFIG": "/dev/null"})

    def is_ready(self):
        if self.process.poll() is not None:
            raise Failed(f"the node {self.name} has ended: {self.log.read_text()[-500:]}")
        text = self.log.read_text(encoding="utf-8")
        return "the store is open" in text or "connected to the manager" in text

    def wait(self):
        wait_until(self.is_ready, f"the node {self.name} is ready")

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait()


class Cluster:
    """Starts the cluster. Use it in a `with` statement, which stops it."""

    def __init__(self, program, folder):
        self.program, self.folder = str(program), folder
        self.members, self.nodes = [], []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self):
        ports = free_ports(9)
        names = ["m1", "m2", "m3"]
        cluster = ",".join(f"{name}=http://127.0.0.1:{peer}" for name, peer in zip(names, ports[3:6]))
        for name, port, peer in zip(names, ports[:3], ports[3:6]):
            self.members.append(Member(self.folder, name, port, peer, cluster))
        for member in self.members:
            wait_until(lambda m=member: '"health":"true"' in m.get("/health"), "a member of etcd is healthy")
        self.endpoints = ",".join(f"127.0.0.1:{port}" for port in ports[:3])
        self.store = f"etcd://{self.endpoints}/bench"
        for index, port in enumerate(ports[6:], 1):
            self.nodes.append(Node(self, f"n{index}", port))
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait()

    def manager(self):
        """Returns the node that is the manager."""
        done = subprocess.run([self.program, "status", "--json", "--socket", str(self.nodes[0].socket)],
                              capture_output=True, text=True, check=True)
        pid = int(re.search(r'"Pid":(\d+)', done.stdout).group(1))
        return next(node for node in self.nodes if node.process.pid == pid)

    def standbys(self):
        manager = self.manager()
        return [node for node in self.nodes if node is not manager]

    def stop(self):
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.end(signal.SIGKILL)
        for member in self.members:
            member.process.kill()
            member.process.wait()
