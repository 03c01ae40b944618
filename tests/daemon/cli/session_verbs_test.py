"""The verbs transfer, reacquire, session open|show|join|close, notices and drafts take, and the
options of acquire and run that say how each resource is locked."""

import json
import os
import subprocess
import time

import tap
from harness import Sandbox, wait_until


def owner_of(text):
    """Returns an environment with the ROCKLOCK_SESSION that a verb has printed."""
    line, = (line for line in text.splitlines() if line.startswith("export ROCKLOCK_SESSION="))
    return {"ROCKLOCK_SESSION": line.partition("=")[2]}


class Opened(Sandbox):
    def open(self, principal, *options):
        done = self.rocklock("session", "open", "--principal", principal, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        owner = owner_of(done.stdout)
        return owner["ROCKLOCK_SESSION"].partition(":")[0], owner

    def sessions(self):
        return [json.loads(line) for line in self.rocklock("sessions", "--json").stdout.splitlines()]


class Sessions(Opened):
    def test_are_opened_used_shown_and_closed(self):
        session, owner = self.open("ann", "--lease", "10m", "--note", "batch", "--metadata", "ticket=4=2",
                                   "--metadata", "host=")
        shown, = self.sessions()
        self.assertEqual((shown["Session"], shown["Principal"], shown["LeaseMs"], shown["Note"], shown["Metadata"]),
                         (session, "ann", 600_000, "batch", {"ticket": "4=2", "host": ""}))
        done = self.rocklock("acquire", "--in-session", "a", "b", environment=owner)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("ROCKLOCK_SESSION", done.stdout)
        self.assertEqual({lock["Session"] for lock in self.list()}, {session})
        # A session that was opened separately does not end with its grant.
        detail = json.loads(self.rocklock("session", "show", "--json", environment=owner).stdout)
        self.assertEqual([lock["Resource"] for lock in detail["Grants"][0]["Locks"]], ["a", "b"])
        text = self.rocklock("session", "show", environment=owner).stdout
        self.assertIn(", 1 grant\n", text)
        self.assertIn(" b (write), token ", text)
        done = self.rocklock("renew", "--lease", "20m", "--note", "night", "--metadata", "ticket=5", environment=owner)
        self.assertIn("20m", done.stdout)
        shown, = self.sessions()
        self.assertEqual((shown["LeaseMs"], shown["Note"], shown["Metadata"]), (1_200_000, "night", {"ticket": "5"}))
        done = self.rocklock("session", "close", environment=owner)
        self.assertEqual((done.returncode, done.stdout), (0, "session closed, with 1 grant\n"))
        self.assertEqual((self.sessions(), self.list()), ([], []))
        self.assertEqual(self.rocklock("session", "show", environment=owner).returncode, 76)
        self.assertEqual(self.rocklock("session", "show").returncode, 64)

    def test_a_held_lock_is_refused_joined_or_counted(self):
        _, owner = self.open("ann")

        def again(*options):
            return self.rocklock("acquire", "--in-session", "--json", *options, "a", environment=owner)

        first = json.loads(again().stdout)["Grant"]
        self.assertEqual(again().returncode, 75)
        self.assertEqual(json.loads(again("--held", "join").stdout)["Grant"], first)
        # If a grant that was joined cannot be printed, it is kept: others of the session rely on it.
        with open("/dev/full", "w", encoding="ascii") as full:
            joining = self.start("acquire", "--in-session", "--held", "join", "a", environment=owner, stdout=full)
            self.assertEqual(joining.wait(60), 70)
        self.assertEqual([holder["Grant"] for holder in self.list()], [first])
        self.assertEqual(json.loads(again("--held", "count").stdout)["Count"], 1)
        done = self.rocklock("release", first, environment=owner)
        self.assertIn("still held", done.stdout)
        for words in (("--held", "both", "--in-session"), ("--held", "join"), ("--in-session", "--principal", "ben"),
                      ("--in-session", "--lease", "1m"), ("--in-session", "--for-process", "1")):
            done = self.rocklock("acquire", *words, "b", environment=owner)
            self.assertEqual(done.returncode, 64, words)
            self.assertIn("--in-session", done.stderr)

    def test_end_with_all_of_their_processes(self):
        processes = [subprocess.Popen(["sleep", "1000"]) for _ in range(2)]
        self.started += processes
        session, owner = self.open("ann", "--for-process", processes[0].pid)
        done = self.rocklock("session", "join", "--for-process", processes[1].pid, environment=owner)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"process {processes[1].pid} joined", done.stdout)
        shown, = self.sessions()
        self.assertEqual([process["Pid"] for process in shown["Processes"]], [process.pid for process in processes])
        processes[0].kill()
        processes[0].wait()
        self.assertEqual([one["Session"] for one in self.sessions()], [session])
        processes[1].kill()
        processes[1].wait()
        wait_until(lambda: not self.sessions(), "the session has ended")
        self.assertEqual(self.rocklock("session", "join", environment=owner).returncode, 64)


class ForProcess(Opened):
    def test_the_lock_ends_with_the_process(self):
        process = subprocess.Popen(["sleep", "1000"])
        self.started.append(process)
        done = self.rocklock("acquire", "a", "--lease", "1h", "--for-process", process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown, = self.sessions()
        self.assertEqual((shown["Bound"], [one["Pid"] for one in shown["Processes"]]), ("process", [process.pid]))
        process.kill()
        process.wait()
        wait_until(lambda: not self.list(), "the lock has ended")
        self.assertIn("its process has ended", self.rocklock("history", "a").stdout)

    def test_it_ends_also_in_a_store_that_no_daemon_serves(self):
        process = subprocess.Popen(["sleep", "1000"])
        self.started.append(process)
        done = self.rocklock("acquire", "a", "--lease", "1h", "--for-process", process.pid, "--db", "own")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.list("--db", "own")), 1)
        process.kill()
        process.wait()
        self.assertEqual(self.list("--db", "own"), [])

    def test_a_process_that_does_not_exist_is_refused(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        for pid in (ended.pid, 0, -1, "x", "1x"):
            done = self.rocklock("acquire", "a", f"--for-process={pid}")
            self.assertEqual(done.returncode, 64, pid)
            self.assertIn("give the number of a running process", done.stderr)
        self.assertEqual(self.list(), [])

    def test_a_process_of_another_user_is_refused(self):
        self.api()
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)
        done = self.rocklock("acquire", "a", "--for-process", os.getpid(), "--socket", self.socket, user=65534,
                             extra_groups=[])
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("belongs to another user", done.stderr)


class Transfers(Opened):
    def test_a_grant_goes_to_another_session(self):
        grant, ann = self.acquire("a", "--principal", "ann")
        session, ben = self.open("ben")
        done = self.rocklock("transfer", grant["Grant"], session, environment=ann)
        self.assertEqual(done.returncode, 0, done.stderr)
        holder, = self.list()
        self.assertEqual((holder["Principal"], holder["Session"]), ("ben", session))
        self.assertEqual(done.stdout, f"transferred: session {session} has grant {holder['Grant']} with token "
                                      f"{holder['Token']}\n")
        self.assertGreater(holder["Token"], grant["Token"])
        # The sender no longer has it.
        done = self.rocklock("release", grant["Grant"], environment=ann)
        self.assertEqual(done.returncode, 76)
        self.assertIn("transferred", done.stderr)
        third, _ = self.open("cy")
        done = self.rocklock("transfer", "--json", holder["Grant"], third, environment=ben)
        self.assertEqual(json.loads(done.stdout)["Session"], third)
        self.assertEqual(self.rocklock("release", json.loads(done.stdout)["Grant"], environment=ben).returncode, 77)

    def test_the_sender_keeps_the_grant_if_the_receiver_has_ended(self):
        grant, ann = self.acquire("a")
        session, ben = self.open("ben")
        self.rocklock("session", "close", environment=ben)
        done = self.rocklock("transfer", grant["Grant"], session, environment=ann)
        self.assertEqual(done.returncode, 76, done.stderr)
        self.assertEqual([holder["Grant"] for holder in self.list()], [grant["Grant"]])
        self.assertEqual(self.rocklock("transfer", grant["Grant"], "ben", environment=ann).returncode, 64)
        self.assertEqual(self.rocklock("transfer", grant["Grant"], session).returncode, 64)

    def test_completion_offers_grants_and_sessions(self):
        grant, _ = self.acquire("a")
        offered = self.rocklock("complete-words", "--", "transfer", "").stdout.split()
        self.assertEqual(offered, [str(grant["Grant"])])
        offered = self.rocklock("complete-words", "--", "transfer", grant["Grant"], "").stdout.split()
        self.assertEqual(offered, [grant["Session"]])


class Reacquiring(Opened):
    def test_an_untouched_lock_is_acquired_again(self):
        grant, _ = self.acquire("a", "--principal", "ann")
        self.rocklock("break", grant["Grant"], "--reason", "x")
        done = self.rocklock("reacquire", grant["Grant"], "--principal", "ben")
        self.assertEqual(done.returncode, 76, done.stderr)
        self.assertEqual(self.sessions(), [])
        done = self.rocklock("reacquire", grant["Grant"], "--principal", "ann")
        self.assertEqual(done.returncode, 0, done.stderr)
        holder, = self.list()
        self.assertGreater(holder["Token"], grant["Token"])
        owner = owner_of(done.stdout)
        self.assertEqual(self.rocklock("release", holder["Grant"], environment=owner).returncode, 0)
        # Another session has locked the resource since.
        done = self.rocklock("reacquire", grant["Grant"], "--principal", "ann")
        self.assertEqual(done.returncode, 76, done.stderr)

    def test_in_the_session_of_the_environment(self):
        session, ann = self.open("ann")
        grant, _ = self.acquire("a", "--principal", "ann")
        self.rocklock("break", grant["Grant"], "--reason", "x")
        done = self.rocklock("reacquire", "--json", grant["Grant"], environment=ann)
        self.assertEqual(json.loads(done.stdout)["Session"], session)


class Notices(Opened):
    def test_are_printed_until_they_are_confirmed(self):
        _, owner = self.open("ann")
        done = self.rocklock("acquire", "--in-session", "--json", "a", "b", environment=owner)
        grant = json.loads(done.stdout)["Grant"]
        self.assertEqual(self.rocklock("notices", environment=owner).stdout, "")
        self.start("run", "--principal", "ben", "a", "--", "sleep", "1000")
        done = self.rocklock("notices", "--patience", "1m", environment=owner)
        self.assertIn(f"ben waits for a (write), grant {grant}\n", done.stdout)
        after = done.stdout.splitlines()[-1].split()[-1]
        self.assertIn("ben waits", self.rocklock("notices", environment=owner).stdout)
        waiting = self.start("notices", "--json", "--after", after, "--patience", "forever", environment=owner)
        self.rocklock("break", grant, "--reason", "lunch")
        output, errors = waiting.communicate(timeout=60)
        self.assertEqual(waiting.returncode, 0, errors)
        lost = json.loads(output)["Lost"][0]
        self.assertEqual((lost["Grant"], lost["Outcome"], lost["Reason"]), (grant, "broken", "lunch"))
        self.assertIn(f"grant {grant} has ended: it was broken by ",
                      self.rocklock("notices", "--after", after, environment=owner).stdout)
        self.assertEqual(self.rocklock("notices").returncode, 64)

    def test_without_any_the_wait_ends(self):
        _, owner = self.open("ann")
        start = time.monotonic()
        done = self.rocklock("notices", "--patience", "300ms", environment=owner)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertGreaterEqual(time.monotonic() - start, 0.3)


class Modes(Opened):
    """--lock gives each resource its own mode."""

    def modes(self):
        return {holder["Resource"]: holder["Mode"] for holder in self.list()}

    def test_each_resource_has_its_own_mode(self):
        done = self.rocklock("acquire", "a", "--lock", "b:read", "--lock", "c:exclusive", "--lock", "d:edit", "e",
                             "--mode", "read")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.modes(), {"a": "read", "b": "read", "c": "exclusive", "d": "write", "e": "read"})

    def test_the_message_names_the_mode_of_each_resource(self):
        done = self.rocklock("acquire", "a", "--lock", "b:read", "--lock", "c:exclusive")
        self.assertRegex(done.stderr, r"(^|\n)rocklock: a: yours to write, 30s left, until .*Z\n"
                                      r"rocklock: b: yours to read, 30s left, until .*Z\n"
                                      r"rocklock: c: yours exclusively, 30s left, until .*Z\n$")

    def test_a_name_can_have_colons_and_needs_no_operand(self):
        done = self.rocklock("acquire", "--lock", "eu:orders:7:write", "--lock", "x,y=z:read")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.modes(), {"eu:orders:7": "write", "x,y=z": "read"})
        # An operand is always a name, also if it looks like a mode follows.
        self.assertEqual(self.rocklock("acquire", "b:read").returncode, 0)
        self.assertEqual(self.modes()["b:read"], "write")

    def test_run_locks_and_reports_all_resources(self):
        done = self.rocklock("run", "--lock", "b:read", "a", "--lock", "c:write", "--metadata", "k=v", "--", "sh", "-c",
                             'printf "%s " $ROCKLOCK_RESOURCE; "$0" ls --json', os.environ["ROCKLOCK_PROGRAM"])
        self.assertEqual(done.returncode, 0, done.stderr)
        first, _, rows = done.stdout.partition("{")
        self.assertEqual(first.split(), ["a", "b", "c"])
        held = [json.loads(line) for line in ("{" + rows).splitlines()]
        self.assertEqual({row["Resource"]: row["Mode"] for row in held}, {"a": "write", "b": "read", "c": "write"})
        self.assertEqual(held[0]["Metadata"], {"k": "v"})
        # Without a name before "--", the words after it are the command, also those after a second "--".
        done = self.rocklock("run", "--lock", "a:read", "--", "echo", "x", "--", "y")
        self.assertEqual((done.returncode, done.stdout), (0, "x -- y\n"), done.stderr)

    def test_the_first_mode_that_is_free_is_taken_in_any_order(self):
        self.acquire("a", "--mode", "read")
        for modes, taken in (("write,read", "read"), ("exclusive,write,read", "read"), ("read,write", "read")):
            done = self.rocklock("acquire", "--json", "a", "--mode", modes)
            self.assertEqual(json.loads(done.stdout)["Locks"][0]["Mode"], taken)
            done = self.rocklock("acquire", "--json", "--lock", f"a:{modes}")
            self.assertEqual(json.loads(done.stdout)["Locks"][0]["Mode"], taken)
        done = self.rocklock("acquire", "--json", "--lock", "free:write,read")
        self.assertEqual(json.loads(done.stdout)["Locks"][0]["Mode"], "write")

    def test_permits_of_each_resource(self):
        self.rocklock("class", "put", "gpus/*", "--permits", "4")
        done = self.rocklock("acquire", "--json", "a", "--lock", "gpus/1:3")
        self.assertEqual([lock.get("Permits") for lock in json.loads(done.stdout)["Locks"]], [None, 3])
        self.assertEqual(self.rocklock("acquire", "--lock", "gpus/1:2").returncode, 75)
        self.assertEqual(self.rocklock("acquire", "--lock", "gpus/1:1").returncode, 0)

    def test_convert_changes_one_resource(self):
        done = self.rocklock("acquire", "--json", "a", "b", "--lease", "10m")
        grant = json.loads(done.stdout)
        owner = {"ROCKLOCK_SESSION": f"{grant['Session']}:{grant['Secret']}"}
        done = self.rocklock("convert", grant["Grant"], "--lock", "b:read", environment=owner)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.modes(), {"a": "write", "b": "read"})
        for words in ((), ("--mode", "read", "--lock", "a:read"), ("--lock", "a:write,read"), ("--lock", "a:3"),
                      ("--lock", "a:edit")):
            done = self.rocklock("convert", grant["Grant"], *words, environment=owner)
            self.assertEqual(done.returncode, 64, words)

    def test_wrong_values_are_refused_with_advice(self):
        for text in ("a", ":read", "a:", "a:rw", "a:read,", "a:0", "a:-1", "a:write,edit"):
            done = self.rocklock("acquire", f"--lock={text}")
            self.assertEqual(done.returncode, 64, text)
            self.assertIn("RESOURCE:MODE", done.stderr)
        done = self.rocklock("acquire", "--lock", "a:read", "--mode", "write")
        self.assertEqual(done.returncode, 64)
        self.assertIn("each --lock has a mode of its own", done.stderr)
        for text in ("x", "=y"):
            self.assertIn("KEY=VALUE", self.rocklock("acquire", "a", "--metadata", text).stderr)
        self.assertEqual(self.rocklock("acquire", "a", "--metadata", "k=1", "--metadata", "k=2").returncode, 64)
        for option in ("--max-hold", "--min-hold"):
            for text in ("10", "0", "x"):
                done = self.rocklock("acquire", "a", option, text)
                self.assertEqual(done.returncode, 64)
                self.assertIn(f"{option} is '{text}'; write it as in 500ms", done.stderr)
        self.assertEqual(self.rocklock("acquire").returncode, 64)
        self.assertEqual(self.list(), [])

    def test_max_hold_ends_the_lock(self):
        done = self.rocklock("acquire", "--json", "a", "--max-hold", "300ms", "--lease", "1h")
        self.assertLessEqual(json.loads(done.stdout)["RemainingMs"], 300)
        wait_until(lambda: not self.list(), "the lock has ended")
        done = self.rocklock("run", "--max-hold", "1s", "a", "--", "sleep", "1000")
        self.assertEqual(done.returncode, 76, done.stderr)

    def test_min_hold_keeps_a_released_resource_closed(self):
        grant, credentials = self.acquire("a", "--min-hold", "1h")
        self.assertEqual(self.rocklock("release", str(grant["Grant"]), environment=credentials).returncode, 0)
        self.assertEqual(self.rocklock("run", "--min-hold", "1h", "b", "--", "true").returncode, 0)
        for resource in ("a", "b"):
            done = self.rocklock("run", "--no-wait", resource, "--", "true")
            self.assertEqual(done.returncode, 75)
            self.assertIn("it is free, but min_hold or lock_delay keeps it closed for another 59m", done.stderr)
        done = self.rocklock("acquire", "c", "--min-hold", "2s", "--max-hold", "1s")
        self.assertEqual(done.returncode, 64)
        self.assertIn("min_hold is 2s, but the lock can be held for at most 1s (max_hold)", done.stderr)


if __name__ == "__main__":
    tap.main()
