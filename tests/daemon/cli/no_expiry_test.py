"""Locks without expiry: --lease none, in classes with --no-expiry (L2)."""

import json
import time

import tap
from harness import Sandbox


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


class NoExpiry(Sandbox):
    def setUp(self):
        super().setUp()
        self.done("class", "put", "cards/*", "--no-expiry")

    def done(self, *words, status=0, **options):
        done = self.rocklock(*words, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_is_listed_as_such(self):
        done = self.done("acquire", "cards/1", "--lease", "none")
        self.assertIn("cards/1: yours to write, no expiry\n", done.stderr)
        for words in (("ls",), ("sessions",), ("show", "cards/1"), ("top", "--once"), ("history", "cards/1")):
            self.assertIn("no expiry", self.done(*words).stdout, words)
        for words in (("ls",), ("sessions",)):
            row, = lines(self.done(*words, "--json"))
            self.assertIs(row["NoExpiry"], True)
        self.assertEqual(lines(self.done("class", "ls", "--json"))[0]["NoExpiry"], True)
        self.assertIn("allows locks without expiry", self.done("show", "cards/1").stdout)
        longest, = lines(self.done("outliers", "--json"))[0]["LongestHeld"]
        self.assertIs(longest["NoExpiry"], True)
        self.assertLess(longest["AcquiredAt"], longest["Deadline"])
        refused = self.done("acquire", "cards/1", status=75).stderr
        self.assertIn("in mode write without expiry", refused)
        # An ordinary lock is not marked.
        self.done("acquire", "cards/2")
        self.assertNotIn("NoExpiry", lines(self.done("ls", "cards/2", "--json"))[0])

    def test_needs_a_class_that_allows_it(self):
        done = self.done("acquire", "orders/1", "--lease", "none", status=64)
        self.assertIn("cannot be locked without expiry", done.stderr)
        self.done("acquire", "cards/1", "orders/1", "--lease", "none", status=64)
        done = self.done("acquire", "cards/1", "--lease", "none", "--for-process", "1", status=64)
        self.assertIn("cannot be bound", done.stderr)
        done = self.done("run", "cards/1", "--lease", "none", "--", "true", status=64)
        self.assertIn("acquire --lease none", done.stderr)
        self.done("acquire", "cards/1", "--lease", "never", status=64)
        done = self.done("class", "put", "x", "--no-expiry", "--max-hold", "1h", status=64)
        self.assertIn("--no-expiry", done.stderr)
        self.done("class", "rm", "cards/*")
        done = self.done("session", "open", "--lease", "none", status=64)
        self.assertIn("no class allows locks without expiry", done.stderr)

    def test_belongs_to_its_session_after_a_crash(self):
        opened = lines(self.done("session", "open", "--lease", "none", "--json"))[0]
        self.assertIs(opened["NoExpiry"], True)
        proof = {"ROCKLOCK_SESSION": f"{opened['Session']}:{opened['Secret']}"}
        grant = lines(self.done("acquire", "cards/1", "--in-session", "--json", environment=proof))[0]
        self.kill_daemon()
        self.done("acquire", "cards/1", status=75)
        self.assertIn("no expiry, 1 grant", self.done("session", "show", environment=proof).stdout)
        self.assertEqual(self.done("renew", grant["Grant"], environment=proof).stdout, "renewed: no expiry\n")
        self.done("renew", "--lease", "none", status=64, environment=proof)
        self.done("release", grant["Grant"], environment=proof)
        self.done("acquire", "cards/1")

    def test_ends_by_its_owner_or_an_administrator_only(self):
        grant, proof = self.acquire("cards/1", "--lease", "none")
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)
        self.done("class", "put", "cards/*", "--no-expiry", "--steal", "anyone")
        done = self.done("steal", grant["Grant"], "--reason", "r", "--socket", self.socket, status=77, user=65534,
                         extra_groups=[])
        self.assertIn("locked without expiry", done.stderr)
        self.done("break", grant["Grant"], "--reason", "r")
        self.done("renew", status=76, environment=proof)

    def test_can_get_a_lease(self):
        opened = lines(self.done("session", "open", "--lease", "none", "--json"))[0]
        proof = {"ROCKLOCK_SESSION": f"{opened['Session']}:{opened['Secret']}"}
        self.done("acquire", "cards/1", "--in-session", environment=proof)
        self.done("renew", "--lease", "100ms", environment=proof)
        time.sleep(0.15)
        self.done("acquire", "cards/1")

    def test_over_the_protocol(self):
        daemon = self.connect()
        members = {"Principal": "ann", "Locks": [{"Resource": "cards/1"}], "NoExpiry": True}
        answer = daemon.call("Acquire", **members, LeaseMs=1000)
        self.assertEqual((answer.error, answer.json["message"]),
                         ("ValidationException", "give LeaseMs or NoExpiry, not both"))
        answer = daemon.call("Acquire", **members)
        self.assertEqual((answer.status, answer.json["NoExpiry"]), (200, True), answer.json)
        self.assertEqual(answer.json["Deadline"], "9999-12-31T23:59:59.999Z")
        self.assertEqual(daemon.call("OpenSession", Principal="ann", NoExpiry=True, Bound="connection").error,
                         "ValidationException")


if __name__ == "__main__":
    tap.main()
