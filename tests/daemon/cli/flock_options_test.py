"""The options of flock(1) in `rocklock run`: a line of a script keeps its options."""

import time

import tap
from harness import Sandbox


class Waiting(Sandbox):
    def test_n_does_not_wait(self):
        self.hold("a")
        for words in (("-n", "a", "-c", "true"), ("--nonblock", "a", "-c", "true"), ("--nb", "a", "--", "true"),
                      ("a", "-n", "--", "true"), ("-xn", "a", "--", "true"), ("-n", "-w", "60", "a", "--", "true"),
                      ("-nw60", "a", "--", "true")):
            with self.subTest(words):
                self.assertEqual(self.rocklock("run", *words).returncode, 75)

    def test_w_waits_for_seconds_and_fractions_of_them(self):
        self.hold("a")
        for words in (("-w", "0.3"), ("-w0.3",), ("--wait", "0.3"), ("--wait=0.3",), ("--timeout", "0.3")):
            with self.subTest(words):
                start = time.monotonic()
                done = self.rocklock("run", *words, "-E", "9", "a", "-c", "true")
                self.assertEqual(done.returncode, 9, done.stderr)
                self.assertGreaterEqual(time.monotonic() - start, 0.3)
        self.assertEqual(self.rocklock("run", "-w", "0", "a", "-c", "true").returncode, 75)

    def test_w_takes_precedence_over_the_setting(self):
        self.hold("a")
        done = self.rocklock("run", "-w", "0", "a", "-c", "true", environment={"ROCKLOCK_PATIENCE": "1h"})
        self.assertEqual(done.returncode, 75)

    def test_a_time_that_is_not_in_seconds_is_refused_with_advice(self):
        for text in ("5s", "-1", "x", "1e3", "nan", "inf", "1 ", "99999999999"):
            done = self.rocklock("run", "-w", text, "a", "-c", "true")
            self.assertEqual(done.returncode, 64, text)
            self.assertIn(f"--wait (-w, --timeout) is '{text}'; write seconds, as in 5 or 0.5", done.stderr)

    def test_the_status_of_a_conflict_can_be_chosen(self):
        self.hold("a")
        for words in (("-E", "3"), ("-E3",), ("--conflict-exit-code", "3")):
            self.assertEqual(self.rocklock("run", "-n", *words, "a", "-c", "true").returncode, 3)


class Modes(Sandbox):
    def test_s_is_shared_and_x_is_not(self):
        self.hold("a", "-s")
        self.assertEqual(self.rocklock("run", "-sn", "a", "-c", "true").returncode, 0)
        self.assertEqual(self.rocklock("run", "--shared", "-n", "a", "-c", "true").returncode, 0)
        for option in ("-x", "-e", "--exclusive"):
            self.assertEqual(self.rocklock("run", option, "-n", "a", "-c", "true").returncode, 75)
            self.assertEqual(self.rocklock("run", option, "-n", "b", "-c", 'echo "$ROCKLOCK_MODE"').stdout, "write\n")

    def test_options_that_exclude_each_other_are_refused(self):
        for words, named in ((("-s", "-x"), "--shared (-s) and --exclusive (-x, -e)"),
                             (("-s", "--mode", "read"), "--shared (-s) and --mode"),
                             (("-x", "--mode", "write"), "--exclusive (-x, -e) and --mode"),
                             (("-e", "--to", "edit"), "--exclusive (-x, -e) and --to"),
                             (("-s", "--permits", "2"), "--shared (-s) and --permits"),
                             (("-w", "1", "--patience", "1s"), "--wait (-w, --timeout) and --patience")):
            done = self.rocklock("run", *words, "a", "-c", "true")
            self.assertEqual(done.returncode, 64, words)
            self.assertIn(named, done.stderr)
            self.assertIn("give only one of them", done.stderr)


class Command(Sandbox):
    def test_c_passes_one_text_to_the_shell(self):
        for words in (("a", "-c", "echo $((1+2)); exit 3"), ("-c", "echo $((1+2)); exit 3", "a"),
                      ("-c", "echo $((1+2)); exit 3", "--", "a"), ("a", "--command", "echo $((1+2)); exit 3")):
            done = self.rocklock("run", *words)
            self.assertEqual((done.returncode, done.stdout), (3, "3\n"), done.stderr)

    def test_with_c_the_words_after_the_separator_are_names(self):
        done = self.rocklock("run", "-c", 'echo "$ROCKLOCK_RESOURCE"', "--", "-x", "a")
        self.assertEqual(done.stdout, "-x\na\n", done.stderr)

    def test_the_shell_is_that_of_the_variable_as_with_flock(self):
        shell = self.folder / "shell"
        shell.write_text('#!/bin/sh\necho "mine: $1 $2"\n')
        shell.chmod(0o755)
        done = self.rocklock("run", "a", "-c", "x y", environment={"SHELL": str(shell)})
        self.assertEqual(done.stdout, "mine: -c x y\n")
        done = self.rocklock("run", "a", "-c", "echo $0", environment={"SHELL": ""})
        self.assertEqual(done.stdout, "/bin/sh\n")

    def test_two_commands_none_or_an_empty_one_are_refused(self):
        for words, said in ((("a", "-c", "true", "--", "true"), "the command is given twice, with -c and after --"),
                            (("a",), "the command to run is missing"), (("a", "-c"), "-c needs a value: COMMAND"),
                            (("a", "-c", ""), "-c is empty"), (("-c", "true"), "an operand is missing"),
                            (("a", "-cx", "true"), "there is no option -cx")):
            done = self.rocklock("run", *words)
            self.assertEqual(done.returncode, 64, words)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    tap.main()
