"""The outputs generated from the table of verbs and options: help, shell completion and the man
page.
"""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import tap
from harness import PROGRAM, SLOWNESS, Sandbox

# Completes a line as bash does, and prints the candidates.
BASH = r"""
eval "$(rocklock completion bash)"
COMP_LINE=$1 COMP_POINT=${#1}
# Cuts the line as readline does: at blanks, and around ':' and '='.
COMP_WORDS=()
rest=$1
while [[ -n $rest ]]; do
    if [[ $rest == [[:space:]]* ]]; then rest=${rest#?}; [[ -n $rest ]] || COMP_WORDS+=("")
    elif [[ $rest =~ ^[:=]+ ]] || [[ $rest =~ ^[^:=[:space:]]+ ]]; then
        COMP_WORDS+=("${BASH_REMATCH[0]}"); rest=${rest#"${BASH_REMATCH[0]}"}
    fi
done
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_rocklock
printf '%s\n' "${COMPREPLY[@]}"
"""


class Table(Sandbox):
    def verbs(self):
        return [re.split(r"  +", line.strip())[0] for line in self.rocklock("--help").stdout.splitlines()
                if line.startswith("  ") and not line.startswith("  rocklock")]

    def options(self, verb):
        """Returns the options in a verb's help, and whether each has a value."""
        found = re.findall(r"^  (-[\w, -]*?[\w-])( [A-Z|a-z_:\[\]]+)?  ", self.rocklock(*verb.split(), "--help").stdout,
                           re.M)
        return {name: bool(value) for names, value in found for name in names.split(", ")}


class Help(Table):
    def test_every_option_of_the_help_is_accepted(self):
        for verb in self.verbs():
            for option, has_value in self.options(verb).items():
                words = [option, "1"] if has_value else [option]
                done = self.rocklock(*verb.split(), *words, "--help")
                self.assertEqual(done.returncode, 0, (verb, option, done.stderr))

    def test_verbs_refuse_options_of_other_verbs(self):
        options = {verb: self.options(verb) for verb in self.verbs()}
        everything = set().union(*options.values())
        # A test of every option with every verb would start thousands of processes. For each verb, only
        # every option number `step` is tested, starting at a different option. With a sanitizer, a
        # process takes a third of a second to start.
        step = 1 if os.environ.get("ROCKLOCK_TEST_ALL") else 8 if SLOWNESS == 1 else 80
        for number, verb in enumerate(options):
            for option in sorted(everything)[number % step::step]:
                if option in options[verb]:
                    continue
                done = self.rocklock(*verb.split(), option, "--help")
                self.assertEqual(done.returncode, 64, (verb, option))

    def test_help_of_a_verb_before_and_after_its_name(self):
        self.assertEqual(self.rocklock("help", "run").stdout, self.rocklock("run", "--help").stdout)

    def test_internal_verbs_are_not_listed(self):
        self.assertFalse({"complete-words", "man-page"} & set(self.verbs()))


class Completion(Table):
    def setUp(self):
        super().setUp()
        self.environment["PATH"] = f"{pathlib.Path(PROGRAM).parent}:{self.environment['PATH']}"

    def offered(self, *words):
        done = self.rocklock("complete-words", "--", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout.splitlines()

    def bash(self, line):
        done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", line], env=self.environment,
                              cwd=self.folder, capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_verbs(self):
        self.assertEqual(set(self.offered("")), {verb.split()[0] for verb in self.verbs()})
        self.assertEqual(self.offered("acq"), ["acquire"])
        self.assertEqual(self.offered("help", "acq"), ["acquire"])
        self.assertEqual(self.offered("no-such-verb", ""), [])

    def test_options_that_are_not_given_yet(self):
        self.assertEqual(set(self.offered("ls", "--")), set(self.options("ls")) | {"--help"})
        self.assertNotIn("--json", self.offered("ls", "--json", "--"))
        self.assertEqual(self.offered("run", "--wait"), ["--wait", "--wait-group"])
        # All names of an option that is given.
        self.assertEqual(self.offered("run", "-w", "5", "--wait"), ["--wait-group"])
        self.assertEqual(self.offered("run", "-n", "--no-w"), [])

    def test_values(self):
        self.assertEqual(self.offered("acquire", "--mode", ""), ["read", "write", "exclusive"])
        self.assertEqual(self.offered("acquire", "--mode=e"), ["--mode=exclusive"])
        self.assertEqual(self.offered("ls", "--db", ""), [":directory"])
        self.assertEqual(self.offered("completion", "f"), ["fish"])
        self.assertEqual(self.offered("run", "--lease", ""), [])
        # Values in capitals are not offered.
        self.assertEqual(self.offered("acquire", "--lease", ""), ["none"])
        self.assertEqual(self.offered("serve", "--max-user-grants", ""), ["auto"])

    def test_the_shell_completes_the_command_of_run(self):
        self.assertEqual(self.offered("run", "a", "--", ""), [":command"])
        self.assertEqual(self.offered("run", "a", "--", "cat", ""), [":file"])
        self.assertEqual(self.offered("run", "a", "-c", ""), [":command"])

    def test_resources_and_grants_of_the_daemon(self):
        grant, _ = self.acquire("orders/42")
        self.acquire("orders/43")
        self.acquire("parts/1")
        self.assertEqual(self.offered("show", "ord"), ["orders/42", "orders/43"])
        self.assertEqual(self.offered("acquire", "new", "p"), ["parts/1"])
        self.assertIn(str(grant["Grant"]), self.offered("break", ""))
        # The --socket option of the line applies.
        elsewhere = ["show", "--socket", str(self.folder / "none"), ""]
        self.assertEqual(self.offered(*elsewhere), [])

    def test_completion_starts_no_daemon(self):
        self.assertEqual(self.offered("show", ""), [])
        self.assertIsNone(self.daemon_pid())
        self.assertFalse(self.state.exists())

    def test_bash_completes(self):
        self.acquire("orders/42")
        self.acquire("eu:orders:7")
        self.acquire("two words")
        (self.folder / "store").mkdir()
        self.assertEqual(self.bash("rocklock rel"), ["release"])
        self.assertEqual(self.bash("rocklock acquire --no-"), ["--no-wait", "--no-start"])
        self.assertEqual(self.bash("rocklock show o"), ["orders/42"])
        # Bash replaces only the text after the last colon.
        self.assertEqual(self.bash("rocklock show eu:or"), ["orders:7"])
        self.assertEqual(self.bash("rocklock show eu:"), ["orders:7"])
        self.assertEqual(self.bash("rocklock acquire --mode=re"), ["read"])
        self.assertEqual(self.bash("rocklock show tw"), ["two\\ words"])
        self.assertEqual(self.bash("rocklock ls --db st"), ["store"])
        self.assertIn("sleep", self.bash("rocklock run a -- slee"))

    def check_syntax(self, shell, *command):
        if shutil.which(shell) is None:
            raise unittest.SkipTest(f"{shell} is not installed")
        script = self.folder / "script"
        script.write_text(self.rocklock("completion", shell).stdout)
        done = subprocess.run([shell, *command, script], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_bash_accepts_its_script(self):
        self.check_syntax("bash", "-n")

    def test_zsh_accepts_its_script(self):
        self.check_syntax("zsh", "-n")

    def test_fish_accepts_its_script(self):
        self.check_syntax("fish", "-n")

    def test_fish_completes(self):
        if shutil.which("fish") is None:
            raise unittest.SkipTest("fish is not installed")
        self.acquire("orders/42")
        ask = 'rocklock completion fish | source; complete -C "$ROCKLOCK_LINE"'

        def fish(line):
            done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, timeout=60,
                                  env=self.environment | {"ROCKLOCK_LINE": line, "HOME": str(self.folder)},
                                  check=True)
            return done.stdout.split()

        self.assertEqual(fish("rocklock rel"), ["release"])
        self.assertEqual(fish("rocklock show o"), ["orders/42"])
        self.assertEqual(fish("rocklock acquire --mode "), ["exclusive", "read", "write"])

    def test_another_shell_is_64(self):
        self.assertEqual(self.rocklock("completion", "tcsh").returncode, 64)


class ManPage(Table):
    def test_it_names_every_verb_and_option(self):
        page = self.rocklock("man-page").stdout.replace("\\-", "-")
        # The variables that have an effect, and no others.
        for variable in ("ROCKLOCK_DB", "ROCKLOCK_ON_LOST", "ROCKLOCK_SOCKET", "ROCKLOCK_MAX_CONNECTIONS"):
            self.assertIn(variable, page)
        self.assertNotRegex(page, r"ROCKLOCK_PRINCIPAL\b")
        self.assertNotIn("ROCKLOCK_NAME", page)
        for verb in self.verbs():
            self.assertIn(f".SS {verb}\n", page)
            for option in self.options(verb):
                self.assertIn(f"\\fB{option}\\fR", page)

    def test_troff_reports_no_warnings(self):
        if shutil.which("groff") is None:
            raise unittest.SkipTest("groff is not installed")
        page = self.folder / "rocklock.1"
        page.write_text(self.rocklock("man-page").stdout)
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True,
                              env=os.environ | {"LC_ALL": "C.UTF-8"}, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("EXIT STATUS", re.sub(r".\x08|\x1b\[\d+m", "", done.stdout))


if __name__ == "__main__":
    tap.main()
