"""The unmodified python-dynamodb-lock against the daemon; only the endpoint is configured."""

import concurrent.futures
import datetime
import logging
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time
from decimal import Decimal

import boto3
import javascript
import tap
from botocore.config import Config
from harness import PATIENCE_S, Sandbox, wait_until

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python"
PACKAGES = FOLDER / "installed"
TABLE = "DynamoDBLockTable"
HEARTBEAT_S = 0.25
LEASE_S = 3


def missing():
    """Returns the reason why the client cannot run, or None if it can."""
    # scripts/setup writes the second file after everything is installed.
    wanted, installed = FOLDER / "requirements.txt", PACKAGES / "requirements.txt"
    if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
        return "tests/python/installed is not what requirements.txt says; scripts/setup installs it where pip is"
    return None


MISSING = missing()
if not MISSING:
    sys.path.append(str(PACKAGES))
    from python_dynamodb_lock.python_dynamodb_lock import DynamoDBLock, DynamoDBLockClient, DynamoDBLockError
    # The tests lose locks on purpose, so the client's messages are suppressed.
    logging.getLogger("python_dynamodb_lock").setLevel(logging.CRITICAL)


class LockClient(Sandbox):
    options = ()

    def setUp(self):
        if MISSING:
            self.skipTest(MISSING)
        super().setUp()
        self.state.mkdir()
        self.daemon, self.endpoint = self.listen("127.0.0.1:0")
        places = {"endpoint_url": self.endpoint, "region_name": "local", "aws_access_key_id": "any",
                  "aws_secret_access_key": "any", "config": Config(proxies={}, max_pool_connections=50)}
        self.dynamodb = boto3.client("dynamodb", **places)
        self.resource = boto3.resource("dynamodb", **places)
        self.clients = []
        DynamoDBLockClient.create_dynamodb_table(self.dynamodb)

    def tearDown(self):
        # Before the daemon stops; otherwise, the clients would keep retrying.
        for client in self.clients:
            client.close()
        super().tearDown()

    def listen(self, place):
        process = self.serve("--http", place, *self.options)
        return process, re.search(r"http://\S+", process.stderr.readline()).group(0)  # tidy: meant

    def client(self, owner, lease_s=LEASE_S, **more):
        lease = datetime.timedelta(seconds=lease_s)
        client = DynamoDBLockClient(self.resource, owner_name=owner, lease_duration=lease, safe_period=lease,
                                    heartbeat_period=datetime.timedelta(seconds=HEARTBEAT_S), **more)
        self.clients.append(client)
        return client

    def take(self, client, key="moe", timeout_s=PATIENCE_S, **more):
        """Acquires with a short retry period."""
        return client.acquire_lock(key, retry_period=datetime.timedelta(seconds=0.02),
                                   retry_timeout=datetime.timedelta(seconds=timeout_s), **more)

    def refused(self, code, call, *words, **more):
        with self.assertRaises(DynamoDBLockError) as raised:
            call(*words, **more)
        self.assertEqual(raised.exception.code, code)

    def item(self, key="moe", sort_key="-"):
        return self.resource.Table(TABLE).get_item(Key={"lock_key": key, "sort_key": sort_key}).get("Item")


class OneProcess(LockClient):
    options = ("--memory",)

    def test_creates_its_table(self):
        table = self.dynamodb.describe_table(TableName=TABLE)["Table"]
        self.assertEqual(table["KeySchema"], [{"AttributeName": "lock_key", "KeyType": "HASH"},
                                              {"AttributeName": "sort_key", "KeyType": "RANGE"}])
        self.assertEqual(self.dynamodb.describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"],
                         {"TimeToLiveStatus": "ENABLED", "AttributeName": "expiry_time"})
        with self.assertRaises(self.dynamodb.exceptions.ResourceInUseException):
            DynamoDBLockClient.create_dynamodb_table(self.dynamodb)

    def test_heartbeats_keep_a_second_client_out(self):
        held = self.take(self.client("ann"))
        version = held.record_version_number
        # Waits for the lease and half a second more.
        self.refused(DynamoDBLockError.ACQUIRE_TIMEOUT, self.take, self.client("bob"), timeout_s=LEASE_S + 0.5)
        self.assertEqual(held.status, DynamoDBLock.LOCKED)
        self.assertNotEqual(held.record_version_number, version)
        self.assertEqual(self.item()["owner_name"], "ann")

    def test_a_waiter_is_granted_after_a_release(self):
        held = self.take(self.client("ann", lease_s=60))
        bob = self.client("bob", lease_s=60)
        with concurrent.futures.ThreadPoolExecutor(1) as waiting:
            got = waiting.submit(self.take, bob)
            self.assertEqual(concurrent.futures.wait([got], 0.3).done, set())
            held.release(best_effort=False)
            self.assertEqual(got.result().status, DynamoDBLock.LOCKED)
        self.assertEqual(held.status, DynamoDBLock.RELEASED)
        self.assertEqual(self.item()["owner_name"], "bob")
        # A second release does nothing.
        held.release(best_effort=False)
        self.assertEqual(self.item()["owner_name"], "bob")
        got.result().release(best_effort=False)
        self.assertIsNone(self.item())

    def test_a_block_has_the_lock(self):
        with self.take(self.client("ann")):
            self.assertEqual(self.item()["owner_name"], "ann")
        self.assertIsNone(self.item())

    def test_without_heartbeats_it_is_taken_over_after_the_lease_has_ended(self):
        ann = self.client("ann")
        stale = self.take(ann)
        # Closes the client without releasing the lock.
        ann.close()
        began = time.monotonic()
        held = self.take(self.client("bob"))
        self.assertGreaterEqual(time.monotonic() - began, LEASE_S)
        self.refused(DynamoDBLockError.LOCK_STOLEN, stale.release, best_effort=False)
        self.assertEqual(self.item()["owner_name"], "bob")
        held.release(best_effort=False)

    def test_whose_lock_was_deleted_is_notified(self):
        codes = []
        lock = self.take(self.client("ann"), app_callback=lambda code, _: codes.append(code))
        self.resource.Table(TABLE).delete_item(Key={"lock_key": "moe", "sort_key": "-"})
        wait_until(lambda: codes, "the callback")
        self.assertEqual(codes, [DynamoDBLockError.LOCK_STOLEN])
        self.assertEqual(lock.status, DynamoDBLock.INVALID)

    def test_attributes_are_returned_with_the_lock(self):
        attributes = {"host": "a", "tries": Decimal("3.25"), "tags": {"x", "y"}, "nested": {"list": [None, True, "z"]}}
        self.take(self.client("ann"), additional_attributes=attributes)
        item = self.item()
        self.assertEqual({name: item[name] for name in attributes}, attributes)
        self.assertEqual((item["owner_name"], item["lease_duration"]), ("ann", LEASE_S))
        self.assertAlmostEqual(int(item["expiry_time"]), time.time() + 3600, delta=60)
        # Heartbeats keep these attributes.
        wait_until(lambda: self.item()["record_version_number"] != item["record_version_number"], "a heartbeat")
        item = self.item()
        self.assertEqual({name: item[name] for name in attributes}, attributes)

    def test_each_sort_key_is_a_lock(self):
        ann, bob = self.client("ann"), self.client("bob")
        left, right = self.take(ann, sort_key="left"), self.take(bob, sort_key="right")
        self.refused(DynamoDBLockError.ACQUIRE_TIMEOUT, self.take, bob, sort_key="left", timeout_s=0.2)
        left.release(best_effort=False)
        self.assertIsNone(self.item(sort_key="left"))
        self.assertEqual(self.item(sort_key="right")["owner_name"], "bob")
        right.release(best_effort=False)

    def test_releases_all_its_locks_when_it_is_closed(self):
        ann = self.client("ann")
        for key in ("moe", "joe"):
            self.take(ann, key)
        ann.close(release_locks=True)
        self.assertEqual(self.resource.Table(TABLE).scan()["Items"], [])
        self.refused(DynamoDBLockError.CLIENT_SHUTDOWN, self.take, ann)

    def test_one_of_many_processes_holds_the_lock_at_a_time(self):
        """A counter that is read and written without a condition is correct if one client at a time
        has the lock.
        """
        clients, rounds = 5, 4
        table = self.resource.Table(TABLE)
        place = {"lock_key": "counter", "sort_key": "-"}

        def count(client):
            for _ in range(rounds):
                lock = self.take(client)
                number = self.item("counter")["count"] if self.item("counter") else 0
                time.sleep(0.002)
                table.put_item(Item={**place, "count": number + 1})
                lock.release(best_effort=False)

        owners = [self.client(f"client {number}", lease_s=60) for number in range(clients)]
        with concurrent.futures.ThreadPoolExecutor(clients) as threads:
            list(threads.map(count, owners))
        self.assertEqual(self.item("counter")["count"], clients * rounds)


class Processes(LockClient):
    """The holder is a separate process."""

    options = ("--sweep-period", "20ms")

    def hold_apart(self, expiry_s=3600):
        environment = {**javascript.environment(self.folder), "PYTHONPATH": str(PACKAGES)}
        process = subprocess.Popen(
            [sys.executable, FOLDER / "lock_holder.py", self.endpoint, str(HEARTBEAT_S), str(LEASE_S), str(expiry_s)],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment, cwd=self.folder)
        self.started.append(process)
        self.assertEqual(self.said(process), "held\n")
        return process

    def said(self, process):
        self.assertTrue(select.select([process.stdout], [], [], PATIENCE_S)[0], f"nothing within {PATIENCE_S} s")
        return process.stdout.readline()

    def test_the_lock_of_a_killed_process_is_taken_over(self):
        holder = self.hold_apart()
        bob = self.client("bob")
        self.refused(DynamoDBLockError.ACQUIRE_TIMEOUT, self.take, bob, timeout_s=0.3)
        holder.kill()
        self.take(bob).release(best_effort=False)

    def test_a_client_stopped_for_too_long_detects_that_it_has_lost_the_lock(self):
        holder = self.hold_apart()
        os.kill(holder.pid, signal.SIGSTOP)
        held = self.take(self.client("bob"))
        os.kill(holder.pid, signal.SIGCONT)
        # Either of two threads may detect the loss first: the one that sends heartbeats or the one
        # that checks.
        self.assertRegex(self.said(holder), "^(LOCK_STOLEN INVALID|LOCK_IN_DANGER LOCK_STOLEN RELEASED)\n$")
        self.assertEqual(held.status, DynamoDBLock.LOCKED)
        held.release(best_effort=False)

    def test_a_lock_outlives_the_daemon(self):
        held = self.take(self.client("ann"))
        self.daemon.kill()
        self.daemon.wait()
        wait_until(lambda: self.daemon_pid() is None, "the daemon is dead")
        _, endpoint = self.listen(self.endpoint.removeprefix("http://"))  # tidy: meant
        self.assertEqual(endpoint, self.endpoint)
        bob = self.client("bob")
        self.refused(DynamoDBLockError.ACQUIRE_TIMEOUT, self.take, bob, timeout_s=LEASE_S + 0.5)
        held.release(best_effort=False)
        self.take(bob).release(best_effort=False)

    def test_a_lock_without_a_successor_is_removed(self):
        holder = self.hold_apart(expiry_s=4)
        self.assertEqual(self.item()["owner_name"], "holder")
        holder.kill()
        wait_until(lambda: self.item() is None, "the sweep")


if __name__ == "__main__":
    tap.main()
