"""--any and --priority of acquire and run, --max-priority of class put, and what show says of them."""

import json
import subprocess

import tap
from harness import PROGRAM, Sandbox


class Any(Sandbox):
    # W9: take any one free resource of several.
    def test_run_locks_the_first_free_resource_and_tells_the_command_which(self):
        self.hold("a")
        done = self.rocklock("run", "--any", "a", "b", "c", "--", "printenv", "ROCKLOCK_RESOURCE")
        self.assertEqual((done.returncode, done.stdout), (0, "b\n"), done.stderr)
        done = self.rocklock("run", "--any", "a", "--lock", "d:read", "--", "printenv",
                             "ROCKLOCK_RESOURCE", "ROCKLOCK_MODE")
        self.assertEqual((done.returncode, done.stdout), (0, "d\nread\n"), done.stderr)

    def test_run_waits_for_the_first_that_becomes_free(self):
        self.hold("a")
        b = self.hold("b")
        waiting = self.start("run", "--any", "a", "b", "--", "printenv", "ROCKLOCK_RESOURCE")
        self.wait_for_waiters("a", 1)
        self.assertTrue(self.show("b")["Waiters"][0]["Any"])
        self.assertIn(", or for another resource", self.rocklock("show", "a").stdout)
        b.terminate()
        self.assertEqual(waiting.communicate(timeout=30)[0], "b\n")
        self.assertEqual(self.show("a")["Waiters"], [])

    def test_acquire_prints_which_resource_it_locked(self):
        self.hold("a")
        script = (f'eval "$({PROGRAM} acquire --quiet --any a "it\'s b")" && echo "$ROCKLOCK_RESOURCE" && '
                  f'{PROGRAM} release $ROCKLOCK_GRANT')
        done = subprocess.run(["sh", "-c", script], env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "it's b\nreleased\n"), done.stderr)
        grant, _ = self.acquire("a", "b", "--any")
        self.assertEqual([lock["Resource"] for lock in grant["Locks"]], ["b"])

    def test_a_refusal_names_the_holders_of_all_of_them(self):
        self.hold("a")
        self.hold("b")
        done = self.rocklock("acquire", "--any", "a", "b")
        self.assertEqual(done.returncode, 75)
        self.assertIn("\n  a: held by", done.stderr)
        self.assertIn("\n  b: held by", done.stderr)
        done = self.rocklock("acquire", "--any", "a", "c", "--mode", "write,read")
        self.assertEqual(done.returncode, 64)
        self.assertIn("one mode", done.stderr)


class Priority(Sandbox):
    # W8: a waiter with a priority is served earlier, where the class allows it.
    def test_a_priority_overtakes_an_earlier_waiter(self):
        self.rocklock("class", "put", "a", "--max-priority", "5")
        first = self.hold("a")
        plain = self.start("run", "a", "--", "sh", "-c", "echo plain >> order")
        self.wait_for_waiters("a", 1)
        urgent = self.start("run", "--priority", "5", "a", "--", "sh", "-c", "echo urgent >> order")
        self.wait_for_waiters("a", 2)
        self.assertEqual([row.get("Priority") for row in self.show("a")["Waiters"]], [5, None])
        shown = self.rocklock("show", "a").stdout
        self.assertIn(", with priority 5\n", shown)
        self.assertIn("(exclusive_write, priorities up to 5)", shown)
        first.terminate()
        self.assertEqual((plain.wait(timeout=30), urgent.wait(timeout=30)), (0, 0))
        self.assertEqual((self.folder / "order").read_text(), "urgent\nplain\n")

    def test_a_class_without_priorities_refuses_one(self):
        for words in (("acquire", "a"), ("run", "a", "--", "true")):
            done = self.rocklock(words[0], "--priority", "1", *words[1:])
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn('not allowed for "a": its class allows no priorities', done.stderr)
        self.rocklock("class", "put", "a", "--max-priority", "5")
        done = self.rocklock("acquire", "--priority", "6", "a")
        self.assertIn("at most 5", done.stderr)
        for text in ("x", "-1", "1.5"):
            done = self.rocklock("acquire", "--priority", text, "a")
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("--priority is", done.stderr)
        self.assertEqual(self.rocklock("acquire", "--priority", "0", "b").returncode, 0)

    def test_the_class_stores_the_highest_priority(self):
        done = self.rocklock("class", "put", "--json", "a", "--max-priority", "5")
        self.assertEqual(json.loads(done.stdout)["MaxPriority"], 5)
        titles, row = self.rocklock("class", "ls").stdout.splitlines()
        self.assertEqual(row[titles.index("PRIORITY"):].split()[0], "5")
        done = self.rocklock("class", "put", "a", "--max-priority", "101")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--max-priority is out of range: give 0 (none) to 100", done.stderr)


if __name__ == "__main__":
    tap.main()
