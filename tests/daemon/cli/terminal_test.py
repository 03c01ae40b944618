"""`rocklock run` as a job of a shell, on a terminal."""

import contextlib
import os
import pty
import signal
import sys

import tap
from harness import PROGRAM, Sandbox, alive, wait_until

# A shell with one job. It reports each change of the job's state, and executes the orders that it
# reads.
SHELL = r"""
import os, signal, sys
for number in (signal.SIGTTOU, signal.SIGTSTP):
    signal.signal(number, signal.SIG_IGN)
orders = os.fdopen(int(sys.argv[1]))
log = open(sys.argv[2], "w", buffering=1)
begins_behind = sys.argv[3] == "behind"
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    if not begins_behind:
        os.tcsetpgrp(0, os.getpid())
    for number in (signal.SIGTTOU, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)
    os.execv(sys.argv[4], sys.argv[4:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    # As shells do: the terminal is theirs while the job does not run in front.
    before = os.tcgetpgrp(0)
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(status):
        log.write(f"ended {os.waitstatus_to_exitcode(status)} {'mine' if before == os.getpgrp() else 'its'}\n")
        break
    log.write("stopped\n")
    order = orders.readline().strip()
    if order == "fg":
        os.tcsetpgrp(0, job)
    os.kill(-job, signal.SIGCONT)
"""


class Jobs(Sandbox):
    def setUp(self):
        super().setUp()
        self.report = self.folder / "report"
        self.pid = None

    def tearDown(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.terminal)
            os.close(self.orders)
        super().tearDown()

    def shell(self, where, *command):
        """Starts a shell with `rocklock run` as its job, in the foreground or in the background."""
        reading, self.orders = os.pipe()
        os.set_inheritable(reading, True)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.execve(sys.executable, [sys.executable, "-c", SHELL, str(reading), str(self.report), where, PROGRAM, "run",
                                       "a", "--", *command], self.environment)
        os.close(reading)

    def wait_for(self, *lines):
        wait_until(lambda: self.report.exists() and self.report.read_text().splitlines() == list(lines), f"{lines}")

    def order(self, word):
        os.write(self.orders, f"{word}\n".encode())

    READ = ("sh", "-c", 'read line; echo "$line" > new; mv new read')

    def read(self):
        wait_until((self.folder / "read").exists, "the command has read its line")
        return (self.folder / "read").read_text()

    def test_a_background_job_that_reads_stops_and_continues_in_the_foreground(self):
        self.shell("behind", *self.READ)
        self.wait_for("stopped")
        self.order("fg")
        os.write(self.terminal, b"hello\n")
        self.assertEqual(self.read(), "hello\n")
        wait_until(lambda: "ended 0" in self.report.read_text(), "it has ended")

    def test_a_job_continued_in_the_background_stops_again(self):
        self.shell("behind", *self.READ)
        self.wait_for("stopped")
        self.order("bg")
        self.wait_for("stopped", "stopped")
        self.order("fg")
        os.write(self.terminal, b"again\n")
        self.assertEqual(self.read(), "again\n")
        self.wait_for("stopped", "stopped", "ended 0 its")

    def test_ctrl_z_stops_it_and_it_continues_in_the_foreground(self):
        self.shell("before", *self.READ)
        wait_until(lambda: self.list(), "it holds the lock")
        self.stop_by_ctrl_z()
        self.order("fg")
        os.write(self.terminal, b"hello\n")
        self.assertEqual(self.read(), "hello\n")
        self.wait_for("stopped", "ended 0 its")

    def test_ctrl_c_ends_the_command_and_its_supervisor(self):
        self.shell("before", "sleep", "1000")
        wait_until(lambda: self.command_in_front(b"sleep\0"), "the command has the terminal")
        with open(f"/proc/{os.tcgetpgrp(self.terminal)}/stat", encoding="utf-8") as file:
            supervisor = int(file.read().rpartition(")")[2].split()[1])
        os.write(self.terminal, b"\x03")
        self.wait_for("ended 130 its")
        self.assertFalse(alive(supervisor))
        self.assertEqual(self.list(), [])

    def stop_by_ctrl_z(self):
        """Sends ^Z once, when the command has the terminal: a second one might arrive after it
        continues.
        """
        wait_until(self.command_in_front, "the command has the terminal")
        os.write(self.terminal, b"\x1a")
        self.wait_for("stopped")

    def command_in_front(self, begins_with=b"sh\0"):
        with contextlib.suppress(OSError):
            with open(f"/proc/{os.tcgetpgrp(self.terminal)}/cmdline", "rb") as file:
                return file.read().startswith(begins_with)
        return False

    def test_a_job_that_ends_in_the_background_leaves_the_terminal_to_the_shell(self):
        # A shell that is starting a program may not stop until that runs, so this one uses a builtin.
        os.mkfifo(self.folder / "enough")
        self.shell("before", "sh", "-c", "read line < enough")
        wait_until(lambda: self.list(), "it holds the lock")
        self.stop_by_ctrl_z()
        self.order("bg")
        (self.folder / "enough").write_text("enough\n")
        self.wait_for("stopped", "ended 0 mine")


if __name__ == "__main__":
    tap.main()
