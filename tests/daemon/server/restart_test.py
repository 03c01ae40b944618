"""Killing, restarting and stopping the daemon, as seen by its clients."""

import os
import shutil
import signal
import threading
import time
from datetime import datetime

import tap
from harness import PATIENCE_S, Sandbox, alive, wait_until


def moved_s(after, before, member):
    """Returns the difference of a time in seconds. It is computed from the boot clock, so it may be
    off by a millisecond.
    """
    return (datetime.fromisoformat(after[member]) - datetime.fromisoformat(before[member])).total_seconds()


class Killed(Sandbox):
    def test_fifty_holders_keep_their_grants_tokens_and_deadlines(self):
        self.rocklock("ls")
        holders = []
        go = threading.Barrier(50)

        def hold(number):
            go.wait()
            holders.append(self.hold(f"r{number}", "--lease", "6s"))

        threads = [threading.Thread(target=hold, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(holders), 50)
        before = {row["Resource"]: row for row in self.list()}
        self.kill_daemon()
        after = {row["Resource"]: row for row in self.list()}
        self.assertEqual(set(after), set(before))
        for name, row in after.items():
            self.assertEqual((row["Grant"], row["Token"]), (before[name]["Grant"], before[name]["Token"]))
            self.assertEqual(row["Session"], before[name]["Session"])
            # The deadline was kept or moved by a renewal, but never moved back.
            self.assertGreater(moved_s(row, before[name], "Deadline"), -0.003)
        # The clients keep renewing: two leases later, all locks are still held.
        first = max(row["Deadline"] for row in after.values())
        wait_until(lambda: all(row["Deadline"] > first for row in self.list()),
                   "every session was renewed by the new daemon")
        self.assertEqual(len(self.list()), 50)
        for holder in holders:
            self.assertIsNone(holder.poll())
            holder.terminate()
        for holder in holders:
            self.assertEqual(holder.wait(60), 143)
        self.assertEqual(self.list(), [])

    def test_an_unrenewed_lease_has_the_same_deadline_after_a_restart(self):
        grant, _ = self.acquire("a", "--lease", "10m")
        before = self.list()[0]
        self.kill_daemon()
        after = self.list()[0]
        self.assertEqual((after["Grant"], after["Token"]), (grant["Grant"], grant["Token"]))
        for member in ("AcquiredAt", "Deadline"):
            self.assertLess(abs(moved_s(after, before, member)), 0.003, member)

    def test_a_session_is_rebound_to_the_connection_that_renews_it(self):
        self.rocklock("ls")
        before = self.connect()
        proofs = {}
        for name in ("ann", "ben", "cy"):
            grant = before.call("Acquire", Principal=name, Bound="connection", LeaseMs=600_000,
                                Locks=[{"Resource": name}]).json
            proofs[name] = {"Session": grant["Session"], "Secret": grant["Secret"]}
        self.kill_daemon()
        self.assertEqual({row["Resource"] for row in self.list()}, {"ann", "ben", "cy"})
        after, helper = self.connect(), self.connect()
        # A client that renews a session for another one does not bind it to its own connection.
        self.assertEqual(helper.call("RenewSession", **proofs["ben"]).status, 200)
        wrong = proofs["ann"] | {"Secret": proofs["cy"]["Secret"]}
        self.assertEqual(helper.call("RenewSession", **wrong, Rebind=True).error, "NotOwnerException")
        self.assertEqual(after.call("RenewSession", **proofs["ann"], Rebind=True).status, 200)
        # The session is already bound.
        self.assertEqual(helper.call("RenewSession", **proofs["ann"], Rebind=True).status, 200)
        helper.call("Acquire", Principal="dan", Bound="connection", Locks=[{"Resource": "dan"}])
        self.assertEqual(len(self.list()), 4)
        helper.close()
        wait_until(lambda: len(self.list()) < 4, "what was the helper's has ended")
        self.assertEqual(after.call("RenewSession", **proofs["cy"], Rebind=True).status, 200)
        self.assertEqual({row["Resource"] for row in self.list()}, {"ann", "ben", "cy"})
        after.close()
        wait_until(lambda: [row["Resource"] for row in self.list()] == ["ben"], "two have ended")

    def test_a_waiter_retries_and_gets_its_lock(self):
        holder = self.hold("a")
        waiter = self.start("run", "a", "--", "echo", "mine")
        self.wait_for_waiters("a", 1)
        self.kill_daemon()
        self.wait_for_waiters("a", 1)
        self.assertIsNone(holder.poll())
        holder.terminate()
        self.assertEqual(waiter.communicate(timeout=60)[0], "mine\n")
        self.assertEqual(waiter.returncode, 0)

    def test_a_holder_that_died_meanwhile_is_detected_at_the_restart(self):
        holder = self.hold("a", "--lease", "10m")
        self.kill_daemon()
        holder.kill()
        wait_until(lambda: not alive(holder.child), "the command is dead")
        wait_until(lambda: not self.list(), "the lock is free")

    def test_a_release_during_its_absence_starts_it_again(self):
        holder = self.hold("a", "--lease", "10m")
        self.kill_daemon()
        holder.terminate()
        self.assertEqual(holder.wait(60), 143)
        self.assertEqual(self.list(), [])


class Stopped(Sandbox):
    def test_term_fails_waiters_and_exits_within_two_seconds(self):
        api = self.api()
        other = self.connect()
        api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}])
        other.send("Acquire", {"Principal": "bob", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
        wait_until(lambda: len(api.call("ShowLock", Resource="a").json["Waiters"]) == 1, "bob waits")
        pid = self.daemon_pid()
        start = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        answer = other.receive()
        self.assertEqual((answer.status, answer.error), (503, "ManagerClosingException"))
        wait_until(lambda: self.started[0].poll() is not None, "it has left")
        self.assertLess(time.monotonic() - start, 2)
        self.assertEqual(self.started[0].returncode, 0)
        self.assertFalse(self.socket.exists())

    def test_a_restart_keeps_grants(self):
        grant, _ = self.acquire("a")
        self.stop_daemon()
        self.assertEqual(self.list()[0]["Grant"], grant["Grant"])

    def test_it_exits_when_idle_without_a_session(self):
        environment = {"ROCKLOCK_IDLE_EXIT": "500ms"}
        done = self.rocklock("acquire", "--json", "--lease", "2s", "a", environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        start = time.monotonic()
        pid = self.daemon_pid()
        wait_until(lambda: not alive(pid), "the daemon has left")
        self.assertGreater(time.monotonic() - start, 1.5)
        self.assertIn("shutting down", self.log())


class Start(Sandbox):
    def test_the_daemon_has_its_own_session_and_directory(self):
        self.rocklock("ls")
        pid = self.daemon_pid()
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
        self.assertNotEqual(os.getsid(pid), os.getsid(0))
        targets = {os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1, 2)}
        self.assertEqual(targets, {"/dev/null", str(self.state / "daemon.log")})

    def test_it_inherits_no_descriptor_and_no_credentials(self):
        reading, writing = os.pipe()
        self.rocklock("ls", pass_fds=(writing,), environment={"ROCKLOCK_SESSION": "secret"})
        os.close(writing)
        # If the daemon had inherited the pipe, this would block.
        with os.fdopen(reading, "rb") as file:
            self.assertEqual(file.read(), b"")
        with open(f"/proc/{self.daemon_pid()}/environ", "rb") as file:
            self.assertNotIn(b"ROCKLOCK_SESSION", file.read())

    def test_no_start_is_69(self):
        done = self.rocklock("run", "--no-start", "a", "--", "true")
        self.assertEqual(done.returncode, 69)
        self.assertIn("no daemon answers", done.stderr)
        self.assertIsNone(self.daemon_pid())

    def test_no_daemon_is_started_for_the_socket_of_another_user(self):
        done = self.rocklock("ls", "--socket", self.folder / "other.sock")
        self.assertEqual(done.returncode, 69)

    def test_a_stale_socket_file_is_replaced(self):
        self.rocklock("ls")
        self.kill_daemon()
        self.assertTrue(self.socket.exists())
        self.assertEqual(self.rocklock("ls").returncode, 0)

    def test_a_daemon_whose_socket_file_is_removed_exits(self):
        self.acquire("a")
        pid = self.daemon_pid()
        self.socket.unlink()
        self.assertEqual([lock["Resource"] for lock in self.list()], ["a"])
        self.assertNotEqual(self.daemon_pid(), pid)
        self.assertIn("was removed or replaced", self.log())

    def test_a_second_daemon_on_a_socket_fails_and_names_the_first(self):
        process = self.serve("--memory")
        self.socket.unlink()
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 70)
        self.assertIn(f"the socket file {self.socket} was removed or replaced", errors)
        self.assertNotIn("the storage has failed", errors)

    def test_the_socket_of_the_next_daemon_is_not_removed(self):
        self.rocklock("ls")
        first = self.daemon_pid()
        shutil.rmtree(self.state)
        self.rocklock("ls")
        second = self.daemon_pid()
        self.assertNotEqual(first, second)
        wait_until(lambda: not alive(first), "the first has left")
        self.assertEqual(self.rocklock("ls", "--no-start").returncode, 0)
        self.assertEqual(self.daemon_pid(), second)

    def test_a_live_socket_is_not_replaced(self):
        self.api()
        pid = self.daemon_pid()
        done = self.rocklock("serve", "--memory")
        self.assertEqual(done.returncode, 75)
        self.assertIn(f"(pid {pid})", done.stderr)
        self.assertEqual(self.rocklock("ls").returncode, 0)

    def test_a_file_that_is_not_a_socket_is_not_removed(self):
        path = self.folder / "precious"
        path.write_text("data")
        done = self.rocklock("serve", "--memory", "--socket", path)
        self.assertEqual(done.returncode, 64)
        self.assertEqual(path.read_text(), "data")

    def test_a_store_in_use_is_refused_with_the_pid(self):
        self.rocklock("ls")
        pid = self.daemon_pid()
        done = self.rocklock("serve", "--socket", self.folder / "other.sock", "--db", self.state / "db")
        self.assertEqual(done.returncode, 75)
        self.assertIn(str(pid), done.stderr)

    def test_the_socket_is_for_owner_and_group(self):
        self.rocklock("ls")
        self.assertEqual(self.socket.stat().st_mode & 0o777, 0o660)

    def test_a_path_too_long_for_a_socket_is_reported(self):
        done = self.rocklock("serve", "--memory", "--socket", self.folder / ("x" * 120))
        self.assertEqual(done.returncode, 64)
        self.assertIn("107 bytes", done.stderr)


if __name__ == "__main__":
    tap.main()
