"""The resource limits of a user in the daemon."""

import http.client
import json
import os
import socket
import subprocess
import time
import unittest

import tap
from harness import SLOWNESS, Connection, wait_until
from http_test import TcpSandbox

CLIENT = """
import sys
sys.path[:0] = sys.argv[2:]
from harness import Connection
api = Connection(sys.argv[1])
session = api.call("OpenSession", Principal="ann", LeaseMs=2_592_000_000).json
count = 0
while True:
    names = [{"Resource": f"{count}/{i}/" + "x" * 900} for i in range(100)]
    answer = api.call("Acquire", Session=session["Session"], Secret=session["Secret"], Locks=names)
    if answer.status != 200:
        print(answer.error, answer.json["Limit"], count)
        break
    count += 1
"""


# Opens many connections, and keeps them open although most are refused.
IDLE_CLIENTS = """
import resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
clients = []
for _ in range(900):
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    clients.append(client)
print("connected", flush=True)
sys.stdin.read()
"""

def ping(connection):
    connection.send("Ping", {}, "Content-Type: application/json\r\n")
    return connection.receive().status


class UserLimits(TcpSandbox):
    def refused(self, api, verb, **members):
        answer = api.call(verb, **members)
        self.assertEqual(answer.error, "LimitExceededException", answer.body)
        return answer.json

    def test_sessions_have_a_limit_that_the_refusal_names(self):
        self.state.mkdir(mode=0o700)
        self.serve("--memory", "--max-user-sessions", "3")
        api = self.connect()
        for _ in range(3):
            self.assertEqual(api.call("OpenSession", Principal="ann").status, 200)
        refused = self.refused(api, "OpenSession", Principal="ann")
        self.assertEqual(refused["Limit"], 3)
        self.assertIn(f"user {os.getuid()} has 3 sessions, and the limit is 3", refused["message"])
        self.assertIn("max-user-sessions", refused["message"])
        self.assertEqual(api.call("EndSessions", Principal="ann", Reason="x").json, {"Sessions": 3})
        self.assertEqual(api.call("OpenSession", Principal="ann").status, 200)

    def test_zero_is_no_limit_and_an_invalid_limit_is_refused(self):
        self.state.mkdir(mode=0o700)
        for words in (("--max-user-grants", "-1"), ("--max-user-grants", "many"),
                      ("--memory-share", "0%"), ("--memory-share", "101%")):
            self.assertEqual(self.rocklock("serve", "--memory", *words).returncode, 64, words)
        self.serve("--memory", "--max-user-sessions", "0", "--max-user-grants", "1")
        api = self.connect()
        self.assertEqual(api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}]).status, 200)
        self.refused(api, "Acquire", Principal="ann", Locks=[{"Resource": "b"}])

    def metrics(self):
        connection = http.client.HTTPConnection("x")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.socket))
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def test_connections_over_tcp_have_one_limit_and_administrators_have_no_limit(self):
        self.state.mkdir(mode=0o700)
        port = self.serve_tcp("--max-user-connections", "2")
        first, second = Connection(port), Connection(port)
        self.assertEqual(ping(first), 200)
        self.assertEqual(ping(second), 200)
        third = Connection(port)
        refused = third.receive()
        self.assertEqual((refused.status, refused.error), (503, "LimitExceededException"))
        self.assertIn("all clients over TCP together have 2 connections, and the limit is 2", refused.json["message"])
        self.assertIn("max-user-connections", refused.json["message"])
        third.close()
        for _ in range(5):
            self.assertEqual(self.connect().call("Ping").status, 200)
        self.assertEqual(self.metrics()['rocklock_user_connections{uid="tcp"}'], "2")
        first.close()

        def has_place():
            connection = Connection(port)
            try:
                return ping(connection) == 200
            finally:
                connection.close()
        wait_until(has_place, "a place for another connection")
        second.close()

    def test_tables_have_a_limit_of_bytes_for_the_user_that_created_them(self):
        self.state.mkdir(mode=0o700)
        self.serve("--memory", "--max-user-table-bytes", "20000")
        self.dynamodb("CreateTable", TableName="items", BillingMode="PAY_PER_REQUEST",
                      AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                      KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}])
        status, _ = self.dynamodb("PutItem", TableName="items", Item={"id": {"S": "a"}, "v": {"S": "x" * 10_000}})
        self.assertEqual(status, 200)
        status, answer = self.dynamodb("PutItem", TableName="items", Item={"id": {"S": "b"}, "v": {"S": "x" * 10_000}})
        self.assertEqual(status, 400)
        self.assertTrue(answer["__type"].endswith("#LimitExceededException"), answer)
        self.assertIn(f"user {os.getuid()} has ", answer["message"])
        metrics = self.metrics()
        used = int(metrics[f'rocklock_user_table_bytes{{uid="{os.getuid()}"}}'])
        self.assertGreater(used, 10_000)
        self.assertLess(used, 20_000)
        self.assertEqual(metrics['rocklock_user_limit{of="table_bytes"}'], "20000")

    def dynamodb(self, operation, **members):
        connection = http.client.HTTPConnection("x")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.socket))
        connection.request("POST", "/", json.dumps(members), {
            "X-Amz-Target": "DynamoDB_20120810." + operation, "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": "20261121T000000Z",
            "Authorization": "AWS4-HMAC-SHA256 Credential=x/20261121/eu/dynamodb/aws4_request, "
                             "SignedHeaders=host, Signature=x"})
        answer = connection.getresponse()
        result = answer.status, json.loads(answer.read())
        connection.close()
        return result

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    def test_a_user_at_its_limits_does_not_disturb_another(self):
        self.folder.chmod(0o755)
        self.state.mkdir(mode=0o755)
        store = self.state / "store"
        store.mkdir(mode=0o700)
        # Not durable, because another program can delay each sync by hundreds of milliseconds.
        options = ("--db", store, "--durability", "written", "--max-user-lock-bytes", "50000000")
        self.serve(*options)
        self.socket.chmod(0o666)
        folders = os.environ["PYTHONPATH"].split(":")
        attacker = subprocess.Popen(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-c",
             CLIENT, str(self.socket), *folders], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "ROCKLOCK_PROGRAM": "none"})
        api = self.connect()
        durations = []
        while attacker.poll() is None:
            start = time.monotonic()
            grant = api.call("Acquire", Principal="bob", Locks=[{"Resource": "bob"}]).json
            api.call("Release", Session=grant["Session"], Secret=grant["Secret"], Grant=grant["Grant"])
            durations.append(time.monotonic() - start)
        error, limit, count = attacker.stdout.read().split()
        self.assertEqual((error, limit), ("LimitExceededException", "50000000"))
        slowest = sorted(durations)[int(len(durations) * 0.99)]
        print(f"# {count} grants of 100 names; another user: {len(durations)} pairs, 99th percentile "
              f"{slowest * 1000:.1f} ms")
        self.assertLess(slowest, 0.050 * SLOWNESS)
        with open(f"/proc/{self.daemon_pid()}/status", encoding="utf-8") as status:
            kb = int(next(line for line in status if line.startswith("VmRSS")).split()[1])
        if SLOWNESS == 1:
            self.assertLess(kb, 250_000)
        # A restart with this store succeeds, and the counts are the same.
        self.stop_daemon()
        self.serve(*options)
        self.assertEqual(self.connect().call("ShowStatistics").json["Held"], int(count))

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    def test_a_user_at_its_limit_of_connections_does_not_keep_others_from_connecting(self):
        self.folder.chmod(0o755)
        self.state.mkdir(mode=0o755)
        self.serve("--memory", "--max-user-connections", "20")
        self.socket.chmod(0o666)
        attacker = subprocess.Popen(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-c",
             IDLE_CLIENTS, str(self.socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            durations = []
            while len(durations) < 20:
                start = time.monotonic()
                client = self.connect()
                self.assertEqual(client.call("Ping").status, 200)
                durations.append(time.monotonic() - start)
                client.close()
                if len(durations) == 1:
                    self.assertEqual(attacker.stdout.readline(), "connected\n")
            print(f"# another user: slowest of 20 connections {max(durations) * 1000:.1f} ms")
            self.assertLess(max(durations), 1 * SLOWNESS)
        finally:
            attacker.communicate("")


tap.main()
