"""Leases of `rocklock run`: renewed, lost, and stopped in time."""

import os
import signal
import time

import tap
from harness import Sandbox, alive, wait_until


class Renewal(Sandbox):
    def test_a_lease_shorter_than_the_command_is_renewed(self):
        done = self.rocklock("run", "--lease", "1s", "a", "--", "sleep", "2.5")
        self.assertEqual(done.returncode, 0, done.stderr)

    # C4: the command gets SIGTERM while its lock is still held.
    def test_a_stopped_daemon_makes_the_command_stop_before_the_lease_ends(self):
        self.api()
        daemon = self.daemon_pid()
        term = self.folder / "term"
        script = f"trap 'date +%s.%N > {term}; exit 3' TERM; while :; do sleep 0.01; done"
        holder = self.hold("a", "--lease", "2s", command=("sh", "-c", script))
        os.kill(daemon, signal.SIGSTOP)
        stopped = time.time()
        try:
            self.assertEqual(holder.wait(60), 76)
            stopped_at = float(term.read_text())
        finally:
            os.kill(daemon, signal.SIGCONT)
        self.assertIn("could not be renewed and ends in", holder.stderr.read())
        # No renewal followed, so the lease ended at most two seconds after the last one.
        self.assertLess(stopped_at, stopped + 2)


class Paused(Sandbox):
    # X6, T5: a paused holder finds its lock invalid when it continues.
    def test_a_run_stopped_past_its_lease_loses_the_lock_and_stops_its_command(self):
        api = self.api()

        def lateness():
            holder = self.hold("a", "--lease", "2s")
            grant = self.show("a")["Holders"][0]["Grant"]
            holder.send_signal(signal.SIGSTOP)
            # From here on, the lease is not renewed; a response in transit may still have moved the
            # deadline.
            wait_until(lambda: self.stopped(holder.pid), "the holder is stopped")
            boot_now = time.clock_gettime(time.CLOCK_BOOTTIME)
            remaining = self.show("a")["Holders"][0]["RemainingMs"] / 1000
            deadline = boot_now + remaining
            api.send("Acquire", {"Principal": "next", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
            answer = api.receive()
            late = time.clock_gettime(time.CLOCK_BOOTTIME) - deadline
            self.assertEqual(answer.status, 200)
            self.assertGreater(answer.json["Token"], grant)
            # Not before the deadline: it was read after boot_now.
            self.assertGreater(late, -0.1)
            self.assertTrue(alive(holder.child))
            holder.send_signal(signal.SIGCONT)
            self.assertEqual(holder.wait(60), 76)
            self.assertFalse(alive(holder.child))
            self.assertIn("is lost", holder.stderr.read())
            session = {"Session": answer.json["Session"], "Secret": answer.json["Secret"]}
            api.call("Release", Grant=answer.json["Grant"], **session)
            return late

        self.assert_within(0.05, lateness)

    def test_a_command_that_ignores_term_is_killed_after_five_seconds(self):
        holder = self.hold("a", "--lease", "1s", command=(
            "sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"))
        holder.send_signal(signal.SIGSTOP)
        wait_until(lambda: not self.list(), "the lock has expired")
        holder.send_signal(signal.SIGCONT)
        start = time.monotonic()
        self.assertEqual(holder.wait(60), 76)
        self.assertGreater(time.monotonic() - start, 4.5)
        self.assertLess(time.monotonic() - start, 10)

    def test_on_lost_kill_does_not_wait(self):
        holder = self.hold("a", "--lease", "1s", "--on-lost", "kill", command=(
            "sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"))
        holder.send_signal(signal.SIGSTOP)
        wait_until(lambda: not self.list(), "the lock has expired")
        start = time.monotonic()
        holder.send_signal(signal.SIGCONT)
        self.assertEqual(holder.wait(60), 76)
        self.assertLess(time.monotonic() - start, 4)

    def test_on_lost_ignore_lets_the_command_continue(self):
        done = self.folder / "done"
        # Starts the daemon, so that the first message of `run` is about the lock.
        self.list()
        holder = self.hold("a", "--lease", "1s", "--on-lost", "ignore", command=(
            "sh", "-c", f"while [ ! -e {done} ]; do sleep 0.02; done; exit 5"))
        holder.send_signal(signal.SIGSTOP)
        wait_until(lambda: not self.list(), "the lock has expired")
        holder.send_signal(signal.SIGCONT)
        self.assertIn("continues without it", holder.stderr.readline())
        done.touch()
        self.assertEqual(holder.wait(60), 5)

    def stopped(self, pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"


class Broken(Sandbox):
    def test_a_broken_lock_stops_the_command_with_the_next_renewal(self):
        holder = self.hold("a", "--lease", "1s")
        grant = self.list()[0]["Grant"]
        done = self.rocklock("break", grant, "--reason", "ann is on holiday")
        self.assertEqual((done.returncode, done.stdout), (0, "broken\n"), done.stderr)
        self.assertEqual(holder.wait(60), 76)
        self.assertIn("broken", holder.stderr.read())
        last = self.show("a")["LastHolder"]
        self.assertEqual((last["Outcome"], last["Reason"]), ("broken", "ann is on holiday"))


if __name__ == "__main__":
    tap.main()
