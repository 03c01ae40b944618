"""The memory for incomplete requests and unread responses is limited for each user."""

import json
import multiprocessing
import os
import resource
import socket
import time
import unittest

import tap
from harness import SLOWNESS, Connection, Sandbox, wait_until

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: Rocklock_20261121."
# Of the limits of the daemon, in percent of the memory of the machine.
MEMORY_SHARE = "2%"
OTHER_UID = 65534


def request(verb, **members):
    body = json.dumps(members).encode()
    return HEAD + verb.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def connected(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(str(path))
    return client


def hold_locks(path, count):
    """Acquires locks with notes of 4 KB."""
    api = Connection(path)
    opened = api.call("OpenSession", Principal="ann", LeaseMs=600_000).json
    proof = {"Session": opened["Session"], "Secret": opened["Secret"]}
    for number in range(count):
        answer = api.call("Acquire", Locks=[{"Resource": f"r/{number}"}], Note="x" * 4000, **proof)
        assert answer.status == 200, answer.body
    return api, proof


def attack_with_lists(path, connections):
    """Many clients request a list and do not read it."""
    clients = list(hold_locks(path, 10_000)[:1])
    for _ in range(connections):
        client = connected(path)
        client.sendall(request("ListLocks", Limit=10_000))
        clients.append(client)
    return clients


def attack_with_bodies(path, connections):
    """Many clients send most of a body of 64 KB."""
    clients = []
    part = HEAD + b"Acquire\r\nContent-Length: 65537\r\n\r\n" + b"x" * 65_500
    for _ in range(connections):
        clients.append(connected(path))
        try:
            clients[-1].sendall(part)
        except ConnectionError:     # The daemon has refused the request.
            pass
    return clients


def attack_with_streams(path, connections):
    """Many clients request all events, and do not read them."""
    api = Connection(path)
    opened = api.call("OpenSession", Principal="a" * 1000, LeaseMs=600_000).json
    proof = {"Session": opened["Session"], "Secret": opened["Secret"]}
    for number in range(150):
        grant = api.call("Acquire", Locks=[{"Resource": f"{number}/" + "x" * 900}], **proof).json
        api.call("Release", Grant=grant["Grant"], **proof)
    clients = [api]
    for _ in range(connections):
        clients.append(connected(path))
        clients[-1].sendall(b"GET /events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
    return clients


def as_other_user(attack, path, connections, attacked, enough):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.setgroups([])
    os.setgid(OTHER_UID)
    os.setuid(OTHER_UID)
    clients = attack(path, connections)
    attacked.set()
    enough.wait()
    for client in clients:
        client.close()


@unittest.skipIf(os.getuid() != 0, "only root can become another user")
class UserBuffers(Sandbox):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.state.mkdir(mode=0o755)
        self.serve("--memory", "--memory-share", MEMORY_SHARE)
        self.socket.chmod(0o666)
        self.share_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20 * 0.02
        self.api = self.connect()

    def metrics(self):
        client = connected(self.socket)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        text = b""
        while (part := client.recv(65536)):
            text += part
        client.close()
        lines = text.decode().partition("\r\n\r\n")[2].splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    def limit(self):
        return int(self.metrics()['rocklock_user_limit{of="buffer_bytes"}'])

    def buffered(self):
        return int(self.metrics().get(f'rocklock_user_buffer_bytes{{uid="{OTHER_UID}"}}', 0))

    def most_memory_mb(self):
        with open(f"/proc/{self.daemon_pid()}/status", encoding="utf-8") as status:
            return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024

    def slowest_call(self, until):
        """Acquires and releases as another user until the condition is true. Returns the 99th
        percentile of the durations.
        """
        durations = []
        session = self.api.call("OpenSession", Principal="bob", LeaseMs=600_000).json
        proof = {"Session": session["Session"], "Secret": session["Secret"]}
        deadline = time.monotonic() + 120 * SLOWNESS
        while len(durations) < 200 or not until():
            self.assertLess(time.monotonic(), deadline, "the attack does not fill the buffers")
            start = time.monotonic()
            grant = self.api.call("Acquire", Locks=[{"Resource": "bob"}], **proof)
            self.assertEqual(grant.status, 200, grant.body)
            durations.append(time.monotonic() - start)
            start = time.monotonic()
            self.assertEqual(self.api.call("Release", Grant=grant.json["Grant"], **proof).status, 200)
            durations.append(time.monotonic() - start)
            time.sleep(0.001)
        return sorted(durations)[int(len(durations) * 0.99)]

    def attacked(self, attack, connections):
        limit = self.limit()

        def slowest():
            attacked, enough = multiprocessing.Event(), multiprocessing.Event()
            process = multiprocessing.Process(
                target=as_other_user, args=(attack, self.socket, connections, attacked, enough), daemon=True)
            process.start()
            try:
                # The buffers are almost full: another response or request would exceed the limit.
                slowest = self.slowest_call(lambda: not process.is_alive() or
                                            (attacked.is_set() and self.buffered() > 0.9 * limit))
                self.assertTrue(process.is_alive())
                buffered = self.buffered()
                print(f"# {attack.__name__}, {connections} connections: {self.most_memory_mb():.0f} MB of "
                      f"{self.share_mb:.0f} MB, buffers {buffered / 2**20:.1f} MB of {limit / 2**20:.1f} MB; "
                      f"another user: 99th percentile {slowest * 1000:.1f} ms")
                # Small requests, and the copies of a response that is being made, can exceed the
                # limit, but not by much.
                self.assertLess(buffered, 1.1 * limit)
                # Later requests of the other user succeed.
                self.assertEqual(self.connect().call("ListLocks", Limit=10).status, 200)
            finally:
                enough.set()
                process.join()
            wait_until(lambda: self.buffered() == 0, "the buffers of closed connections are freed")
            for principal in ("ann", "a" * 1000):
                self.api.call("EndSessions", Principal=principal, Reason="the attack is over")
            return slowest

        self.assert_within(0.050, slowest)
        if SLOWNESS == 1:
            self.assertLess(self.most_memory_mb(), self.share_mb)

    def test_responses_that_are_not_read(self):
        self.attacked(attack_with_lists, 200)

    def test_bodies_that_are_not_whole(self):
        self.attacked(attack_with_bodies, 4_000)

    def test_streams_that_are_not_read(self):
        self.attacked(attack_with_streams, 1_000)

    def test_a_user_at_its_limit_is_refused_with_the_limit(self):
        self.stop_daemon()
        self.serve("--memory", "--max-user-buffer-bytes", "20000")
        self.socket.chmod(0o666)
        api, proof = hold_locks(self.socket, 10)
        # Each of these is small enough to be read, but together they exceed the limit.
        parts = [connected(self.socket) for _ in range(10)]
        for client in parts:
            client.sendall(HEAD + b"Acquire\r\nContent-Length: 3001\r\n\r\n" + b" " * 3_000)
        wait_until(lambda: api.call("ListClasses").status == 503, "the user is at its limit")
        refused = api.call("Acquire", Locks=[{"Resource": "new"}], **proof)
        self.assertEqual((refused.status, refused.error), (503, "LimitExceededException"))
        self.assertEqual(refused.json["Limit"], 20_000)
        self.assertIn("max-user-buffer-bytes", refused.json["message"])
        self.assertEqual(api.call("RenewSession", **proof).status, 200)
        larger = connected(self.socket)
        larger.sendall(HEAD + b"Acquire\r\nContent-Length: 9001\r\n\r\n" + b" " * 9_000)
        self.assertTrue(larger.recv(1000).startswith(b"HTTP/1.1 503 "))
        larger.close()
        for client in parts:
            client.close()
        wait_until(lambda: api.call("Acquire", Locks=[{"Resource": "new"}], Held="join", **proof).status == 200,
                   "the memory is free")


tap.main()
