"""The command line: verbs, options, settings, output, and a store without a daemon."""

import datetime
import json
import os
import pty
import re
import resource
import signal
import subprocess
import time

import tap
from harness import PROGRAM, Connection, Sandbox, alive, wait_until


class Usage(Sandbox):
    def refused(self, *words):
        done = self.rocklock(*words)
        self.assertEqual(done.returncode, 64, (words, done.stderr))
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_unknown_verbs_and_options_are_64_with_advice(self):
        self.assertIn("rocklock --help", self.refused("lock"))
        self.assertIn("rocklock run --help", self.refused("run", "--waits", "a", "--", "true"))
        self.assertIn("no option -q", self.refused("run", "-q", "a", "--", "true"))
        self.assertIn("after --", self.refused("run", "a"))
        self.assertIn("an operand is missing", self.refused("run", "--", "true"))
        self.assertIn("unexpected operand 'b'", self.refused("show", "a", "b"))
        self.assertIn("needs a value", self.refused("ls", "--socket"))
        self.assertIn("takes no value", self.refused("ls", "--json=1"))
        self.assertIn("500ms, 10s", self.refused("run", "--patience", "10", "a", "--", "true"))
        self.assertIn("read, write or exclusive", self.refused("acquire", "--mode", "rw", "a"))
        self.assertIn("one of them", self.refused("acquire", "--mode", "read", "--to", "edit", "a"))
        self.assertIn("is not the number of a grant", self.refused("release", "a"))
        self.assertIn("--reason", self.refused("break", "7"))
        self.assertIn("no option --quiet", self.refused("ls", "--quiet"))
        self.assertIn("no option --no-color", self.refused("run", "--no-color", "a", "--", "true"))
        done = self.rocklock()
        self.assertEqual(done.returncode, 64)
        self.assertTrue(done.stderr.startswith("rocklock: no verb is given"), done.stderr)
        self.assertIn("rocklock VERB", done.stderr)
        self.assertIsNone(self.daemon_pid())

    def test_an_incomplete_verb_of_two_words_lists_its_verbs(self):
        for words, said in ((("class", "frob"), "there is no verb 'class frob'"), (("db", "chek"), "there is no verb 'db chek'"),
                            (("db",), "'db' needs a second word")):
            error = self.refused(*words)
            self.assertTrue(error.startswith("rocklock: " + said), error)
            self.assertIn(f"  {words[0]} ", error)

    def test_a_class_is_refused_in_the_words_of_its_options(self):
        for options, said in ((("--steal", "idle"), "--steal idle and ask need --steal-after: give"),
                              (("--steal-after", "1m"), "--steal-after is for --steal idle and ask"),
                              (("--max-lease", "10s"), "--lease (30s if it is not given) is longer than --max-lease"),
                              (("--min-hold", "2m", "--max-hold", "1m"), "--min-hold is longer than --max-hold"),
                              (("--max-lease", "1ms"), "--max-lease is below 100 ms"),
                              (("--queue-limit", "0"), "--queue-limit is out of range")):
            done = self.rocklock("class", "put", "steal_after/x", *options)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("class steal_after/x: " + said, done.stderr)

    def test_arguments_that_are_not_utf8_are_shown_escaped(self):
        for words, said in (((b"acquire", b"a\xff"), "RESOURCE must be UTF-8, and 'a\\xff' is not"),
                            ((b"acquire", b"a", b"--note", b"\xc3"), "--note must be UTF-8, and '\\xc3' is not")):
            done = subprocess.run([PROGRAM.encode(), *words], env=self.environment, capture_output=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn(said, done.stderr.decode())

    def test_errors_of_a_socket_name_the_setting_that_gave_it(self):
        other = self.folder / "other.sock"
        done = self.rocklock("ls", "--socket", other)
        self.assertEqual(done.returncode, 69)
        self.assertIn(f"start it with `rocklock serve --socket {other}`", done.stderr)
        done = self.rocklock("ls", "--no-start")
        self.assertEqual(done.returncode, 69)
        self.assertIn("start it with `rocklock serve`", done.stderr)
        long = self.folder / ("x" * 120)
        for words in (("ls", "--socket", long), ("serve", "--memory", "--socket", long)):
            self.assertIn("a shorter one with --socket or ROCKLOCK_SOCKET", self.refused(*words))

    def test_errors_of_a_daemon_that_cannot_start_give_advice(self):
        self.serve("--db", "store")
        # Errors in the arguments are reported first.
        self.assertIn("other machines", self.refused("serve", "--http", "0.0.0.0:80"))
        done = self.rocklock("serve", "--db", "store")
        self.assertEqual(done.returncode, 75)
        self.assertIn("use that daemon, or choose another --socket", done.stderr)
        done = self.rocklock("serve", "--db", "store", "--socket", "other.sock")
        self.assertEqual(done.returncode, 75)
        self.assertIn("use the daemon that serves it, end that process, or give another --db", done.stderr)
        done = self.rocklock("db", "check", "--db", "store")
        self.assertEqual(done.returncode, 75)
        self.assertEqual(done.stderr.count(f"{self.folder}/store"), 1, done.stderr)

    def test_an_empty_operand_is_64_with_advice(self):
        for words in (("ls", "--db", ""), ("ls", "--socket", ""), ("ls", "--socket="), ("serve", "--http", ""),
                      ("acquire", "a", "--principal", ""), ("acquire", "a", "--lease", ""),
                      ("acquire", "a", "--mode", ""), ("run", "-E", "", "a", "--", "true"),
                      ("break", "7", "--reason", ""), ("class", "put", "a", "--dependant", "")):
            error = self.refused(*words)
            self.assertIn("is empty; give it a value", error, words)
        for words in (("history", ""), ("show", ""), ("acquire", "a", ""), ("run", "", "--", "true"),
                      ("release", ""), ("class", "put", ""), ("db", "backup", "")):
            self.assertIn(" must not be empty; usage: rocklock ", self.refused(*words), words)
        self.assertIsNone(self.daemon_pid())
        # Arguments that may be empty: each means the same as if it were omitted.
        self.assertEqual(self.rocklock("ls", "").returncode, 0)
        self.assertEqual(self.rocklock("acquire", "a", "--note", "").returncode, 0)

    def test_every_verb_has_help_with_an_example(self):
        overview = self.rocklock("--help").stdout
        verbs = [line.strip().partition("  ")[0] for line in overview.splitlines() if line.startswith("  ") and
                 not line.startswith("  rocklock")]
        self.assertIn("run", verbs)
        for verb in verbs:
            done = self.rocklock(*verb.split(), "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example:\n  ", done.stdout)

    def test_the_texts_of_the_help_have_at_most_80_columns(self):
        wrapped = 0
        for verb in [line.partition("  ")[0] for line in re.findall(r"^  (?!rocklock)(\S.*)", self.rocklock("--help").stdout, re.M)]:
            _, summary, *options = self.rocklock(*verb.split(), "--help").stdout.split("\n\n")
            self.assertLessEqual(max(map(len, summary.splitlines())), 80, summary)
            for block in options[:-1]:
                column = re.match(r"  -.*?\S {2,}(?=\S)", block).end()
                for line in block.splitlines():
                    self.assertLessEqual(len(line) - column, 80, line)
                    self.assertRegex(line[:column], r"^(  -.*  | *)$", "a line does not continue below the text")
                    wrapped += not line[:column].strip()
        self.assertGreater(wrapped, 3)

    def test_a_name_that_is_too_long_is_64(self):
        self.assertIn("1024", self.refused("acquire", "x" * 1025).replace(",", ""))

    def test_the_version(self):
        self.assertRegex(self.rocklock("version").stdout, r"^rocklock \d+\.\d+\.\d+( \(mutants\))?\n$")
        self.assertIn("Version", json.loads(self.rocklock("version", "--json").stdout))


class Settings(Sandbox):
    def config(self, environment=None, *words):
        done = self.rocklock("serve", "--print-config", *words, environment=environment or {})
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.partition(" = ") for line in done.stdout.splitlines()]
        return {name: tuple(part.strip() for part in rest.split("#")) for name, _, rest in rows}

    def test_flag_then_variable_then_file_then_default(self):
        file = self.configuration
        self.assertEqual(self.config()["durability"], ("durable", "default"))
        with file.open("a") as text:
            text.write("# ours\ndurability = written\n")
        self.assertEqual(self.config()["durability"], ("written", str(file)))
        variable = {"ROCKLOCK_DURABILITY": "durable"}
        self.assertEqual(self.config(variable)["durability"], ("durable", "ROCKLOCK_DURABILITY"))
        self.assertEqual(self.config(variable, "--durability", "written")["durability"],
                         ("written", "the command line"))

    def test_every_option_of_serve_is_printed(self):
        help_text = self.rocklock("serve", "--help").stdout
        # These determine the setting `db`, the source of the settings, or what serve does.
        options = set(re.findall(r"^ +--([a-z-]+)", help_text, re.MULTILINE)) - {"memory", "config", "print-config", "help"}
        self.assertIn("allow-shared-store", options)
        self.assertEqual(options - set(self.config()), set())
        self.assertEqual(self.config()["allow-shared-store"], ("no", "default"))
        self.assertEqual(self.config({}, "--allow-shared-store")["allow-shared-store"], ("yes", "the command line"))

    def test_store_and_socket_are_in_one_directory(self):
        found = self.config()
        self.assertEqual(found["socket"][0], str(self.socket))
        self.assertEqual(found["db"][0], str(self.state / "db"))

    def test_relative_paths_are_made_absolute_before_they_are_passed_on(self):
        found = self.config({}, "--socket", "./x.sock", "--db", "store")
        self.assertEqual((found["socket"][0], found["db"][0]), (f"{self.folder}/x.sock", f"{self.folder}/store"))
        self.serve("--socket", "x.sock", "--db", "store")
        for way in ({"ROCKLOCK_SOCKET": "x.sock"}, {}):
            option = () if way else ("--socket", "x.sock")
            done = self.rocklock("run", *option, "a", "--", "sh", "-c", f"cd / && echo $ROCKLOCK_SOCKET && {PROGRAM} ls",
                                 environment=way)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{self.folder}/x.sock\n", done.stdout)
        connection = Connection(self.folder / "x.sock")
        self.connections.append(connection)
        self.assertEqual(connection.call("Ping").json["Store"], f"{self.folder}/store")

    def test_only_serve_uses_the_directories_of_a_unit(self):
        unit = {"RUNTIME_DIRECTORY": "/run/x", "STATE_DIRECTORY": "/var/lib/x:/var/lib/y"}
        found = self.config(unit)
        self.assertEqual((found["socket"][0], found["db"][0]), ("/run/x/rocklock.sock", "/var/lib/x/db"))
        self.assertEqual(self.rocklock("ls", environment=unit).returncode, 0)
        self.assertTrue(self.socket.exists())
        # Although a unit's job started the daemon, the daemon belongs to the user.
        self.assertTrue((self.state / "db").exists())

    def test_a_malformed_line_is_64(self):
        self.configuration.write_text("\nlaese = 3s\n")
        done = self.rocklock("ls")
        self.assertEqual(done.returncode, 64)
        self.assertIn("line 2", done.stderr)

    def test_a_file_that_cannot_be_read_is_64(self):
        missing = {"ROCKLOCK_CONFIG": str(self.folder / "missing.conf")}
        done = self.rocklock("ls", environment=missing)
        self.assertEqual(done.returncode, 64)
        self.assertIn("missing.conf: No such file", done.stderr)

    def test_a_directory_is_not_a_settings_file(self):
        done = self.rocklock("ls", environment={"ROCKLOCK_CONFIG": str(self.folder)})
        self.assertEqual(done.returncode, 64)
        self.assertIn("cannot read the settings", done.stderr)

    def test_variables_set_what_flags_set(self):
        done = self.rocklock("acquire", "--json", "a", environment={"ROCKLOCK_LEASE": "5m"})
        self.assertGreater(json.loads(done.stdout)["RemainingMs"], 200_000)
        done = self.rocklock("run", "a", "--", "true", environment={"ROCKLOCK_PATIENCE": "0"})
        self.assertEqual(done.returncode, 75)


class OneGrant(Sandbox):
    def test_acquire_prints_shell_variables(self):
        script = (f'eval "$({PROGRAM} acquire --quiet a)" && env | grep ^ROCKLOCK_ | cut -d= -f1 | sort && '
                  f'{PROGRAM} renew $ROCKLOCK_GRANT && {PROGRAM} release $ROCKLOCK_GRANT')
        done = subprocess.run(["sh", "-c", script], env=self.environment, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # For programs that the shell starts: a program that writes a guarded table also presents
        # the token.
        exported = "".join(f"ROCKLOCK_{name}\n" for name in ("CONFIG", "GRANT", "SESSION", "TOKEN"))
        self.assertRegex(done.stdout, rf"^{exported}renewed: .*\nreleased\n$")

    def test_acquire_does_not_wait(self):
        self.acquire("a", "--principal", "ann")
        done = self.rocklock("acquire", "a")
        self.assertEqual(done.returncode, 75)
        self.assertIn("held by ann", done.stderr)

    def test_renew_restores_the_full_lease_or_sets_a_new_one(self):
        grant, proof = self.acquire("a")
        done = self.rocklock("renew", "--json", grant["Grant"], "--lease", "10m", environment=proof)
        self.assertGreater(json.loads(done.stdout)["RemainingMs"], 500_000)

    def test_a_second_release_is_76_and_prints_how_the_grant_ended(self):
        grant, proof = self.acquire("a")
        self.assertEqual(self.rocklock("release", grant["Grant"], environment=proof).returncode, 0)
        done = self.rocklock("release", grant["Grant"], environment=proof)
        self.assertEqual(done.returncode, 76)
        self.assertRegex(done.stderr, r"it was released at .*Z")

    def test_renewing_an_ended_grant_is_76(self):
        grant, proof = self.acquire("a")
        self.rocklock("break", grant["Grant"], "--reason", "test")
        done = self.rocklock("renew", grant["Grant"], environment=proof)
        self.assertEqual(done.returncode, 76)
        self.assertIn("broken", done.stderr)
        for words in ((), ("--json",)):
            done = self.rocklock("release", *words, grant["Grant"], environment=proof)
            self.assertEqual(done.returncode, 76)
            self.assertRegex(done.stderr, r"it was broken by \w+ at .*Z: test")
        released = json.loads(done.stdout)
        self.assertEqual((released["Outcome"], released["Reason"]), ("broken", "test"))

    def test_an_expired_grant_is_76(self):
        grant, proof = self.acquire("a", "--lease", "100ms")
        wait_until(lambda: not self.list(), "it has expired")
        for verb in (("renew",), ("release",), ("convert", "--mode", "read")):
            done = self.rocklock(*verb, grant["Grant"], environment=proof)
            self.assertEqual(done.returncode, 76, (verb, done.stderr))
            self.assertRegex(done.stderr, r"it expired at .*Z")

    def test_a_wrong_secret_is_77_and_changes_nothing(self):
        grant, _ = self.acquire("a")
        wrong = {"ROCKLOCK_SESSION": grant["Session"] + ":" + "A" * 43}
        self.assertEqual(self.rocklock("release", grant["Grant"], environment=wrong).returncode, 77)
        self.assertEqual(len(self.list()), 1)

    def test_another_sessions_grant_is_77(self):
        grant, _ = self.acquire("a")
        _, other = self.acquire("b")
        self.assertEqual(self.rocklock("release", grant["Grant"], environment=other).returncode, 77)
        self.assertEqual(len(self.list()), 2)

    def test_without_credentials_it_is_64(self):
        done = self.rocklock("release", "7")
        self.assertEqual(done.returncode, 64)
        self.assertIn("ROCKLOCK_SESSION", done.stderr)

    def test_convert_changes_the_mode(self):
        grant, proof = self.acquire("a")
        done = self.rocklock("convert", "--json", "--mode", "read", grant["Grant"], environment=proof)
        self.assertEqual(done.returncode, 0, done.stderr)
        converted = json.loads(done.stdout)
        self.assertEqual((converted["Token"], converted["Locks"][0]["Mode"]), (grant["Token"], "read"))
        self.assertEqual(self.list()[0]["Mode"], "read")

    def test_a_grant_that_cannot_be_printed_is_released(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "acquire", "a"], env=self.environment, stdout=full, timeout=60,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 70)
        self.assertIn("the lock was released", done.stderr)
        self.assertEqual(self.list(), [])

    def test_a_closed_standard_descriptor_is_not_reused(self):
        self.acquire("first")
        store = self.folder / "store"
        for closed in ((1,), (0, 1), (0, 1, 2)):
            for where in ((), ("--db", store)):
                done = subprocess.run([PROGRAM, "acquire", "a", *where], env=self.environment, timeout=60,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True,
                                      preexec_fn=lambda closed=closed: [os.close(number) for number in closed])
                self.assertEqual(done.returncode, 70, (closed, where))
                if 2 not in closed:
                    self.assertIn("the lock was released", done.stderr)
                self.assertEqual([lock["Resource"] for lock in self.list()], ["first"])
                self.assertEqual(self.list("--db", store), [])
        self.assertEqual((store / "rocklock.pid").read_text().strip().isdigit(), True)

    def test_a_daemon_without_standard_descriptors_discards_its_log(self):
        process = self.start("serve", "--db", self.folder / "store", stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL,
                             preexec_fn=lambda: [os.close(number) for number in (0, 1, 2)])
        wait_until(self.socket.exists, "it listens")
        self.acquire("a")
        for path in (self.folder / "store" / "rocklock.pid", self.state / "rocklock.sock.lock"):
            self.assertEqual(path.read_text(), f"{process.pid}\n")

    # C8: the verb `break`.
    def test_a_break_is_shown_to_holder_and_history(self):
        grant, _ = self.acquire("a", "--principal", "ann")
        done = self.rocklock("break", grant["Grant"], "--reason", "gone home")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = self.rocklock("show", "a").stdout
        self.assertRegex(shown, r"last held by ann \(write\), broken by \w+ at .*: gone home")
        self.assertEqual(self.rocklock("break", grant["Grant"], "--reason", "x").returncode, 76)


    def test_an_unknown_grant_is_not_reported_as_a_wrong_secret(self):
        self.serve()
        for words in (["break", "5"], ["steal", "5"]):
            done = self.rocklock(*words, "--reason", "holiday")
            self.assertEqual(done.returncode, 76)
            self.assertIn("grant 5 is unknown", done.stderr)
            self.assertNotIn("ROCKLOCK_SESSION", done.stderr)


class Output(Sandbox):
    def test_output_that_cannot_be_written_is_70(self):
        grant, _ = self.acquire("a")
        self.rocklock("class", "put", "a", "--steal", "anyone")
        for words in (("ls",), ("ls", "--json"), ("show", "a"), ("sessions",), ("history", "a"), ("class", "ls"),
                      ("version",), ("--help",), ("run", "--help"), ("top", "--once"), ("top", "--json"),
                      ("watch", "--after", "0"), ("completion", "bash"), ("serve", "--print-config"),
                      ("steal", grant["Grant"], "--reason", "test")):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([PROGRAM, *map(str, words)], env=self.environment, stdout=full, timeout=60,
                                      stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 70, (words, done.stderr))
            self.assertEqual(done.stderr.count("No space left"), 1, (words, done.stderr))
        # The grant was stolen, but no program received it.
        self.assertEqual(self.list(), [])

    def test_ls_is_an_aligned_table(self):
        self.acquire("orders/1", "--principal", "ann", "--note", "prices")
        self.acquire("orders/22", "--principal", "bob", "--mode", "read")
        self.acquire("parts/1")
        lines = self.rocklock("ls", "orders/").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["RESOURCE", "MODE", "PRINCIPAL", "AGE", "LEFT", "GRANT", "NOTE"])
        self.assertEqual(len(lines), 3)
        self.assertEqual(len({line.index(word) for line, word in zip(lines, ("MODE", "write", "read"))}), 1)
        self.assertTrue(lines[1].endswith("prices"))

    # I1: by owner and by class.
    def test_ls_and_sessions_can_be_filtered(self):
        self.acquire("a/1", "--principal", "ann")
        self.hold("a/2", "--principal", "bob")
        self.acquire("b", "--principal", "ann")
        self.rocklock("class", "put", "a/*")
        self.start("run", "a/2", "--", "true")
        self.wait_for_waiters("a/2", 1)

        def names(*options):
            return [row["Resource"] for row in self.list(*options)]

        self.assertEqual(names("--principal", "ann"), ["a/1", "b"])
        self.assertEqual(names("--class", "a/*"), ["a/1", "a/2"])
        self.assertEqual(names("--contended"), ["a/2"])
        self.assertEqual(names("--class", "a/*", "--principal", "ann"), ["a/1"])
        found = self.rocklock("sessions", "--json", "--principal", "bob").stdout.splitlines()
        self.assertEqual([json.loads(line)["Principal"] for line in found], ["bob"])

    # C8: the verb `ls` with `--json`.
    def test_json_is_one_object_a_line_with_stable_keys(self):
        self.acquire("a", "--principal", "ann")
        row = self.list()[0]
        self.assertLessEqual({"Resource", "Mode", "Grant", "Token", "Principal", "Session", "Uid", "Pid",
                              "AcquiredAt", "RemainingMs", "Deadline", "Note", "Metadata"}, set(row))
        self.assertEqual(row["Uid"], os.getuid())

    # C8: the verb `show`.
    def test_show_names_holders_waiters_and_the_last_holder(self):
        grant, proof = self.acquire("a", "--principal", "ann")
        self.rocklock("release", grant["Grant"], environment=proof)
        self.acquire("a", "--principal", "bob")
        self.start("run", "--principal", "cleo", "a", "--", "true")
        self.wait_for_waiters("a", 1)
        shown = self.rocklock("show", "a").stdout
        self.assertRegex(shown, r"held by +bob \(write\)")
        self.assertRegex(shown, r"waiting 1 +cleo \(write\)")
        self.assertRegex(shown, r"last held by ann \(write\), released")

    def test_the_deadline_of_the_last_holder_is_unchanged(self):
        grant, proof = self.acquire("a", "--lease", "10m")
        self.rocklock("release", grant["Grant"], environment=proof)
        past = self.show("a")["LastHolder"]
        times = [datetime.datetime.fromisoformat(each["Deadline"].rstrip("Z")) for each in (past, grant)]
        self.assertLess(abs(times[0] - times[1]), datetime.timedelta(seconds=1))

    def test_an_empty_name_is_refused(self):
        done = self.rocklock("show", "")
        self.assertEqual(done.returncode, 64)
        self.assertIn("RESOURCE must not be empty", done.stderr)

    def test_sessions_are_listed(self):
        self.acquire("a", "--principal", "ann")
        text = self.rocklock("sessions").stdout
        self.assertRegex(text, r"ann +none")
        self.assertNotIn("Secret", self.rocklock("sessions", "--json").stdout)

    def test_control_characters_reach_no_terminal(self):
        self.acquire("a", "--note", "\x1b[2Jgone")
        self.assertNotIn("\x1b", self.rocklock("ls").stdout)

    def test_bold_titles_only_on_a_terminal_that_supports_them(self):
        def seen(environment, *options):
            terminal, other = pty.openpty()
            subprocess.run([PROGRAM, "ls", *options], env=self.environment | environment, stdout=other,
                           timeout=60, check=True)
            os.close(other)
            text = os.read(terminal, 4096)
            os.close(terminal)
            return text

        self.assertIn(b"\x1b[1m", seen({"TERM": "xterm"}))
        self.assertNotIn(b"\x1b", seen({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn(b"\x1b", seen({"TERM": "dumb"}))
        self.assertNotIn(b"\x1b", seen({"TERM": "xterm"}, "--no-color"))


class Bench(Sandbox):
    def test_it_counts_pairs_and_leaves_no_locks(self):
        for where in ((), ("--db", "store")):
            for same in ((), ("--same",)):
                done = self.rocklock("bench", "--json", "--clients", "3", "--duration", "200ms", *same, *where)
                self.assertEqual(done.returncode, 0, done.stderr)
                result = json.loads(done.stdout)
                self.assertEqual((result["Clients"], result["Same"]), (3, bool(same)))
                self.assertGreater(result["Pairs"], 0)
                waits = [result[name] for name in ("P50Us", "P99Us", "P999Us", "MaxUs")]
                self.assertEqual(waits, sorted(waits))
                self.assertTrue(1 / 3 <= result["Fairness"] <= 1, result)
                self.assertEqual(self.list(*where), [])
        self.assertIn("PAIRS/S", self.rocklock("bench", "--duration", "50ms").stdout)
        for words in (("--clients", "0"), ("--clients", "x"), ("--duration", "0"), ("--duration", "1h")):
            self.assertEqual(self.rocklock("bench", *words).returncode, 64, words)
        surplus = self.rocklock("bench", "twice")
        self.assertEqual(surplus.returncode, 64)
        self.assertIn("unexpected operand 'twice'", surplus.stderr)

    def test_many_clients_need_many_descriptors(self):
        def limited(soft, hard):
            def lower():
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            return self.rocklock("bench", "--clients", "60", "--duration", "50ms", preexec_fn=lower)

        self.assertEqual(self.rocklock("bench", "--duration", "50ms").returncode, 0)
        self.assertEqual(limited(128, 1024).returncode, 0)
        done = limited(128, 256)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("60 clients need 364 file descriptors, and this process may open 256", done.stderr)
        self.assertIn("ulimit -Hn", done.stderr)


class FileSize(Sandbox):
    def limited(self, *words):
        def lower():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        return self.rocklock(*words, preexec_fn=lower)

    def test_a_verb_that_cannot_write_its_store_reports_it(self):
        # The benchmark ends with the first error, long before its time.
        done = self.limited("bench", "--db", "store", "--duration", "10m", "--clients", "1")
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn("ulimit -f", done.stderr)
        # Without the limit, the store can be opened again.
        self.assertEqual(self.rocklock("acquire", "--db", "store", "a").returncode, 0)

    def test_the_command_of_run_has_the_default_action(self):
        done = self.limited("run", "a", "--", "sh", "-c", "head -c 200000 /dev/zero > large")
        self.assertEqual(done.returncode, 128 + signal.SIGXFSZ, done.stderr)


class Embedded(Sandbox):
    def test_run_needs_no_daemon(self):
        done = self.rocklock("run", "--db", "store", "a", "--", "sh", "-c",
                             "echo $ROCKLOCK_TOKEN ${ROCKLOCK_SOCKET-none}; exit 7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertRegex(done.stdout, r"^\d+ none\n$")
        self.assertIsNone(self.daemon_pid())

    def test_release_finds_the_grant_of_acquire(self):
        grant, proof = self.acquire("a", "--db", "store")
        self.assertEqual(self.rocklock("acquire", "--db", "store", "a").returncode, 75)
        done = self.rocklock("release", "--db", "store", grant["Grant"], environment=proof)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rocklock("ls", "--json", "--db", "store").stdout, "")

    def test_a_store_in_use_is_75_with_the_pid_after_patience(self):
        holder = self.hold("a", "--db", "store")
        start = time.monotonic()
        done = self.rocklock("run", "--db", "store", "--patience", "300ms", "b", "--", "true")
        self.assertEqual(done.returncode, 75)
        self.assertGreater(time.monotonic() - start, 0.3)
        self.assertIn(str(holder.pid), done.stderr)

    def test_queries_create_no_store(self):
        for words in (["ls"], ["show", "a"], ["history", "a"], ["sessions"], ["top", "--once"], ["class", "ls"],
                      ["break", "5", "--reason", "x"], ["db", "stats"], ["db", "check"]):
            done = self.rocklock(*words, "--db", "store")
            self.assertEqual((done.returncode, (self.folder / "store").exists()), (64, False), words)

    def test_a_verb_waits_for_a_store_that_another_uses(self):
        holder = self.hold("a", "--db", "store")
        waiter = self.start("run", "--db", "store", "a", "--", "echo", "mine")
        holder.terminate()
        self.assertEqual(waiter.communicate(timeout=60)[0], "mine\n")

    def test_the_lock_of_a_killed_verb_is_free(self):
        holder = self.hold("a", "--db", "store", "--lease", "10m")
        holder.kill()
        holder.wait()
        wait_until(lambda: not alive(holder.child), "the command is dead")
        self.assertEqual(self.rocklock("run", "--db", "store", "--no-wait", "a", "--", "true").returncode, 0)


if __name__ == "__main__":
    tap.main()
