"""A daemon on a disk that is almost full: the reserve of disk space, and a disk without any room.

The disk is a file system in memory, mounted in a mount namespace of this test. Without permission
to mount, the tests are skipped.
"""

import errno
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import tap
from harness import SLOWNESS, Sandbox, alive, wait_until

IN_NAMESPACE = "ROCKLOCK_TEST_IN_NAMESPACE"
MB = 1 << 20
RESERVE = 24 * MB
# Sessions with 100 locks each.
SESSIONS = 10


@unittest.skipUnless(os.environ.get(IN_NAMESPACE), "cannot mount in a namespace")
class Space(Sandbox):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(self.disk)], check=True)
        self.store = self.disk / "db"
        self.state.mkdir()
        self.numbers = itertools.count()

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        subprocess.run(["umount", "-l", str(self.disk)], check=True)
        super().tearDown()

    def serve_store(self, *options):
        daemon = self.start("serve", "--db", self.store, "--reserve-bytes", RESERVE, "--log-format", "json", *options)
        self.logged = []
        # On a full disk, `space_low` may be the first event.
        while "listening" not in [event["event"] for event in self.logged]:
            line = daemon.stderr.readline()
            self.assertTrue(line, daemon.poll())
            self.logged.append(json.loads(line))
        os.set_blocking(daemon.stderr.fileno(), False)
        return daemon

    def free(self):
        found = os.statvfs(self.disk)
        return found.f_bavail * found.f_frsize

    def leave(self, free):
        """Fills the disk except for `free` bytes, as other programs do."""
        ballast = self.disk / "other-files"
        ballast.touch()
        while self.free() != free:
            size = ballast.stat().st_size + self.free() - free
            os.truncate(ballast, min(ballast.stat().st_size, max(size, 0)))
            try:
                with open(ballast, "rb+") as file:
                    if size > 0:
                        os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                # The daemon has taken some space meanwhile.
                if error.errno != errno.ENOSPC:
                    raise
            if free > 0:
                return

    def events(self, daemon):
        """Returns the names of all events that the daemon has logged."""
        self.logged += [json.loads(line) for line in (daemon.stderr.read() or "").splitlines()]
        return [event["event"] for event in self.logged]

    def metrics(self):
        api = self.connect()
        api.socket.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        lines = api.file.read().decode().splitlines()
        return {name: value for name, _, value in (line.partition(" ") for line in lines)}

    def hold_locks(self, api):
        """Returns sessions, each with its grants."""
        held = []
        for number in range(SESSIONS):
            session = api.call("OpenSession", Principal=f"user{number}", LeaseMs=600_000).json
            names = {name: session[name] for name in ("Session", "Secret")}
            grants = [api.call("Acquire", **names, Locks=[{"Resource": f"r{number}/{lock}"}]).json["Grant"]
                      for lock in range(100)]
            held.append((names, grants))
        return held

    def is_refused(self, api):
        """Requests a lock that no other session has."""
        answer = api.call("Acquire", Principal="ann", Locks=[{"Resource": f"new{next(self.numbers)}"}])
        if answer.status == 200:
            return False
        self.assertEqual((answer.status, answer.error, answer.json["Cause"]), (500, "StorageException", "no_space"))
        self.assertIn("make room", answer.body.decode())
        return True

    def test_a_thousand_locks_can_be_used_without_room_for_new_ones(self):
        daemon = self.serve_store()
        api = self.connect()
        held = self.hold_locks(api)
        self.assertEqual(self.metrics()["rocklock_store_low_space"], "0")
        self.leave(RESERVE // 2 - MB)
        wait_until(lambda: self.is_refused(api), "new locks are refused")
        metrics = self.metrics()
        self.assertEqual(metrics["rocklock_store_low_space"], "1")
        self.assertEqual(int(metrics["rocklock_store_reserve_bytes"]), RESERVE)
        wait_until(lambda: "space_low" in self.events(daemon), "the event is logged")
        status = self.rocklock("status")
        self.assertIn("the disk is almost full", status.stdout)
        self.assertIs(json.loads(self.rocklock("status", "--json").stdout)["LowSpace"], True)

        # Other programs fill the disk completely, and the log of the store grows by megabytes.
        self.leave(0)
        self.assertEqual(self.free(), 0)
        for _ in range(800):
            for names, _ in held:
                answer = api.call("RenewSession", **names, Note="x" * 4000)
                self.assertEqual(answer.status, 200, answer.body)
            self.leave(0)
        self.assertLess(int(self.metrics()["rocklock_store_reserve_bytes"]), RESERVE)
        # A page ends when its texts reach 1 MB.
        listed = sum(len(api.call("ListLocks", Prefix=f"r{number}/").json["Locks"]) for number in range(SESSIONS))
        self.assertEqual(listed, 1000)
        self.assertEqual(api.call("Break", Grant=held[0][1].pop(), Reason="test").status, 200)
        for names, grants in held:
            for grant in grants:
                self.assertEqual(api.call("Release", **names, Grant=grant).status, 200)
            self.assertEqual(api.call("CloseSession", **names).status, 200)
        self.assertTrue(self.is_refused(api))
        self.assertIsNone(daemon.poll())

        self.leave(3 * RESERVE)
        began = time.monotonic()
        wait_until(lambda: not self.is_refused(api), "new locks are granted")
        self.assertLess(time.monotonic() - began, 1 * SLOWNESS)
        wait_until(lambda: "space_available" in self.events(daemon), "the event is logged")
        self.assertEqual(int(self.metrics()["rocklock_store_reserve_bytes"]), RESERVE)
        self.assertNotIn("almost full", self.rocklock("status").stdout)

    def test_a_killed_daemon_starts_on_a_full_disk(self):
        daemon = self.serve_store()
        api = self.connect()
        held = self.hold_locks(api)
        for names, _ in held:
            for _ in range(100):
                api.call("RenewSession", **names, Note="x" * 4000)
        self.leave(0)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        self.serve_store()
        api = self.connect()
        self.assertEqual(api.call("ShowStatistics").json["Held"], 1000)
        self.assertTrue(self.is_refused(api))
        for names, grants in held:
            self.assertEqual(api.call("Release", **names, Grant=grants[0]).status, 200)

    def test_items_can_be_deleted_and_not_written(self):
        self.serve_store("--max-user-table-bytes", "0")
        api = self.connect()

        def dynamodb(operation, **body):
            data = json.dumps({"TableName": "table"} | body).encode()
            api.socket.sendall(
                f"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
                "Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/local/dynamodb/aws4_request, "
                "SignedHeaders=host, Signature=0\r\nContent-Type: application/x-amz-json-1.0\r\n"
                "X-Amz-Date: 20260101T000000Z\r\n"
                f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
            return api.receive()

        def put(number):
            return dynamodb("PutItem", Item={"id": {"S": str(number)}, "data": {"S": "x" * 100_000}})

        created = dynamodb("CreateTable", AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                           KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST")
        self.assertEqual(created.status, 200, created.body)
        # The items themselves fill the disk.
        written = 0
        while (answer := put(written)).status == 200:
            written += 1
            self.assertLess(written, 5_000)
        self.assertEqual(answer.status, 500, answer.body)
        self.assertIn("the disk is almost full", answer.body.decode())
        # Data and its compactions have not used the reserve up.
        self.assertGreater(self.free() + int(self.metrics()["rocklock_store_reserve_bytes"]), RESERVE // 2)
        for number in range(written):
            deleted = dynamodb("DeleteItem", Key={"id": {"S": str(number)}})
            self.assertEqual(deleted.status, 200, deleted.body)
        got = dynamodb("GetItem", Key={"id": {"S": "0"}})
        self.assertEqual((got.status, got.json), (200, {}))

    def test_the_size_is_changed_by_a_reload(self):
        with open(self.configuration, "a", encoding="utf-8") as file:
            file.write(f"reserve-bytes = {RESERVE}\n")
        daemon = self.serve("--db", self.store)
        api = self.connect()
        self.leave(RESERVE // 2 - MB)
        wait_until(lambda: self.is_refused(api), "new locks are refused")
        text = self.configuration.read_text().replace(str(RESERVE), "0")
        self.configuration.write_text(text)
        daemon.send_signal(signal.SIGHUP)
        wait_until(lambda: not self.is_refused(api), "new locks are granted")
        self.assertFalse((self.store / "RESERVE").exists())
        self.assertNotIn("rocklock_store_low_space", self.metrics())
        self.assertTrue(alive(daemon.pid))


def enter_namespace():
    """Runs this test again in a mount namespace, in which it may mount, if that is possible."""
    if IN_NAMESPACE in os.environ:
        return
    for words in (["unshare", "-m"], ["unshare", "-Urm"]):
        tried = subprocess.run([*words, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=False, capture_output=True)
        if tried.returncode == 0:
            os.environ[IN_NAMESPACE] = "1"
            os.execvp(words[0], [*words, sys.executable, *sys.argv])


if __name__ == "__main__":
    try:
        enter_namespace()
    except FileNotFoundError:
        pass
    tap.main()
