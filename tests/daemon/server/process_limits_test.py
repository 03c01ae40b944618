"""A daemon at the limits of its process, and a store that other users could read."""

import os
import resource
import stat
import unittest

import tap
from harness import SLOWNESS, Sandbox


class Limits(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir(mode=0o700)

    def serve_limited(self, kind, limit, *options):
        def lower():
            resource.setrlimit(kind, (limit, limit))
        return self.start("serve", "--db", self.state / "store", *options, preexec_fn=lower)

    def test_a_file_size_limit_is_a_storage_failure(self):
        daemon = self.serve_limited(resource.RLIMIT_FSIZE, 100_000)
        self.assertIn("listening on", daemon.stderr.readline())
        api = self.connect()
        for number in range(1_000):
            answer = api.call("Acquire", Principal="ann", Note="x" * 3_000,
                              Locks=[{"Resource": f"r{number}"}])
            if answer.status != 200:
                break
        self.assertEqual((answer.error, answer.json["Cause"]), ("StorageException", "no_space"))
        self.assertIn("ulimit -f", answer.body.decode())
        self.assertEqual(daemon.wait(60), 70)
        granted = number
        # After the limit is removed, all answered requests are there.
        self.serve("--db", self.state / "store")
        self.assertEqual(self.connect().call("ShowStatistics").json["Held"], granted)

    @unittest.skipIf(SLOWNESS > 1, "a sanitizer needs terabytes of addresses")
    def test_too_little_memory_ends_with_a_message(self):
        daemon = self.serve_limited(resource.RLIMIT_AS, 100 << 20)
        error = daemon.communicate(timeout=60)[1]
        self.assertEqual(daemon.returncode, 70, error)
        self.assertIn("ulimit -v", error)


class Shared(Sandbox):
    def mode(self, path):
        return stat.S_IMODE(os.stat(path).st_mode)

    def test_a_new_store_is_accessible_only_to_its_user(self):
        self.state.mkdir(mode=0o755)
        store = self.state / "store"
        previous = os.umask(0)
        try:
            self.serve("--db", store)
            self.connect().call("Acquire", Principal="ann", Locks=[{"Resource": "a"}])
            self.stop_daemon()
        finally:
            os.umask(previous)
        readable = [path for path in [store, *store.rglob("*")] if self.mode(path) & 0o077]
        self.assertEqual(readable, [])

    def test_a_directory_that_others_can_enter_is_refused(self):
        self.state.mkdir(mode=0o700)
        store = self.state / "store"
        store.mkdir()
        for mode in (0o755, 0o710, 0o701):
            store.chmod(mode)
            done = self.rocklock("serve", "--db", store)
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertIn(f"has mode {mode:04o}", done.stderr)
            self.assertIn(f"chmod 700 {store}", done.stderr)
        self.assertEqual(list(store.iterdir()), [])

    def test_it_is_served_if_that_is_allowed(self):
        self.state.mkdir(mode=0o700)
        store = self.state / "store"
        store.mkdir()
        store.chmod(0o755)
        self.serve("--db", store, "--allow-shared-store")
        self.assertEqual(self.connect().call("Ping").status, 200)
        # The files of RocksDB are still not readable by others.
        self.assertEqual(self.mode(store / "db"), 0o700)


tap.main()
