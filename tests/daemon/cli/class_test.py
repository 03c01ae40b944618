"""class put, class ls and class rm, and the effect of a class on the verbs that lock."""

import json

import tap
from harness import Sandbox, wait_until

EVERYTHING = {
    "--policy": ("read_write", "Policy", "read_write"),
    "--lease": ("45s", "LeaseMs", 45_000),
    "--max-lease": ("2m", "MaxLeaseMs", 120_000),
    "--max-hold": ("1h", "MaxHoldMs", 3_600_000),
    "--min-hold": ("5s", "MinHoldMs", 5_000),
    "--lock-delay": ("3s", "LockDelayMs", 3_000),
    "--steal": ("idle", "Steal", "idle"),
    "--steal-after": ("15m", "StealAfterMs", 900_000),
    "--queue-limit": ("7", "QueueLimit", 7),
}


class Classes(Sandbox):
    def put(self, *words):
        done = self.rocklock("class", "put", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def classes(self, *words):
        done = self.rocklock("class", "ls", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_every_member_can_be_given(self):
        words = [word for option, (value, _, _) in EVERYTHING.items() for word in (option, value)]
        put = self.put("orders/*", *words, "--dependant", "customers:write", "--dependant", "a:b:read",
                       "--dependant", "c")
        for _, key, value in EVERYTHING.values():
            self.assertEqual(put[key], value)
        self.assertEqual(put["Dependants"], [{"Resource": "customers", "Mode": "write"},
                                             {"Resource": "a:b", "Mode": "read"}, {"Resource": "c", "Mode": "read"}])
        self.assertEqual(self.classes(), [put])

    def test_a_misspelt_mode_is_not_part_of_a_name(self):
        for text in ("customers:wirte", "customers:", "a:b", "customers:exclusive"):
            done = self.rocklock("class", "put", "orders/*", "--dependant", text)
            self.assertEqual(done.returncode, 64, text)
            self.assertIn("read or write", done.stderr)

    def test_the_maximum_lease_applies_to_the_verbs(self):
        self.put("a", "--lease", "10s", "--max-lease", "10s", "--steal", "anyone")
        grant, proof = self.acquire("a")
        for words in (("renew", grant["Grant"], "--lease", "1h"), ("steal", grant["Grant"], "--reason", "r")):
            done = self.rocklock(*words, environment=proof if words[0] == "renew" else {})
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("at most 10s", done.stderr)
        done = self.rocklock("steal", grant["Grant"], "--reason", "r", "--lease", "5s")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_maximum_lease_below_the_default_lease_needs_a_lease(self):
        done = self.rocklock("class", "put", "m/*", "--max-lease", "10s")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("--lease (30s if it is not given) is longer than --max-lease; give a shorter --lease\n", done.stderr)
        self.put("m/*", "--max-lease", "10s", "--lease", "10s")

    def test_drafts_are_kept_if_the_class_says_so(self):
        self.assertTrue(self.put("orders/*", "--drafts")["Drafts"])
        self.put("a")
        titles, *rows = self.rocklock("class", "ls").stdout.splitlines()
        at = titles.index("DRAFTS")
        self.assertEqual([row[at:].split()[0] for row in rows], ["-", "yes"])
        self.assertIn("orders/* (exclusive_write, keeps drafts)", self.rocklock("show", "orders/1").stdout)
        self.assertNotIn("Drafts", self.put("orders/*"))

    def test_a_class_with_permits_counts_holders(self):
        self.assertEqual(self.put("printers", "--permits", "3")["Permits"], 3)

    def test_a_put_replaces_the_whole_class(self):
        self.put("a/*", "--max-hold", "1h")
        self.put("a/*", "--min-hold", "1s")
        only, = self.classes()
        self.assertNotIn("MaxHoldMs", only)
        self.assertEqual(only["MinHoldMs"], 1000)

    def test_the_list_is_a_table(self):
        self.put("a/*", "--lease", "10m", "--dependant", "b")
        self.put("a/1")
        titles, first, second = self.rocklock("class", "ls").stdout.splitlines()
        self.assertEqual(titles.split()[:3], ["PATTERN", "POLICY", "LEASE"])
        # The most specific pattern comes first.
        self.assertEqual(first.split()[0], "a/1")
        self.assertEqual(second.split()[:3], ["a/*", "exclusive_write", "10m"])
        self.assertTrue(second.endswith("b:read"))

    def test_a_class_can_be_deleted(self):
        self.put("a/*")
        done = self.rocklock("class", "rm", "a/*")
        self.assertEqual((done.returncode, done.stdout), (0, "class a/* was deleted\n"))
        self.assertEqual(self.classes(), [])
        done = self.rocklock("class", "rm", "a/*")
        self.assertEqual(done.returncode, 64)
        self.assertIn("no class", done.stderr)

    def test_invalid_settings_are_64(self):
        for words, text in ((("--lease", "10"), "--lease is '10'"), (("--steal", "who"), "one of"),
                            (("--permits", "x"), "whole number"), (("--policy", "p"), "one of"),
                            (("--queue-limit", "-1"), "whole number")):
            done = self.rocklock("class", "put", "a", *words)
            self.assertEqual(done.returncode, 64, words)
            self.assertIn(text, done.stderr)
        done = self.rocklock("class", "put")
        self.assertEqual(done.returncode, 64)
        self.assertIsNone(self.daemon_pid())
        # An option that the daemon refuses.
        self.assertEqual(self.rocklock("class", "put", "a", "--lease", "1ms").returncode, 64)

    def test_a_star_must_be_a_whole_element(self):
        for pattern in ("a*", "orders/*x", "a/**"):
            done = self.rocklock("class", "put", pattern)
            self.assertEqual(done.returncode, 64, pattern)
            self.assertIn("whole element", done.stderr)
        for pattern in ("*", "orders/*", "*/a/*"):
            self.assertEqual(self.rocklock("class", "put", pattern).returncode, 0, pattern)

    def test_class_without_a_second_word_lists_its_verbs(self):
        done = self.rocklock("class")
        self.assertEqual(done.returncode, 64)
        self.assertIn("class put", done.stderr)
        done = self.rocklock("class", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("class rm", done.stdout)

    def test_it_works_without_a_daemon(self):
        self.rocklock("run", "--db", "store", "x", "--", "true")
        self.put("a/*", "--db", "store")
        self.assertEqual(self.classes("--db", "store")[0]["Pattern"], "a/*")
        self.assertIsNone(self.daemon_pid())

    def test_its_lease_applies_if_the_request_has_none(self):
        self.put("a/*", "--lease", "10m")
        grant, _ = self.acquire("a/1")
        self.assertEqual(grant["LeaseMs"], 600_000)
        self.assertEqual(self.acquire("a/2", "--lease", "1m")[0]["LeaseMs"], 60_000)
        self.assertEqual(self.acquire("b")[0]["LeaseMs"], 30_000)

    def test_run_keeps_a_short_lease_of_a_class(self):
        self.put("a/*", "--lease", "600ms")
        holder = self.hold("a/1")
        self.assertLessEqual(self.list("a/1")[0]["RemainingMs"], 600)
        # The lock was renewed for more than three leases.
        first = self.list("a/1")[0]["Deadline"]
        seen = {first}
        wait_until(lambda: seen.add(self.list("a/1")[0]["Deadline"]) or len(seen) > 6, "renewals")
        self.assertIsNone(holder.poll())


if __name__ == "__main__":
    tap.main()
