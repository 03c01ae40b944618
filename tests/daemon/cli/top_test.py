"""top: with and without a terminal."""

import fcntl
import json
import os
import pty
import signal
import struct
import termios
import time

import tap
from harness import SLOWNESS, Sandbox, wait_until


class Plain(Sandbox):
    def test_without_a_terminal_it_prints_once(self):
        self.acquire("quiet", "--principal", "ann")
        self.hold("wanted", "--principal", "bob")
        self.start("run", "wanted", "--", "true")
        self.start("run", "wanted", "--", "true")
        self.wait_for_waiters("wanted", 2)
        done = self.rocklock("top")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertIn("2 held, 2 waiting", lines[0])
        self.assertEqual(lines[2].split()[:3], ["RESOURCE", "WAITING", "MODE"])
        # The resource with the most waiters comes first, although its lock is younger.
        self.assertEqual(lines[3].split()[:4], ["wanted", "2", "write", "bob"])
        self.assertEqual(lines[4].split()[:3], ["quiet", "write", "ann"])
        self.assertNotIn("\x1b", done.stdout)

    def test_json_is_an_object_each_time(self):
        self.acquire("a")
        done = self.rocklock("top", "--json", "--once")
        picture, = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(set(picture), {"At", "Waiting", "More", "Locks"})
        self.assertEqual(picture["Locks"][0]["Holder"]["Resource"], "a")
        going = self.start("top", "--json", "--interval", "50ms")
        first, second = (json.loads(going.stdout.readline()) for _ in range(2))
        self.assertLess(first["At"], second["At"])
        going.send_signal(signal.SIGINT)
        self.assertEqual(going.wait(60), 0)

    def test_it_shows_the_rates_since_the_previous_refresh(self):
        self.hold("wanted")
        going = self.start("top", "--json", "--interval", "50ms", "no-such-prefix")
        first = json.loads(going.stdout.readline())
        self.assertNotIn("GrantsPerSecond", first)
        self.start("run", "wanted", "--", "true")
        self.wait_for_waiters("wanted", 1)
        grant, _ = self.acquire("another")
        self.assertGreater(grant["Token"], 0)
        # Both happened between the first picture and a later one.
        grants = waits = 0
        while grants == 0 or waits == 0:
            picture = json.loads(going.stdout.readline())
            grants += picture["GrantsPerSecond"]
            waits += picture["WaitsPerSecond"]
        while picture["GrantsPerSecond"] or picture["WaitsPerSecond"]:
            picture = json.loads(going.stdout.readline())
        going.send_signal(signal.SIGINT)
        self.assertEqual(going.wait(60), 0)

    def test_a_prefix_selects_locks(self):
        self.acquire("a/1")
        self.acquire("b/1")
        self.assertNotIn("b/1", self.rocklock("top", "a/").stdout)

    def test_a_closed_pipe_ends_it(self):
        self.acquire("a")
        going = self.start("top", "--json", "--interval", "50ms")
        going.stdout.readline()
        going.stdout.close()
        self.assertIn(going.wait(60), (-signal.SIGPIPE, 70))

    def test_an_invalid_interval_is_64(self):
        for interval in ("1", "0", "5ms", "2h"):
            self.assertEqual(self.rocklock("top", "--interval", interval).returncode, 64)


class Terminal(Sandbox):
    def setUp(self):
        super().setUp()
        self.terminal, self.other = pty.openpty()
        self.resize(20, 100)
        self.before = termios.tcgetattr(self.other)
        os.set_blocking(self.terminal, False)
        self.shown = ""

    def tearDown(self):
        super().tearDown()
        os.close(self.terminal)
        os.close(self.other)

    def resize(self, lines, columns):
        fcntl.ioctl(self.other, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def top(self, *options):
        return self.start("top", *options, stdin=self.other, stdout=self.other, environment={"TERM": "xterm"})

    def read(self):
        try:
            self.shown += os.read(self.terminal, 65536).decode(errors="replace")
        except BlockingIOError:
            pass
        return self.shown

    def wait_for(self, text):
        wait_until(lambda: text in self.read(), f"the terminal shows {text}")

    def assert_left_as_it_was(self):
        self.read()
        self.assertTrue(self.shown.endswith("\x1b[?25h\x1b[?1049l"), self.shown[-40:])
        self.assertEqual(termios.tcgetattr(self.other), self.before)

    def test_it_redraws_and_q_quits(self):
        self.acquire("a")
        top = self.top("--interval", "50ms")
        self.wait_for("q quits")
        self.assertTrue(self.shown.startswith("\x1b[?1049h\x1b[?25l"))
        self.acquire("another")
        self.wait_for("another")
        self.wait_for("; of all locks 0.0 grants/s, 0.0 waits/s")
        os.write(self.terminal, b"q")
        self.assertEqual(top.wait(60), 0)
        self.assert_left_as_it_was()

    def test_a_lost_daemon_is_shown_immediately_and_keys_still_work(self):
        self.state.mkdir()
        daemon = self.serve("--memory")
        self.acquire("a")
        for leave in (signal.SIGSTOP, signal.SIGKILL):
            self.shown = ""
            top = self.top("--interval", "50ms", "--socket", self.socket, "--no-start")
            self.wait_for("q quits")
            self.assertNotIn("NOT ANSWERING", self.shown)
            daemon.send_signal(leave)
            start = time.monotonic()
            self.wait_for("NOT ANSWERING for ")
            self.assertLess(time.monotonic() - start, 4 * SLOWNESS)
            # The last picture stays visible.
            self.assertIn("1 held", self.shown.rpartition("\x1b[H")[2])
            os.write(self.terminal, b"q")
            start = time.monotonic()
            self.assertEqual(top.wait(60), 0)
            self.assertLess(time.monotonic() - start, 4 * SLOWNESS)
            self.assert_left_as_it_was()
            if leave == signal.SIGSTOP:
                daemon.send_signal(signal.SIGCONT)

    def test_a_restarted_daemon_is_shown_again(self):
        self.state.mkdir()
        daemon = self.serve("--memory")
        top = self.top("--interval", "50ms", "--socket", self.socket)
        self.wait_for("0 held")
        daemon.send_signal(signal.SIGSTOP)
        self.wait_for("NOT ANSWERING")
        daemon.send_signal(signal.SIGCONT)
        self.acquire("a")
        self.wait_for("1 held")
        wait_until(lambda: "NOT ANSWERING" not in self.read().rpartition("\x1b[J")[0].rpartition("\x1b[H")[2],
                   "it is well again")
        os.write(self.terminal, b"q")
        self.assertEqual(top.wait(60), 0)

    def test_signals_restore_the_terminal(self):
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)):
            self.shown = ""
            top = self.top()
            self.wait_for("q quits")
            top.send_signal(number)
            self.assertEqual(top.wait(60), status)
            self.assert_left_as_it_was()

    def test_it_fits_the_size_of_the_terminal(self):
        for number in range(30):
            self.acquire(f"resource-with-a-long-name/{number}", "--db", "store")
        self.resize(10, 40)
        top = self.top("--db", "store", "--interval", "50ms")
        self.wait_for("\x1b[J")
        frame = self.shown.split("\x1b[H")[1].split("\x1b[J")[0]
        # The terminal driver adds a carriage return.
        lines = [line.replace("\x1b[0m\x1b[K", "").replace("\x1b[1m", "").rstrip("\r")
                 for line in frame.split("\n")]
        self.assertEqual(len(lines), 10)
        # The title and two more lines are above the rows.
        self.assertEqual(lines[-1], "and 24 more; q quits")
        self.assertLessEqual(max(map(len, lines)), 40)
        self.shown = ""
        self.resize(24, 120)
        top.send_signal(signal.SIGWINCH)
        wait_until(lambda: self.read().rpartition("\x1b[J")[0].rpartition("\x1b[H")[2].count("\n") == 23,
                   "a larger picture")
        self.resize(40, 120)
        top.send_signal(signal.SIGWINCH)
        wait_until(lambda: self.read().rpartition("\x1b[J")[0].rpartition("\x1b[H")[2].count("\n") == 34,
                   "the whole picture")
        self.assertNotIn(" more; ", self.shown.rpartition("\x1b[H")[2])
        os.write(self.terminal, b"q")
        self.assertEqual(top.wait(60), 0)

    def test_an_error_is_printed_after_the_terminal_is_restored(self):
        top = self.top("--socket", self.folder / "none")
        self.assertEqual(top.wait(60), 69)
        self.assert_left_as_it_was()
        self.assertIn("start it", top.stderr.read())

    def test_no_bold_titles_with_no_color(self):
        self.acquire("a")
        self.top("--no-color")
        self.wait_for("q quits")
        self.assertNotIn("\x1b[1m", self.shown)


if __name__ == "__main__":
    tap.main()
