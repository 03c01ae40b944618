"""An upgrade of the program while it runs: a package replaces its file, then the daemon restarts.

The earlier version is a copy of the program in which the text of the version is replaced. A holder
and a waiter of that version run the first example of README.md. There must never be two holders.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import tap
from harness import PATIENCE_S, PROGRAM, Sandbox, alive, wait_until

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
EARLIER = "0.0.1"


def first_example():
    """Returns the words of the first example of README.md after `rocklock`."""
    lines = (REPOSITORY / "README.md").read_text().splitlines()
    return next(line.split()[1:] for line in lines if line.startswith("    rocklock run "))


class ProgramUpgrade(Sandbox):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "rocklock"
        self.version = self.version_of(PROGRAM)
        self.make_earlier_version()
        report = self.folder / "report.sh"
        report.write_text('#!/bin/sh\n'
                          '# Fails if another instance runs, and works until the file `go` exists.\n'
                          'mkdir running || { echo TWO >> violations; exit 3; }\n'
                          'echo "$1" >> started\n'
                          'until [ -e go ]; do sleep 0.01; done\n'
                          'rmdir running\n')
        report.chmod(0o755)
        (self.folder / "started").touch()

    def tearDown(self):
        self.assertFalse((self.folder / "violations").exists())
        super().tearDown()

    def version_of(self, program):
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        return done.stdout.removeprefix("rocklock ").removesuffix("\n")

    def make_earlier_version(self):
        data = pathlib.Path(PROGRAM).read_bytes()
        padded = EARLIER.ljust(len(self.version), "x").encode()
        self.earlier = padded.decode()
        # The text with its zero byte at the end, as C++ stores it.
        self.assertIn(self.version.encode() + b"\0", data)
        self.program.write_bytes(data.replace(self.version.encode() + b"\0", padded + b"\0"))
        self.program.chmod(0o755)
        self.assertEqual(self.version_of(self.program), self.earlier)
        self.assertNotEqual(self.earlier, self.version)

    def replace_program(self):
        """Replaces the file as a package manager does. Running programs keep the deleted file."""
        new = self.folder / "rocklock.new"
        shutil.copy(PROGRAM, new)
        os.rename(new, self.program)
        self.assertEqual(self.version_of(self.program), self.version)

    def start_program(self, *words):
        process = subprocess.Popen([self.program, *map(str, words)], env=self.environment, cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.started.append(process)
        return process

    def run_program(self, *words):
        return subprocess.run([self.program, *map(str, words)], env=self.environment, cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)

    def serve_program(self):
        daemon = self.start_program("serve", "--db", self.state / "db")
        self.assertIn("listening on", daemon.stderr.readline())
        return daemon

    def assert_runs_deleted_file(self, pid):
        self.assertTrue(os.readlink(f"/proc/{pid}/exe").endswith(" (deleted)"))

    def starts(self):
        return (self.folder / "started").read_text().split()

    def served_version(self):
        done = self.run_program("status", "--json")
        return self.show_json(done)["Version"]

    def show_json(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def holder_of(self, resource):
        view = self.show_json(self.run_program("show", "--json", resource))
        self.assertEqual(len(view["Holders"]), 1)
        return view["Holders"][0]

    def start_jobs(self):
        """Starts a holder and a waiter of the earlier version. Returns them, and the resource."""
        words = first_example()
        resource = words[1]
        lease = ["--lease", "3s"]
        holder = self.start_program(words[0], *lease, *words[1:], "holder")
        wait_until(lambda: self.starts() == ["holder"], "the job has started")
        waiter = self.start_program(words[0], *lease, *words[1:], "waiter")
        wait_until(lambda: self.waiters(resource) == 1, "the second job waits")
        return holder, waiter, resource

    def waiters(self, resource):
        return len(self.show_json(self.run_program("show", "--json", resource))["Waiters"])

    def assert_is_refused(self, resource):
        done = self.run_program("run", "--no-wait", resource, "--", "./report.sh", "intruder")
        self.assertEqual(done.returncode, 75, done.stderr)

    def finish_jobs(self, holder, waiter, resource):
        """Lets the jobs end one after the other."""
        (self.folder / "go").touch()
        for job in (holder, waiter):
            _, stderr = job.communicate(timeout=PATIENCE_S)
            self.assertEqual(job.returncode, 0, stderr)
        self.assertEqual(self.starts(), ["holder", "waiter"])
        done = self.run_program("run", "--no-wait", resource, "--", "./report.sh", "next")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_lock_is_kept_while_the_daemon_is_upgraded(self):
        self.state.mkdir(mode=0o700)
        # Jobs wait for this manager while it is down; no job starts another one.
        self.configuration.write_text(f"socket = {self.socket}\non-death = kill\n")
        daemon = self.serve_program()
        holder, waiter, resource = self.start_jobs()
        grant = self.holder_of(resource)["Grant"]
        self.replace_program()
        # Programs of both versions use the daemon of the earlier one.
        self.assert_runs_deleted_file(daemon.pid)
        self.assert_runs_deleted_file(holder.pid)
        self.assertEqual(self.served_version(), self.earlier)
        self.assert_is_refused(resource)
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(PATIENCE_S), 0)
        self.serve_program()
        self.assertEqual(self.served_version(), self.version)
        self.assertEqual(self.holder_of(resource)["Grant"], grant)
        self.assert_is_refused(resource)
        wait_until(lambda: self.waiters(resource) == 1, "the second job waits again")
        # The holder renews its lease at the new daemon.
        until = time.monotonic() + 6
        wait_until(lambda: time.monotonic() > until, "two leases have passed")
        self.assertIsNone(holder.poll())
        self.assertEqual(self.holder_of(resource)["Grant"], grant)
        self.assert_is_refused(resource)
        self.assertEqual(self.starts(), ["holder"])
        self.finish_jobs(holder, waiter, resource)

    def test_a_lock_is_kept_while_the_private_daemon_is_upgraded(self):
        # The first job starts the daemon, and an old or a new program the next one.
        holder, waiter, resource = self.start_jobs()
        daemon = self.daemon_pid()
        self.assertEqual(self.served_version(), self.earlier)
        self.replace_program()
        self.assert_runs_deleted_file(daemon)
        self.assert_is_refused(resource)
        os.kill(daemon, signal.SIGTERM)
        wait_until(lambda: not alive(daemon), "the daemon has left")
        self.assert_is_refused(resource)
        self.assertEqual(self.served_version(), self.version)
        wait_until(lambda: self.waiters(resource) == 1, "the second job waits again")
        self.finish_jobs(holder, waiter, resource)

    def test_a_running_job_starts_the_daemon_of_the_new_version(self):
        holder, waiter, resource = self.start_jobs()
        daemon = self.daemon_pid()
        self.replace_program()
        os.kill(daemon, signal.SIGTERM)
        wait_until(lambda: not alive(daemon), "the daemon has left")
        # No other program is started until there is a daemon.
        wait_until(self.daemon_pid, "a job has started a daemon")
        self.assertEqual(self.served_version(), self.version)
        self.finish_jobs(holder, waiter, resource)

    def test_a_running_job_starts_a_daemon_although_its_program_was_removed(self):
        holder, waiter, resource = self.start_jobs()
        daemon = self.daemon_pid()
        self.program.unlink()
        os.kill(daemon, signal.SIGTERM)
        wait_until(lambda: not alive(daemon), "the daemon has left")
        wait_until(self.daemon_pid, "a job has started a daemon")
        shutil.copy(PROGRAM, self.program)
        self.assertEqual(self.served_version(), self.earlier)
        self.finish_jobs(holder, waiter, resource)


if __name__ == "__main__":
    tap.main()
