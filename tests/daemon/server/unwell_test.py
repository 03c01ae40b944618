"""The program with a daemon that has too many connections, hangs, or does not admit this user."""

import json
import os
import signal
import subprocess
import time
import unittest

import tap
from harness import PROGRAM, Connection, Sandbox, wait_until


class Crowded(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()
        self.daemon = self.serve("--memory", "--max-connections", "1")
        self.guest = Connection(self.socket)
        self.assertEqual(self.guest.call("Ping").status, 200)

    def tearDown(self):
        self.guest.close()
        super().tearDown()

    def test_a_verb_retries_for_a_while_and_exits_with_69(self):
        start = time.monotonic()
        done = self.rocklock("ls", "--socket", self.socket)
        self.assertGreater(time.monotonic() - start, 1.9)
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("reached its maximum number of connections", done.stderr)
        self.assertNotIn("start it", done.stderr)
        # The same for a verb that would start a daemon.
        self.assertEqual(self.rocklock("acquire", "a").returncode, 69)

    def test_a_verb_waits_for_a_connection_up_to_its_wait_timeout(self):
        waiting = self.start("run", "a", "--", "sh", "-c", "exit 3")
        done = self.rocklock("acquire", "b", "--patience", "2500ms")
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIsNone(waiting.poll())
        self.guest.close()
        self.assertEqual(waiting.wait(60), 3, waiting.stderr.read())


class Hanging(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()
        self.daemon = self.serve("--memory")
        self.daemon.send_signal(signal.SIGSTOP)

    def test_every_verb_times_out(self):
        verbs = [("ls",), ("acquire", "a", "--patience", "1s"), ("run", "a", "--no-wait", "--", "true"),
                 ("top", "--once"), ("show", "a"), ("watch",)]
        running = [self.start(*words) for words in verbs]
        start = time.monotonic()
        for process, words in zip(running, verbs):
            out, error = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 69, (words, out, error))
            self.assertIn("does not answer", error, words)
        # As documented: ten seconds longer than the wait timeout.
        self.assertGreater(time.monotonic() - start, 9)

    def test_a_verb_without_a_wait_timeout_keeps_waiting(self):
        waiting = self.start("run", "a", "--", "sh", "-c", "exit 3")
        with self.assertRaises(subprocess.TimeoutExpired):
            waiting.wait(12)
        self.daemon.send_signal(signal.SIGCONT)
        self.assertEqual(waiting.wait(60), 3)


class Forbidden(Sandbox):
    """A user without write access to the folders of the store and the daemon."""

    def as_nobody(self, *words):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        self.folder.chmod(0o755)
        return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PROGRAM, *words],
                              env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def test_a_store_in_a_read_only_directory_is_77(self):
        socket = str(self.folder / "s")
        for place in ("db", "x/y"):
            done = self.as_nobody("serve", "--socket", socket, "--db", str(self.folder / place))
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertIn("let this user write there", done.stderr)

    def test_a_daemon_that_cannot_make_its_files_is_77(self):
        done = self.as_nobody("acquire", "a")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("let this user write there", done.stderr)
        self.state.mkdir()
        self.state.chmod(0o755)
        self.assertEqual(self.as_nobody("acquire", "a").returncode, 77)

    def test_a_file_at_the_path_of_the_directory_is_64(self):
        file = self.folder / "file"
        file.touch()
        done = self.rocklock("serve", "--memory", "--socket", file)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("a file that is not a socket", done.stderr)
        self.assertFalse((self.folder / "file.lock").exists())
        self.assertEqual(self.rocklock("serve", "--db", file / "x" / "y").returncode, 64)


class Unreachable(Sandbox):
    def test_a_path_that_is_too_long_is_64(self):
        path = self.folder / ("x" * 120)
        for verb in (("ls",), ("run", "a", "--", "true"), ("serve",)):
            done = self.rocklock(verb[0], "--socket", path, *verb[1:])
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("107 bytes", done.stderr)

    def test_with_an_admin_group_the_path_has_at_most_103_bytes(self):
        path = str(self.folder / "x").ljust(104, "x")
        done = self.rocklock("serve", "--memory", "--socket", path, "--admin-group", str(os.getgid()))
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("--admin-group needs 4 bytes more than the path; choose a shorter --socket", done.stderr)
        self.assertFalse(os.path.exists(path + ".lock"))

    @unittest.skipUnless(os.geteuid() == 0, "only root may become somebody else")
    def test_a_socket_that_is_not_for_this_user_is_77_with_advice(self):
        self.acquire("a")
        self.folder.chmod(0o755)
        done = self.rocklock("ls", "--socket", self.socket, user=65534, extra_groups=[])
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("--admin-group", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root may become somebody else")
    def test_a_daemon_in_a_read_only_directory_is_77(self):
        self.folder.chmod(0o755)
        for path in ("s", "new/s"):
            done = self.rocklock("serve", "--memory", "--socket", self.folder / path, user=65534, extra_groups=[])
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertIn("let this user write there", done.stderr)


class Signals(Sandbox):
    def test_signals_that_other_daemons_obey_do_not_end_the_daemon(self):
        self.state.mkdir()
        daemon = self.serve("--memory")
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            daemon.send_signal(number)
        self.assertEqual(self.connect().call("Ping").status, 200)
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0)

    def test_closing_its_terminal_ends_it(self):
        self.state.mkdir()
        terminal, other = os.openpty()
        daemon = self.start("serve", "--memory", stdin=other)
        self.assertIn("listening", daemon.stderr.readline())
        self.assertIn("the store is open", daemon.stderr.readline())
        daemon.send_signal(signal.SIGHUP)
        self.assertEqual(daemon.wait(60), 0)
        os.close(terminal)
        os.close(other)


class Owners(Sandbox):
    """The release of locks whose owners have ended."""

    def endings(self, resource):
        rows = self.rocklock("history", "--json", resource).stdout.splitlines()
        return [json.loads(row) for row in rows]

    def test_the_end_of_a_process(self):
        with subprocess.Popen(["sleep", "1000"]) as owner:
            api = self.api()
            session = api.call("OpenSession", Principal="ann", Bound="process", Pid=owner.pid).json
            proof = {"Session": session["Session"], "Secret": session["Secret"]}
            self.assertEqual(api.call("Acquire", Locks=[{"Resource": "a"}], **proof).status, 200)
            owner.kill()
        wait_until(lambda: not self.list(), "its lock is free")
        row, = self.endings("a")
        self.assertEqual((row["Outcome"], row["Reason"]), ("released", "its process has ended"))
        self.assertRegex(self.rocklock("history", "a").stdout, "released at .*: its process has ended")
        self.assertIn("its process has ended", self.rocklock("show", "a").stdout)

    def test_the_end_of_a_connection(self):
        api = self.api()
        session = api.call("OpenSession", Principal="ann", Bound="connection").json
        proof = {"Session": session["Session"], "Secret": session["Secret"]}
        self.assertEqual(api.call("Acquire", Locks=[{"Resource": "a"}], **proof).status, 200)
        api.close()
        wait_until(lambda: not self.list(), "its lock is free")
        self.assertEqual(self.endings("a")[0]["Reason"], "its connection has ended")

    def test_one_that_released_it_needs_no_reason(self):
        grant, proof = self.acquire("a")
        self.rocklock("release", grant["Grant"], environment=proof)
        self.assertNotIn("Reason", self.endings("a")[0])


class Permits(Sandbox):
    def test_they_are_requested_and_shown_as_permits(self):
        self.assertEqual(self.rocklock("class", "put", "printers", "--permits", "3").returncode, 0)
        got = self.rocklock("acquire", "printers", "--permits", "2", "--principal", "ann")
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertIn("printers: yours, 2 permits", got.stderr)
        self.assertRegex(self.rocklock("ls").stdout, r"printers +2 permits +ann")
        self.assertIn("ann (2 permits)", self.rocklock("show", "printers").stdout)
        self.assertIn("2 permits", self.rocklock("history", "printers").stdout)
        self.assertRegex(self.rocklock("top").stdout, r"printers +2 permits +ann")
        refused = self.rocklock("acquire", "printers", "--permits", "2")
        self.assertEqual(refused.returncode, 75)
        self.assertIn("ann (2 of its permits)", refused.stderr)
        self.assertNotIn("write", refused.stderr)
        one = self.rocklock("run", "printers", "--", "sh", "-c", "echo $ROCKLOCK_MODE")
        self.assertEqual((one.returncode, one.stdout), (0, "permits\n"))
        watched = self.start("watch", "--after", "0")
        self.assertRegex(watched.stdout.readline(), r"granted +printers +2 permits +ann")
        self.assertEqual(self.rocklock("acquire", "printers", "--permits", "4").returncode, 64)
        for words in (("--permits", "0"), ("--permits", "x"), ("--permits", "1", "--mode", "read")):
            self.assertEqual(self.rocklock("acquire", "printers", *words).returncode, 64, words)

    def test_waiters_for_permits_are_shown(self):
        self.rocklock("class", "put", "printers", "--permits", "1")
        self.acquire("printers")
        self.start("run", "printers", "--principal", "ben", "--", "true")
        self.wait_for_waiters("printers", 1)
        self.assertEqual(self.show("printers")["Waiters"][0]["Permits"], 1)
        self.assertIn("ben (1 permit)", self.rocklock("show", "printers").stdout)


if __name__ == "__main__":
    tap.main()
