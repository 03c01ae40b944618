"""The memory for incomplete requests and unread responses is limited for each user."""

import json
import multiprocessing
import os
import resource
import select
import socket
import time
import unittest

import tap
from harness import SLOWNESS, Connection, Sandbox, wait_until

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: Rocklock_20261121."
# The limit of buffers. The attacks are derived from it, so that they do not depend on the memory of
# the machine. The daemon derives the limit as an eighth of its share of the memory.
LIMIT = 20 << 20
SHARE_MB = 8 * LIMIT / 2**20
OTHER_UID = 65534


def request(verb, **members):
    body = json.dumps(members).encode()
    return HEAD + verb.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


TABLE = {"TableName": "big", "BillingMode": "PAY_PER_REQUEST",
         "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
         "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}
SIGNATURE = ("AWS4-HMAC-SHA256 Credential=any/20260101/local/dynamodb/aws4_request, "
             "SignedHeaders=host;x-amz-date, Signature=00")


def tables_request(operation, **members):
    body = json.dumps(members).encode()
    return (f"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
            f"Content-Type: application/x-amz-json-1.0\r\nAuthorization: {SIGNATURE}\r\n"
            f"X-Amz-Date: 20260101T000000Z\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


def tables_call(api, operation, **members):
    """Makes a call on a `Connection`."""
    api.socket.sendall(tables_request(operation, **members))
    return api.receive()


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


def attack_with_lists(path, limit):
    """Many clients request a list and do not read it. Each response has 1 MB. The locks themselves
    take little memory.
    """
    clients = list(hold_locks(path, 1_000)[:1])
    for _ in range(10 * limit // 2**20):
        client = connected(path)
        client.sendall(request("ListLocks", Limit=10_000))
        clients.append(client)
    return clients


def attack_with_bodies(path, limit):
    """Many clients send most of a body of 64 KB."""
    clients = []
    part = HEAD + b"Acquire\r\nContent-Length: 65537\r\n\r\n" + b"x" * 65_500
    for _ in range(10 * limit // len(part)):
        clients.append(connected(path))
        try:
            clients[-1].sendall(part)
        except ConnectionError:     # The daemon has refused the request.
            pass
    return clients


def attack_with_streams(path, limit):
    """Many clients request all events, and do not read them."""
    api = Connection(path)
    # In JSON, each quotation mark has two bytes. So a page of 32 events has more than 130 KB, and a
    # stream stops at its second page, or in its third: about 64 KB are buffered on average.
    opened = api.call("OpenSession", Principal='"' * 1000, LeaseMs=600_000).json
    proof = {"Session": opened["Session"], "Secret": opened["Secret"]}
    for number in range(100):
        grant = api.call("Acquire", Locks=[{"Resource": f"{number}/" + '"' * 900}], **proof).json
        api.call("Release", Grant=grant["Grant"], **proof)
    return [api] + [open_stream(path) for _ in range(2 * limit // 2**16)]


def open_stream(path):
    client = connected(path)
    client.sendall(b"GET /events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
    return client


def reopen_streams(path, clients):
    """The daemon closes a stream that is not read for 10 s."""
    poll = select.poll()
    for client in clients[1:]:
        poll.register(client.fileno(), 0)
    closed = {descriptor for descriptor, _ in poll.poll(0)}
    for number, client in enumerate(clients[1:], start=1):
        if client.fileno() in closed:
            client.close()
            clients[number] = open_stream(path)


def attack_with_updates(path, limit):
    """Many clients change an item of 400 KB, request its old attributes, and do not read them."""
    api = Connection(path)
    tables_call(api, "CreateTable", **TABLE)
    item = {"id": {"S": "a"}, "text": {"S": "x" * 400_000}}
    assert tables_call(api, "PutItem", TableName="big", Item=item).status == 200
    clients = [api]
    for _ in range(8 * limit // 400_000):
        clients.append(connected(path))
    # All of them are sent before the first answer is made.
    for client in clients[1:]:
        client.sendall(tables_request("UpdateItem", TableName="big", Key={"id": {"S": "a"}},
                                      UpdateExpression="SET n = :n", ReturnValues="ALL_OLD",
                                      ExpressionAttributeValues={":n": {"N": "1"}}))
    for client in clients[1:]:
        client.recv(1)
    return clients


def as_other_user(attack, path, limit, attacked, enough):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.setgroups([])
    os.setgid(OTHER_UID)
    os.setuid(OTHER_UID)
    clients = attack(path, limit)
    attacked.set()
    while not enough.wait(1):
        if attack is attack_with_streams:
            reopen_streams(path, clients)
    for client in clients:
        client.close()


@unittest.skipIf(os.getuid() != 0, "only root can become another user")
class UserBuffers(Sandbox):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.state.mkdir(mode=0o755)
        self.serve("--memory", "--max-user-buffer-bytes", str(LIMIT))
        self.socket.chmod(0o666)
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

    def locks_held(self):
        lines = self.metrics()
        return int(lines["rocklock_grants_held"])

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

    def attacked(self, attack):
        limit = self.limit()
        self.assertEqual(limit, LIMIT)

        def slowest():
            attacked, enough = multiprocessing.Event(), multiprocessing.Event()
            process = multiprocessing.Process(
                target=as_other_user, args=(attack, self.socket, limit, attacked, enough), daemon=True)
            process.start()
            try:
                # The buffers are almost full: another response or request would exceed the limit.
                slowest = self.slowest_call(lambda: not process.is_alive() or
                                            (attacked.is_set() and self.buffered() > 0.9 * limit))
                self.assertTrue(process.is_alive())
                buffered = self.buffered()
                print(f"# {attack.__name__}: {self.most_memory_mb():.0f} MB of "
                      f"{SHARE_MB:.0f} MB, buffers {buffered / 2**20:.1f} MB of {limit / 2**20:.1f} MB; "
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
            for principal in ("ann", '"' * 1000):
                self.api.call("EndSessions", Principal=principal, Reason="the attack is over")
            return slowest

        self.assert_within(0.050, slowest)
        if SLOWNESS == 1:
            self.assertLess(self.most_memory_mb(), SHARE_MB)

    def test_responses_that_are_not_read(self):
        self.attacked(attack_with_lists)

    def test_bodies_that_are_not_whole(self):
        self.attacked(attack_with_bodies)

    def test_streams_that_are_not_read(self):
        self.attacked(attack_with_streams)

    def test_answers_to_changes_that_are_not_read(self):
        self.attacked(attack_with_updates)

    def test_edits_whose_items_do_not_fit_hold_no_locks(self):
        self.stop_daemon()
        limit = 1 << 20
        self.serve("--memory", "--max-user-buffer-bytes", str(limit))
        api = self.connect()
        self.assertEqual(tables_call(api, "CreateTable", **TABLE).status, 200)
        bound = api.call("BindTable", TableName="big", Resource="big/{id}")
        self.assertEqual(bound.status, 200, bound.body)
        keys = [f"{number}" for number in range(40)]
        clients = []
        for key in keys:
            grant = api.call("Acquire", Principal="ann", Locks=[{"Resource": f"big/{key}"}]).json
            headers = f"X-Rocklock-Session: {grant['Session']}:{grant['Secret']}\r\n"
            put = tables_request("PutItem", TableName="big", Item={"id": {"S": key}, "text": {"S": "x" * 300_000}})
            api.socket.sendall(put.replace(b"\r\n\r\n", f"\r\n{headers}\r\n".encode(), 1))
            self.assertEqual(api.receive().status, 200)
            api.call("CloseSession", Session=grant["Session"], Secret=grant["Secret"])
            clients.append(connected(self.socket))
        for client, key in zip(clients, keys):
            client.sendall(request("BeginEdit", Principal="bob", LeaseMs=600_000,
                                   Items=[{"TableName": "big", "Key": {"id": {"S": key}}}]))
        codes = [client.recv(12)[-3:] for client in clients]
        self.assertEqual(set(codes), {b"200", b"503"})
        # At the limit, the metrics are not available to this user, so the other answers are read.
        for client, code in zip(clients, codes):
            size = 0
            while code == b"200" and size < 300_000:
                size += len(client.recv(1 << 20))
        wait_until(lambda: self.locks_held() == codes.count(b"200"), "only the grants that were answered are held")

    def test_many_clients_that_read_the_answers_to_their_changes(self):
        """Half of the limit is used, so no request is refused."""
        api = self.api
        self.assertEqual(tables_call(api, "CreateTable", **TABLE).status, 200)
        item = {"id": {"S": "a"}, "text": {"S": "x" * 100_000}}
        self.assertEqual(tables_call(api, "PutItem", TableName="big", Item=item).status, 200)
        clients = [self.connect() for _ in range(100)]
        for client in clients:
            client.socket.sendall(tables_request("UpdateItem", TableName="big", Key={"id": {"S": "a"}},
                                                 UpdateExpression="SET n = :n", ReturnValues="ALL_NEW",
                                                 ExpressionAttributeValues={":n": {"N": "1"}}))
        for client in clients:
            answer = client.receive()
            self.assertEqual(answer.status, 200, answer.body[:500])
            self.assertGreater(len(answer.body), 100_000)

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
