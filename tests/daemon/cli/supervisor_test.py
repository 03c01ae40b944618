"""`rocklock run` that is killed: its supervisor keeps the lock until the command and all of its
descendants have ended, or kills them.
"""

import json
import os
import pathlib
import signal
import time
from subprocess import DEVNULL

import tap
from harness import PROGRAM, Sandbox, alive, wait_until


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid), f"{pid} is dead")


class Supervised(Sandbox):
    def setUp(self):
        super().setUp()
        # Without the setting of the harness, so that the default applies.
        self.configuration.write_text(f"manager = private\nprivate-directory = {self.folder}\n")
        self.processes = []

    def tearDown(self):
        for pid in self.processes:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        super().tearDown()

    def hold(self, *words, **options):
        holder = super().hold(*words, **options)
        self.processes.append(holder.child)
        return holder

    # A child of the command, and a process that has left its process group and its session.
    CHILD = "sleep 1000 & echo $! > new; mv new {0}; {1}"
    DAEMON = "(setsid sh -c 'sleep 1000 & echo $! > new; mv new {0}; exit' &); {1}"

    def pid_in(self, name):
        wait_until((self.folder / name).exists, f"{name} is written")
        self.processes.append(int((self.folder / name).read_text()))
        return self.processes[-1]

    def run_script(self, script, *options, rest="exec sleep 1000"):
        """Starts `run` with a script that starts one process. Returns `run`, the command, the supervisor
        and that process.
        """
        run = self.start("run", *options, "a", "--", "sh", "-c",
                         "echo $$ > newer; mv newer command; " + script.format("child", rest),
                         stdout=DEVNULL, stderr=DEVNULL)
        command = self.pid_in("command")
        child = self.pid_in("child")
        supervisor = parent_of(command) if rest != "exit" else None
        return run, command, supervisor, child

    def status_of_another(self, *options):
        return self.rocklock("run", *options, "a", "--", "true").returncode

    def assert_held_until(self, pid):
        """Asserts that the lock is held, and is free after this process has been killed."""
        self.assertEqual(self.status_of_another("--no-wait"), 75)
        self.assertEqual(len(self.list()), 1)
        kill(pid)
        self.assertEqual(self.status_of_another("-w", "60"), 0)


class Hold(Supervised):
    # C7: `--on-death hold`.
    def test_a_child_of_the_command_keeps_the_lock_after_run_and_the_command_are_killed(self):
        for script in (self.CHILD, self.DAEMON):
            for name in ("command", "child"):
                (self.folder / name).unlink(missing_ok=True)
            with self.subTest(script):
                run, command, supervisor, child = self.run_script(script)
                run.kill()
                run.wait()
                self.assertTrue(alive(command))
                kill(command)
                self.assert_held_until(child)
                wait_until(lambda supervisor=supervisor: not alive(supervisor), "the supervisor has left")

    def test_the_command_itself_continues_under_the_lock(self):
        holder = self.hold("a")
        holder.kill()
        holder.wait()
        self.assert_held_until(holder.child)

    def test_the_lease_is_renewed(self):
        holder = self.hold("a", "--lease", "600ms")
        holder.kill()
        holder.wait()
        first = self.show("a")["Holders"][0]
        wait_until(lambda: self.show("a")["Holders"][0]["Deadline"] > first["Deadline"], "it is renewed")
        start = time.monotonic()
        wait_until(lambda: time.monotonic() - start > 0.7 or self.list() == [], "more than one lease has passed")
        self.assert_held_until(holder.child)

    def test_under_wait_group_the_lock_outlives_run(self):
        run, command, _, child = self.run_script(self.CHILD, "--wait-group", rest="exit")
        wait_until(lambda: not alive(command), "the command has ended")
        self.assertIsNone(run.poll())
        run.kill()
        run.wait()
        self.assert_held_until(child)

    def test_a_signal_to_the_group_of_run_does_not_reach_the_supervisor(self):
        holder = self.hold("a", start_new_session=True)
        os.killpg(holder.pid, signal.SIGKILL)
        holder.wait()
        self.assert_held_until(holder.child)

    def test_the_command_is_stopped_if_the_lock_is_lost(self):
        holder = self.hold("a", "--lease", "1s")
        holder.kill()
        grant = self.show("a")["Holders"][0]["Grant"]
        self.assertEqual(self.rocklock("break", grant, "--reason", "to test it").returncode, 0)
        wait_until(lambda: not alive(holder.child), "the command is stopped")

    def test_a_stopped_job_does_not_keep_the_lock(self):
        holder = self.hold("a", command=("sh", "-c", "kill -TSTP $$; exec sleep 1000"))
        wait_until(lambda: pathlib.Path(f"/proc/{holder.child}/stat").read_text().rpartition(")")[2].split()[0] == "T",
                   "the command is stopped")
        holder.kill()
        self.assertEqual(self.status_of_another("-w", "60"), 0)
        self.assertFalse(alive(holder.child))

    def test_a_daemon_that_the_command_started_does_not_keep_the_lock(self):
        socket = self.folder / "other.sock"
        other = self.serve("--memory", "--socket", str(socket))
        run = self.start("run", "--socket", str(socket), "a", "--", "sh", "-c",
                         f"unset ROCKLOCK_SOCKET; {PROGRAM} ls; echo $$ > new; mv new command; exec sleep 1000",
                         stdout=DEVNULL, stderr=DEVNULL)
        command = self.pid_in("command")
        daemon = self.daemon_pid()
        self.assertEqual(parent_of(daemon), parent_of(command))
        run.kill()
        run.wait()
        kill(command)
        done = self.rocklock("run", "--socket", socket, "-w", "60", "a", "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(alive(daemon))
        other.terminate()


class Kill(Supervised):
    # C7: `--on-death kill`.
    def test_all_descendants_are_killed_and_the_lock_is_free(self):
        for script in (self.CHILD, self.DAEMON):
            for options in ((), ("--wait-group",)):
                for name in ("command", "child"):
                    (self.folder / name).unlink(missing_ok=True)
                with self.subTest((script, options)):
                    run, command, supervisor, child = self.run_script(script, "--on-death", "kill", *options)
                    run.kill()
                    run.wait()
                    self.assertEqual(self.status_of_another("-w", "60"), 0)
                    self.assertFalse(alive(command) or alive(child))
                    wait_until(lambda supervisor=supervisor: not alive(supervisor), "the supervisor has left")

    def test_a_store_without_a_daemon_is_free_after_run_was_killed(self):
        store = ("--db", self.folder / "db")
        holder = self.hold("a", *store)
        holder.kill()
        wait_until(lambda: not alive(holder.child), "the command is killed")
        self.assertEqual(self.status_of_another("-w", "60", *store), 0)

    def test_holding_a_store_without_a_daemon_is_refused_with_advice(self):
        done = self.rocklock("run", "--on-death", "hold", "--db", "db", "a", "--", "true")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--on-death hold needs a daemon", done.stderr)
        done = self.rocklock("run", "--on-death", "keep", "a", "--", "true")
        self.assertEqual(done.returncode, 64)
        self.assertIn("on-death (from the command line) is 'keep'; it can be one of hold, kill", done.stderr)


class Death(Supervised):
    def test_the_lock_ends_if_the_supervisor_is_killed_as_well(self):
        run, command, supervisor, child = self.run_script(self.DAEMON)
        # Stopped, so that they are killed at the same time.
        os.kill(supervisor, signal.SIGSTOP)
        run.kill()
        os.kill(supervisor, signal.SIGKILL)
        self.assertEqual(self.status_of_another("-w", "60"), 0)
        self.assertFalse(alive(command))
        self.assertTrue(alive(child))

    def test_the_lock_ends_if_the_supervisor_is_killed_later(self):
        run, command, supervisor, child = self.run_script(self.DAEMON)
        run.kill()
        run.wait()
        kill(command)
        self.assertEqual(self.status_of_another("--no-wait"), 75)
        os.kill(supervisor, signal.SIGKILL)
        self.assertEqual(self.status_of_another("-w", "60"), 0)
        self.assertTrue(alive(child))

    def test_without_its_supervisor_the_command_is_killed_and_run_ends(self):
        run, command, supervisor, _ = self.run_script(self.CHILD)
        os.kill(supervisor, signal.SIGKILL)
        self.assertEqual(run.wait(60), 137)
        wait_until(lambda: not alive(command), "the command is dead")
        self.assertEqual(self.list(), [])

    def test_no_supervisor_remains_after_run_has_ended(self):
        for number, status in ((signal.SIGTERM, 143), (signal.SIGKILL, 137)):
            holder = self.hold("a")
            supervisor = parent_of(holder.child)
            self.assertEqual(parent_of(supervisor), holder.pid)
            os.kill(holder.child, number)
            self.assertEqual(holder.wait(60), status)
            self.assertFalse(alive(supervisor))

    def test_the_session_is_bound_to_run_its_command_and_the_supervisor(self):
        holder = self.hold("a")
        session = self.list()[0]["Session"]
        rows = [json.loads(line) for line in self.rocklock("sessions", "--json").stdout.splitlines()]
        row = [row for row in rows if row["Session"] == session][0]
        self.assertEqual([process["Pid"] for process in row["Processes"]],
                         [holder.pid, holder.child, parent_of(holder.child)])
        holder.terminate()
        self.assertEqual(holder.wait(60), 143)

    def test_the_supervisor_has_no_other_descriptors(self):
        reading, writing = os.pipe()
        holder = self.hold("a", pass_fds=(writing,))
        os.close(writing)
        kept = sorted(int(fd) for fd in os.listdir(f"/proc/{parent_of(holder.child)}/fd"))
        self.assertEqual(kept, [0, 1, 2, 3, 4])
        holder.terminate()
        self.assertEqual(holder.wait(60), 143)
        self.assertEqual(os.read(reading, 1), b"")
        os.close(reading)


if __name__ == "__main__":
    tap.main()
