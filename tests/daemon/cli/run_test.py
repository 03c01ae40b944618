"""`rocklock run`: exclusion, exit statuses, signals, and the environment of the command."""

import json
import os
import signal
import subprocess
import time
from subprocess import DEVNULL

import tap
from harness import PROGRAM, SLOWNESS, Sandbox, alive, wait_until


class Exclusion(Sandbox):
    # C1: the commands run one after the other, each under the lock.
    def test_two_hundred_concurrent_runs_lose_no_increment_and_start_one_daemon(self):
        # A sanitized process has 90 MB of its own: two hundred of them fill the memory of a small
        # machine.
        count = 200 if SLOWNESS == 1 else 40
        counter = self.folder / "f"
        counter.write_text("0\n")
        script = (f'for i in $(seq {count}); do {{ {PROGRAM} run counter -- '
                  'sh -c \'n=$(cat f); echo $((n+1)) > f\' || echo "run $i: status $?" >&2; } & done; '
                  'wait')
        done = subprocess.run(["sh", "-c", script], env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=100, check=False)
        said = [line for line in done.stderr.splitlines() if "waiting for" not in line]
        self.assertEqual((counter.read_text().strip(), len(said)), (str(count), 1), (said, self.log()))
        self.assertIn("started the private daemon", said[0])
        self.assertEqual(self.log().count("listening on"), 1, self.log())
        self.assertEqual(self.list(), [])

    def test_readers_share_the_lock_and_a_writer_waits(self):
        self.hold("a", "--mode", "read")
        self.hold("a", "--mode", "read")
        done = self.rocklock("run", "--no-wait", "--mode", "write", "a", "--", "true")
        self.assertEqual(done.returncode, 75)
        self.assertEqual(done.stderr.count("\n  a: held by"), 2, done.stderr)

    def test_several_resources_are_taken_together_or_not_at_all(self):
        self.hold("b")
        done = self.rocklock("run", "--no-wait", "a", "b", "--", "true")
        self.assertEqual(done.returncode, 75)
        self.assertEqual([row["Resource"] for row in self.list()], ["b"])
        done = self.rocklock("run", "--no-wait", "a", "c", "--", "printenv", "ROCKLOCK_RESOURCE")
        self.assertEqual(done.stdout, "a\nc\n")


class Busy(Sandbox):
    # I2: the owner, the time since the grant, the time until the deadline, and the reason.
    def test_no_wait_on_a_held_name_is_75_and_names_the_holder(self):
        self.hold("counter", "--principal", "ann", "--note", "month's end")
        done = self.rocklock("run", "--no-wait", "counter", "--", "touch", "ran")
        self.assertEqual(done.returncode, 75)
        self.assertRegex(done.stderr, r"held by ann \(write\), for [0-9.]+s, (2|30)[0-9.]*s left, pid \d+")
        self.assertIn("month's end", done.stderr)
        self.assertFalse((self.folder / "ran").exists())

    # C2: a conflict has an exit status of its own.
    def test_another_status_can_be_chosen(self):
        self.hold("counter")
        self.assertEqual(self.rocklock("run", "-E", "9", "--no-wait", "counter", "--", "true").returncode, 9)

    # C2: a timed acquire.
    def test_a_wait_timeout_that_expires_is_75(self):
        self.hold("counter")
        start = time.monotonic()
        done = self.rocklock("run", "--patience", "300ms", "counter", "--", "true")
        self.assertEqual(done.returncode, 75)
        self.assertGreaterEqual(time.monotonic() - start, 0.3)

    def test_after_a_second_of_waiting_it_prints_the_holder(self):
        self.hold("counter", "--principal", "ann")
        waiter = self.start("run", "counter", "--", "true")
        start = time.monotonic()
        line = waiter.stderr.readline()
        self.assertGreater(time.monotonic() - start, 0.9)
        self.assertRegex(line, r"^rocklock: waiting for counter: held by ann \(write\), for .*s left")

    def test_quiet_does_not_print_the_holder_while_it_waits(self):
        holder = self.hold("counter", command=("sleep", "1.5"))
        waiter = self.start("run", "--quiet", "counter", "--", "true")
        self.assertEqual(waiter.communicate(timeout=60)[1], "")
        holder.wait()

    def test_quiet_errors_do_not_name_the_holder(self):
        self.hold("counter", "--principal", "ann", "--note", "secret")
        for words in (("run", "--quiet", "--no-wait", "counter", "--", "true"), ("acquire", "--quiet", "counter"),
                      ("run", "--quiet", "--patience", "50ms", "counter", "--", "true")):
            done = self.rocklock(*words)
            self.assertEqual(done.returncode, 75)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertNotIn("ann", done.stderr)
            self.assertNotIn("secret", done.stderr)

    def test_a_lease_of_a_class_that_is_short_is_renewed_in_time(self):
        self.rocklock("class", "put", "counter", "--lease", "240ms")

        # If the machine delays the renewal for too long, the lock is lost. The test then tries
        # again.
        def outlives_its_lease():
            return self.rocklock("run", "counter", "--", "sleep", "0.7").returncode == 0

        self.assertTrue(any(outlives_its_lease() for _ in range(20)))


class Status(Sandbox):
    def test_renewals_do_not_extend_a_grant_beyond_max_hold(self):
        self.rocklock("class", "put", "short", "--max-hold", "4s")
        start = time.monotonic()
        done = self.rocklock("run", "--lease", "6s", "short", "--", "sleep", "60")
        self.assertEqual(done.returncode, 76, done.stderr)
        self.assertLess(time.monotonic() - start, 4 + 0.5 * SLOWNESS)

    def test_a_max_hold_that_is_shorter_than_the_margin_of_the_lease_is_used(self):
        start = time.monotonic()
        done = self.rocklock("run", "--lease", "60s", "--max-hold", "2s", "a", "--", "sleep", "60")
        self.assertEqual(done.returncode, 76, done.stderr)
        self.assertGreater(time.monotonic() - start, 1.4)
        done = self.rocklock("run", "--lease", "60s", "--max-hold", "2s", "b", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)

    # C3: the status of the command is the status of `run`.
    def test_the_exit_status_of_the_command_is_returned(self):
        for status in (0, 1, 7, 75, 255):
            self.assertEqual(self.rocklock("run", "a", "--", "sh", "-c", f"exit {status}").returncode, status)

    def test_a_signal_that_ends_the_command_is_128_plus_its_number(self):
        self.assertEqual(self.rocklock("run", "a", "--", "sh", "-c", "kill -KILL $$").returncode, 137)
        self.assertEqual(self.rocklock("run", "a", "--", "sh", "-c", "kill -TERM $$").returncode, 143)

    def test_a_command_that_cannot_be_executed_is_126_or_127(self):
        (self.folder / "data").write_text("no program")
        self.assertEqual(self.rocklock("run", "a", "--", "./data").returncode, 126)
        done = self.rocklock("run", "a", "--", "./nothing")
        self.assertEqual(done.returncode, 127)
        self.assertIn("./nothing", done.stderr)
        self.assertEqual(self.list(), [])

    def test_json_status_distinguishes_a_busy_lock_from_a_command_that_exits_with_75(self):
        def events(*words):
            reading, writing = os.pipe()
            done = self.rocklock("run", "--json-status", writing, *words, pass_fds=(writing,))
            os.close(writing)
            with os.fdopen(reading) as file:
                return done.returncode, [json.loads(line) for line in file]

        status, reported = events("a", "--", "sh", "-c", "exit 75")
        self.assertEqual((status, [event["Event"] for event in reported]), (75, ["granted", "exited"]))
        self.assertEqual(reported[1]["Status"], 75)
        self.assertEqual(reported[0]["Token"], reported[0]["Grant"])
        self.hold("a")
        status, reported = events("--no-wait", "a", "--", "true")
        self.assertEqual((status, reported), (75, [{"Event": "refused", "Error": "LockConflictException"}]))

    def test_the_command_does_not_inherit_the_status_descriptor(self):
        reading, writing = os.pipe()
        done = self.rocklock("run", "--json-status", writing, "a", "--", "sh", "-c",
                             f"test ! -e /proc/self/fd/{writing}", pass_fds=(writing,))
        os.close(writing)
        os.close(reading)
        self.assertEqual(done.returncode, 0)


class Names(Sandbox):
    def test_names_that_begin_with_a_dash_need_a_separator_before_them(self):
        command = ("--", "sh", "-c", 'echo "$ROCKLOCK_RESOURCE" "$@"', "--", "-z")
        for words, said in ((("--", "-x", "a"), "-x\na -z\n"), (("a",), "a -z\n"), (("--", "a"), "a -z\n"),
                            (("--", "--help"), "--help -z\n"), (("--", "echo"), "echo -z\n")):
            done = self.rocklock("run", "--note", "n", *words, *command)
            self.assertEqual((done.returncode, done.stdout), (0, said), done.stderr)
        # With one "--" the words after it are the command, so the name is missing.
        done = self.rocklock("run", "--", "echo", "x")
        self.assertEqual(done.returncode, 64)
        self.assertIn("an operand is missing", done.stderr)


class Environment(Sandbox):
    # C5: token, grant, deadline and resource.
    def test_the_environment_describes_the_lock(self):
        done = self.rocklock("run", "--principal", "ann", "--mode", "exclusive", "a/b", "--", "env")
        found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertEqual(found["ROCKLOCK_RESOURCE"], "a/b")
        self.assertEqual(found["ROCKLOCK_PRINCIPAL"], "ann")
        self.assertEqual(found["ROCKLOCK_MODE"], "exclusive")
        self.assertEqual(found["ROCKLOCK_SOCKET"], str(self.socket))
        self.assertGreater(int(found["ROCKLOCK_TOKEN"]), 0)
        self.assertEqual(found["ROCKLOCK_TOKEN"], found["ROCKLOCK_GRANT"])
        self.assertRegex(found["ROCKLOCK_DEADLINE"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ$")
        self.assertRegex(found["ROCKLOCK_SESSION"], r"^[\w-]{22}:[\w-]{43}$")

    def test_the_session_in_the_environment_can_release_the_lock(self):
        done = self.rocklock("run", "a", "--", "sh", "-c", f'{PROGRAM} renew "$ROCKLOCK_GRANT"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("renewed", done.stdout)

    def test_variables_of_an_outer_run_are_replaced_and_are_not_settings(self):
        outer = {"ROCKLOCK_MODE": "read", "ROCKLOCK_PRINCIPAL": "bob", "ROCKLOCK_RESOURCE": "x"}
        done = self.rocklock("run", "a", "--", "sh", "-c",
                             "env | grep -c ROCKLOCK_; echo $ROCKLOCK_MODE $ROCKLOCK_PRINCIPAL",
                             environment=outer)
        lines = done.stdout.split("\n")
        self.assertEqual(lines[0], "9")  # Eight, and ROCKLOCK_CONFIG.
        self.assertNotIn("read", lines[1])
        self.assertNotIn("bob", lines[1])

    # C6: the command reads the standard input of `run`.
    def test_the_command_inherits_standard_input(self):
        done = subprocess.run([PROGRAM, "run", "a", "--", "cat"], env=self.environment, input="hello",
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stdout, "hello")


class Signals(Sandbox):
    # C6: signals reach the command.
    def test_term_int_and_hup_are_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            holder = self.hold("a")
            holder.send_signal(number)
            self.assertEqual(holder.wait(60), 128 + number)
            self.assertEqual(self.list(), [])

    def test_a_stopped_command_is_also_ended(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            holder = self.hold("a")
            os.kill(holder.child, signal.SIGSTOP)
            holder.send_signal(number)
            self.assertEqual(holder.wait(60), 128 + number)
            self.assertEqual(self.list(), [])

    def test_a_signal_ends_the_waiting(self):
        self.hold("a")
        waiter = self.start("run", "a", "--", "true")
        self.wait_for_waiters("a", 1)
        waiter.send_signal(signal.SIGTERM)
        self.assertEqual(waiter.wait(60), 143)
        self.wait_for_waiters("a", 0)

    def test_a_killed_waiter_leaves_the_queue(self):
        holder = self.hold("a")
        waiter = self.start("run", "a", "--", "touch", "ran")
        self.wait_for_waiters("a", 1)
        waiter.kill()
        self.wait_for_waiters("a", 0)
        holder.terminate()
        holder.wait()
        self.assertEqual(self.list(), [])
        self.assertFalse((self.folder / "ran").exists())


class Death(Sandbox):
    def test_on_death_kill_kills_the_command_and_frees_the_lock_within_100_ms(self):
        api = self.api()

        def time_to_the_next():
            holder = self.hold("a", "--on-death", "kill")
            api.send("Acquire", {"Principal": "next", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
            self.wait_for_waiters("a", 1)
            start = time.monotonic()
            holder.kill()
            answer = api.receive()
            took = time.monotonic() - start
            self.assertEqual(answer.status, 200)
            wait_until(lambda: not alive(holder.child), "the command is dead")
            session = {"Session": answer.json["Session"], "Secret": answer.json["Secret"]}
            api.call("Release", Grant=answer.json["Grant"], **session)
            return took

        self.assert_within(0.1, time_to_the_next)

    def test_a_lock_that_was_broken_meanwhile_is_reported_at_the_end(self):
        for on_lost, status in (("term", 76), ("ignore", 5)):
            with self.subTest(on_lost):
                holder = self.hold("a", "--on-lost", on_lost, command=("sh", "-c", "sleep 1; exit 5"))
                grant = self.show("a")["Holders"][0]["Grant"]
                broken = self.rocklock("break", grant, "--reason", "to test it")
                self.assertEqual(broken.returncode, 0, broken.stderr)
                self.assertEqual(holder.wait(60), status)
                self.assertRegex(holder.stderr.read(),
                                 r"was lost while the command ran: it was broken by \w+ at .*Z: to test it")

    def test_killing_the_command_ends_the_wrapper(self):
        holder = self.hold("a")
        os.kill(holder.child, signal.SIGKILL)
        self.assertEqual(holder.wait(60), 137)
        self.assertEqual(self.list(), [])

    # C7: the lock follows the command itself.
    def test_the_lock_ends_with_the_command_even_if_child_processes_remain(self):
        script = "sleep 1000 & echo $! > child"
        holder = self.start("run", "a", "--", "sh", "-c", script, stdout=DEVNULL, stderr=DEVNULL)
        self.assertEqual(holder.wait(60), 0)
        pid = int((self.folder / "child").read_text())
        self.assertTrue(alive(pid))
        self.assertEqual(self.list(), [])
        os.kill(pid, signal.SIGKILL)

    # C7: with `--wait-group`, the lock follows the command's process group.
    def test_wait_group_holds_the_lock_until_all_processes_have_ended(self):
        script = "sleep 1000 & echo $! > new; mv new child; exit 3"
        holder = self.start("run", "--wait-group", "a", "--", "sh", "-c", script, stdout=DEVNULL, stderr=DEVNULL)
        child = self.folder / "child"
        wait_until(child.exists, "the command has run")
        pid = int(child.read_text())
        self.assertEqual(len(self.list()), 1)
        self.assertIsNone(holder.poll())
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(holder.wait(60), 3)
        self.assertEqual(self.list(), [])


if __name__ == "__main__":
    tap.main()
