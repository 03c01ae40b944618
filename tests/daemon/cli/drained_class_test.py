"""class drain and class resume (I10)."""

import json

import tap
from harness import Sandbox


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


class DrainedClass(Sandbox):
    def setUp(self):
        super().setUp()
        self.done("class", "put", "orders/*", "--policy", "read_write")

    def done(self, *words, status=0, **options):
        done = self.rocklock(*words, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_refuses_new_locks_with_the_reason_and_keeps_the_old(self):
        grant, proof = self.acquire("orders/1")
        done = self.done("class", "drain", "orders/*", "--reason", "upkeep until 18:00")
        self.assertIn("is drained", done.stdout)
        # A variable of a script that is not set must not erase the reason.
        self.done("class", "drain", "orders/*", "--reason", "", status=64)
        for words in (("acquire", "orders/2"), ("acquire", "orders/1", "--patience", "1m"),
                      ("run", "orders/2", "--", "true")):
            self.assertIn('class "orders/*" is drained (upkeep until 18:00)', self.done(*words, status=75).stderr)
        self.assertEqual(self.rocklock("run", "-E", "9", "orders/2", "--", "true").returncode, 9)
        self.done("renew", grant["Grant"], environment=proof)
        self.done("convert", grant["Grant"], "--mode", "read", environment=proof)
        self.done("convert", grant["Grant"], "--mode", "write", status=75, environment=proof)
        self.done("release", grant["Grant"], environment=proof)
        self.done("class", "resume", "orders/*")
        self.done("acquire", "orders/1")

    def test_answers_waiting_requests(self):
        self.acquire("orders/1")
        waiter = self.connect()
        waiter.send("Acquire", {"Principal": "bob", "Locks": [{"Resource": "orders/1"}], "PatienceMs": 60_000})
        self.wait_for_waiters("orders/1", 1)
        self.done("class", "drain", "orders/*", "--reason", "upkeep")
        answer = waiter.receive()
        self.assertEqual((answer.status, answer.error), (400, "ClassDrainingException"))
        self.assertIn("(upkeep)", answer.json["message"])

    def test_is_shown_counted_and_audited(self):
        drained = lines(self.done("class", "drain", "orders/*", "--reason", "upkeep", "--json"))[0]
        self.assertEqual(drained["Draining"], "upkeep")
        self.assertEqual(lines(self.done("class", "ls", "--json")), [drained])
        table = self.done("class", "ls").stdout.splitlines()
        self.assertIn("DRAINED", table[0])
        self.assertIn("upkeep", table[1])
        self.assertIn("until the class is resumed: upkeep", self.done("show", "orders/1").stdout)
        self.assertEqual(lines(self.done("stats", "--json"))[0]["ClassesDraining"], 1)
        self.done("class", "resume", "orders/*")
        resumed = lines(self.done("class", "resume", "orders/*", "--json"))[0]
        self.assertNotIn("Draining", resumed)
        self.assertEqual(lines(self.done("stats", "--json"))[0]["ClassesDraining"], 0)
        rows = [(row["Outcome"], row["Resource"], row["Reason"], row["By"], row["Grant"])
                for row in lines(self.done("audit", "--json"))]
        self.assertEqual(rows, [("drained", "orders/*", "upkeep", "root", 0), ("resumed", "orders/*", "", "root", 0)])

    def test_survives_a_restart_and_a_class_put(self):
        self.done("class", "drain", "orders/*")
        self.kill_daemon()
        self.done("acquire", "orders/1", status=75)
        put = lines(self.done("class", "put", "orders/*", "--lease", "5s", "--json"))[0]
        self.assertEqual((put["Draining"], put["LeaseMs"]), ("", 5000))
        self.done("acquire", "orders/1", status=75)
        done = self.done("class", "rm", "orders/*", status=64)
        self.assertIn("resume the class before you delete it", done.stderr)

    def test_of_an_unknown_pattern_or_by_another_user_is_refused(self):
        for verb in ("drain", "resume"):
            self.assertIn("no class", self.done("class", verb, "none/*", status=64).stderr)
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)
        for verb in ("drain", "resume"):
            self.done("class", verb, "orders/*", "--socket", self.socket, status=77, user=65534, extra_groups=[])


if __name__ == "__main__":
    tap.main()
