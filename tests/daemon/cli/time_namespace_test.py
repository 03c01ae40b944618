"""Clients in another time namespace than the daemon, where leases cannot be interpreted."""

import json
import subprocess

import tap
from harness import PATIENCE_S, PROGRAM, Sandbox

OFFSETS = {"ahead of": "100000", "behind": "-1"}


def inside(offset_s, *words, **options):
    """Runs a program in a time namespace with this offset of the boot clock."""
    return subprocess.run(["unshare", "--time", "--boottime", offset_s, *words], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False, **options)


class TimeNamespace(Sandbox):
    def setUp(self):
        super().setUp()
        tried = inside("1", "true")
        if tried.returncode != 0:
            self.skipTest(f"no time namespace can be created: {tried.stderr.strip()}")
        self.serve()

    def elsewhere(self, offset_s, *words):
        return inside(offset_s, PROGRAM, *words, env=self.environment, cwd=self.folder)

    def test_a_client_is_refused_with_advice(self):
        grant, _ = self.acquire("held")
        for verb in (("run", "a", "--", "touch", "ran"), ("run", "--no-wait", "held", "--", "true"), ("acquire", "a"),
                     ("renew", str(grant["Grant"])), ("release", str(grant["Grant"])), ("ls",), ("show", "a")):
            self.environment["ROCKLOCK_SESSION"] = f"{grant['Session']}:{grant['Secret']}"
            for relation, offset_s in OFFSETS.items():
                done = self.elsewhere(offset_s, *verb)
                self.assertEqual(done.returncode, 64, (verb, done.stderr))
                self.assertIn("in another time namespace than the daemon on", done.stderr)
                self.assertIn(f"{relation} that of the daemon", done.stderr)
                self.assertIn(f"nsenter --time --target {self.daemon_pid()}", done.stderr)
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual([row["Resource"] for row in self.list()], ["held"])

    def test_status_shows_the_manager_and_the_reason(self):
        done = self.elsewhere("100000", "status")
        self.assertEqual(done.returncode, 64)
        self.assertIn(f"pid {self.daemon_pid()}", done.stdout)
        self.assertIn("time namespace", done.stderr)

    def test_status_omits_users_that_it_cannot_list(self):
        self.acquire("held")
        self.assertIn("users     ", self.rocklock("status").stdout)
        self.assertNotIn("users", self.elsewhere("100000", "status").stdout)
        self.assertNotIn("Users", json.loads(self.elsewhere("100000", "status", "--json").stdout))

    def test_a_namespace_without_an_offset_is_accepted(self):
        done = self.elsewhere("0", "run", "a", "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)


if __name__ == "__main__":
    tap.main()
