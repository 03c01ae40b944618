"""scripts/bench runs each scenario in a process, continues after a failed one, and shows the
results.

The benchmark program is replaced by a small program that prints the lines that a test defines.
"""

import contextlib
import io
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import unittest.mock
import zipfile

import machine
import program
import results
import run
import tap

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/bench"
FAKE = pathlib.Path(__file__).resolve().parent / "fake_scenarios.py"
SPREAD = {"median": 0.8, "low": 0.7, "high": 0.9}


def row(scenario, reached=False):
    return {"kind": "row", "scenario": scenario, "name": f"row of {scenario}", "unit": "pairs/s", "ours": SPREAD,
            "against": "Redis", "theirs": SPREAD, "ratio": SPREAD, "target": 1, "reached": reached}


def point(scenario, x=2):
    return {"kind": "point", "scenario": scenario, "chart": "rate", "series": "Redis", "x": x, **SPREAD}


def figures(scenario):
    return {"kind": "figures", "scenario": scenario, "x": "2", "contestant": "Redis",
            "figures": [{"name": f"a second of {scenario}", **SPREAD}]}


GOOD = {name: {"lines": [point(name), row(name)]} for name in ("hot", "cold", "zipf")}


class Sandbox(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rocklock-bench-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        # The latest results are stored next to this copy.
        self.fake = self.folder / "fake"
        shutil.copy(FAKE, self.fake)
        self.fake.chmod(0o755)

    def environment(self, scenarios):
        return {**os.environ, "FAKE_SCENARIOS": json.dumps(scenarios), "FAKE_HEARD": str(self.folder / "heard")}

    def bench(self, scenarios, *arguments):
        return subprocess.run([SCRIPT, "--scenarios", self.fake, *map(str, arguments)], cwd=self.folder,
                              env=self.environment(scenarios), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False)

    def draw(self, *arguments):
        """Runs the script without the benchmark program."""
        return subprocess.run([SCRIPT, "--from", *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)

    def refused(self, *words, why):
        """Checks that the arguments are refused before the benchmark program is called."""
        done = self.bench(GOOD, *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(why, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse((self.folder / "heard").exists())

    def heard(self):
        """Returns the arguments of each call, without the call that lists the scenarios."""
        lines = (self.folder / "heard").read_text(encoding="utf-8").splitlines()
        return [words for words in map(json.loads, lines) if "--list" not in words]


class Arguments(Sandbox):
    def test_help(self):
        done = self.bench({}, "--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--list", "--quick", "--rounds", "--seconds", "--directory", "--output", "--save", "--from"):
            self.assertIn(option, done.stdout)

    def test_list(self):
        done = self.bench(GOOD, "--list")
        self.assertEqual((done.returncode, done.stdout),
                         (0, "hot   About hot\ncold  About cold\nzipf  About zipf\n"))

    def test_unknown_names_are_refused_with_the_known_ones(self):
        done = self.bench(GOOD, "hot", "warm")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("there is no scenario warm. There are: hot, cold, zipf", done.stderr)

    def test_wrong_values_are_refused(self):
        for words in (["--rounds", "0"], ["--rounds", "x"], ["--rounds", "1001"], ["--seconds", "0"],
                      ["--seconds", "nan"], ["--seconds", "3600.1"],
                      ["--directory", "absent"], ["--what"], ["--save", "--output", "x"]):
            with contextlib.redirect_stderr(io.StringIO()) as errors, self.assertRaises(SystemExit) as end:
                run.read_arguments(words)
            self.assertEqual(end.exception.code, 2, words)
            self.assertIn(words[0], errors.getvalue())
        done = self.draw("absent")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertNotIn("Traceback", done.stderr)
        most = run.read_arguments(["--rounds", "1000", "--seconds", "3600"])
        self.assertEqual((most.rounds, most.seconds), (1000, 3600))

    def test_the_time_limit_of_a_scenario(self):
        for words, hours in (([], 1), (["--quick"], 1), (["--rounds", "1"], 1), (["--rounds", "10"], 2),
                             (["--seconds", "2.5"], 10), (["--rounds", "50", "--seconds", "2.5"], 100)):
            self.assertAlmostEqual(run.limit_s(run.read_arguments(words)), hours * 3600, msg=words)

    def test_folders_that_cannot_be_written(self):
        (self.folder / "file").write_text("", encoding="utf-8")
        self.refused("--directory", "file/below", why="--directory: there is no folder file/below")
        self.refused("--directory", "file", why="--directory: there is no folder file")
        self.refused("--directory", "/proc", why="--directory: /proc cannot be written: ")
        self.refused("--output", "file", why="--output: ")
        self.refused("--output", "file/below/it", why=f"--output: there is no folder {self.folder.resolve()}/file")
        self.refused("--output", "/proc/below", why="--output: /proc cannot be written")
        (self.folder / "out/index.html").mkdir(parents=True)
        self.refused("--output", "out", why="--output: out/index.html cannot be written")

    def test_a_missing_path_of_a_contestant_is_reported(self):
        (self.folder / "text").write_text("", encoding="utf-8")
        for place in ("./absent", "./text", "text/below", "./"):
            self.refused("--dynalite", place, why=f"--dynalite: there is no program {place}")
        self.refused("--dynamodb-local", ".", why="--dynamodb-local: there is no DynamoDBLocal*.jar in .")
        # The benchmark program looks up a plain name in PATH.
        self.assertEqual(run.read_arguments(["--dynalite", "absent"]).dynalite, "absent")

    def test_quick_figures_are_not_saved(self):
        self.refused("--quick", "--save", why="--save cannot be combined with --quick, whose results are meaningless")

    def test_from_is_refused_together_with_a_measurement(self):
        (self.folder / "DynamoDBLocal.jar").touch()
        self.refused("--from", "x", why="--from does not measure, so it cannot be combined with --scenarios")
        for words in (["--rounds", 3], ["--seconds", 3], ["--quick"], ["--directory", "."], ["--dynalite", "x"],
                      ["--dynamodb-local", "."]):
            done = self.draw("x", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"--from does not measure, so it cannot be combined with {words[0]}\n", done.stderr)

    def test_list_reports_that_it_builds_first(self):
        for built in (False, True):
            place = self.folder / ("fake" if built else "absent")
            with unittest.mock.patch.object(run, "SCENARIOS", place), \
                    unittest.mock.patch.object(run, "build", side_effect=SystemExit), \
                    contextlib.redirect_stderr(io.StringIO()) as errors, self.assertRaises(SystemExit):
                run.main(["--list"])
            self.assertEqual("Building first, which takes some minutes." in errors.getvalue(), not built)

    def test_the_arguments_of_the_program(self):
        shutil.copy(self.fake, self.folder / "dynalite")
        (self.folder / "DynamoDBLocal-2.jar").touch()
        self.bench(GOOD, "cold", "--quick", "--rounds", 3, "--seconds", 0.5, "--directory", ".", "--dynalite",
                   "./dynalite", "--dynamodb-local", ".")
        heard, = self.heard()
        self.assertEqual(heard[-1], "cold")
        errors = " ".join(heard)
        here = str(self.folder.resolve())
        for words in ("--quick", "--rounds 3", "--seconds 0.5", f"--directory {here}",
                      f"--dynalite {here}/dynalite", f"--dynamodb-local {here}", "build/daemon/rocklock"):
            self.assertIn(words, errors)

    def test_rounds_and_seconds_are_passed_unless_quick_is_given(self):
        self.bench(GOOD, "cold")
        self.bench(GOOD, "cold", "--quick")
        self.bench(GOOD, "cold", "--quick", "--rounds", 2)
        usual, quick, rounds = (" ".join(words) for words in self.heard())
        self.assertIn("--rounds 5 --seconds 0.25", usual)
        self.assertNotIn("--rounds", quick)
        self.assertIn("--rounds 2", rounds)
        for words in (quick, rounds):
            self.assertNotIn("--seconds", words)

    def test_a_program_that_cannot_list(self):
        self.fake.write_text("#!/bin/sh\necho no room >&2\nexit 3\n", encoding="utf-8")
        done = self.bench({})
        self.assertEqual(done.returncode, 1)
        self.assertIn("it ended with status 3: no room", done.stderr)
        for text in ("#!/bin/sh\necho junk\n", "#!/bin/sh\n"):
            self.fake.write_text(text, encoding="utf-8")
            done = self.bench({})
            self.assertEqual(done.returncode, 1)
            self.assertNotIn("Traceback", done.stderr)


class Measuring(Sandbox):
    def test_all_scenarios_run_in_order_in_separate_processes(self):
        done = self.bench(GOOD)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([words[-1] for words in self.heard()], ["hot", "cold", "zipf"])
        self.assertEqual(re.findall(r"row of (\w+)", done.stdout), ["hot", "cold", "zipf"])
        self.assertIn("| hot | row of hot | 0.80 (0.70–0.90) pairs/s | Redis: 0.80 (0.70–0.90) | "
                      "0.80 × (0.70–0.90) | 1.00 × | **missed, slower** |", done.stdout)
        self.assertIn("0 of 3 targets reached, 3 missed", done.stdout)

    def test_progress(self):
        done = self.bench(GOOD | {"hot": GOOD["hot"] | {"says": ["starting Redis"]}}, "hot", "zipf")
        self.assertRegex(done.stderr, r"\[1/2\] About hot, after 0:0\d\n    starting Redis\n\[2/2\] About zipf, after")

    def fails(self, does, *reasons):
        done = self.bench(GOOD | {"cold": does}, "--output", "out")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([words[-1] for words in self.heard()][-3:], ["hot", "cold", "zipf"])
        for name in ("hot", "zipf"):
            self.assertIn(f"row of {name}", done.stdout)
        saved = results.read((self.folder / "out/results.jsonl").read_text(encoding="utf-8").splitlines())
        for reason in reasons:
            self.assertIn(reason, done.stderr)
            self.assertIn(reason, done.stdout)
            self.assertIn(reason, saved.find("cold").failed)
        self.assertIn("1 scenario failed", done.stdout)
        return saved.find("cold")

    def test_a_run_that_exits_with_an_error(self):
        kept = self.fails({"lines": [point("cold")], "says": ["one", "bench: no room"], "status": 3},
                          "it ended with status 3", "bench: no room")
        self.assertEqual(len(kept.charts[0].points), 1)

    def test_a_run_that_prints_invalid_lines(self):
        kept = self.fails({"lines": [row("cold"), "junk", point("cold")]}, "it printed invalid output: ",
                          "not a line of JSON: junk")
        # Valid lines are kept.
        self.assertEqual((len(kept.rows), len(kept.charts[0].points)), (1, 1))

    def test_every_kind_of_invalid_output(self):
        for junk in ("{\"kind\":\"row\"}", "\udcff\udcfe", json.dumps(row("hot")), json.dumps(point("cold", "x")),
                     json.dumps({"kind": "run"}), json.dumps({"kind": "failed", "scenario": "cold", "why": ""}),
                     json.dumps({"kind": "scenario", "name": "cold"})):
            why, found = self.measure({"lines": [row("cold"), junk]})
            self.assertIn("it printed invalid output", why, junk)
            self.assertEqual((len(found.rows), found.failed), (1, why))

    def test_a_run_with_rows_only(self):
        done = self.bench({"zipf": {"lines": [figures("zipf")]}}, "zipf")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("| clients | contestant | a second of zipf |", done.stdout)
        self.assertIn("| 2 | Redis | 0.80 (0.70–0.90) |", done.stdout)

    def test_a_quick_run_warns_that_its_figures_are_not_reliable(self):
        errors = "Measured with --quick: the results are meaningless."
        self.assertEqual(self.bench(GOOD, "--quick").stdout.splitlines()[-1], errors)
        self.assertNotIn(errors, self.bench(GOOD).stdout)

    def test_a_run_without_results_fails(self):
        self.fails({}, "it reported no results")

    def test_a_run_that_is_killed(self):
        self.fake.write_text(FAKE.read_text(encoding="utf-8").replace(
            "return does.get(\"status\", 0)", "os.kill(os.getpid(), does.get(\"status\", 0))"), encoding="utf-8")
        self.fails({"lines": [row("cold")], "status": 11}, "it was ended by SIGSEGV")

    def measure(self, does, progress=None, **more):
        """Runs a scenario here. Returns the reason of its failure, and its results."""
        with unittest.mock.patch.dict(os.environ, self.environment({"cold": does})):
            found = results.Results()
            listed = program.listed(str(self.fake))
            why = program.measure([str(self.fake), "cold"], listed["cold"], found,
                                  progress or unittest.mock.Mock(), **more)
        return why, found.find("cold")

    def test_an_interruption_does_not_stop_the_work_of_a_step(self):
        # Event.wait() would raise a RuntimeError instead of KeyboardInterrupt, depending on the moment.
        steps = []

        class Progress(unittest.mock.Mock):
            def tick(self):
                os.kill(os.getpid(), signal.SIGINT)
                steps.append("complete")

        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with self.assertRaises(KeyboardInterrupt):
            self.measure({"lines": [row("cold")], "hangs": True}, Progress(), limit_s=10)
        self.assertEqual(steps, ["complete"])

    def test_a_run_that_hangs_is_killed_with_its_children(self):
        start = time.monotonic()
        # The process that it leaves running keeps the pipes open, which must not block this call.
        why, found = self.measure({"lines": [row("cold")], "hangs": True}, limit_s=1)
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(why, "it did not end within 1 s")
        self.assertEqual((len(found.rows), found.failed), (1, why))

    def test_a_run_that_leaves_a_process_running(self):
        start = time.monotonic()
        why, found = self.measure({"lines": [row("cold")], "leaves": True})
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual((why, len(found.rows)), ("", 1))

    def start_hanging(self, *arguments, on_hangup=signal.SIG_DFL):
        running = subprocess.Popen([SCRIPT, "--scenarios", self.fake, *arguments], cwd=self.folder, text=True,
                                   env=self.environment(GOOD | {"cold": GOOD["cold"] | {"hangs": True}}),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, on_hangup))
        self.addCleanup(lambda: (running.kill(), running.communicate()))
        for line in running.stderr:
            if "hanging" in line:
                return running
        self.fail("it ended before")

    def kept(self):
        return results.read((self.folder / "results.jsonl").read_text(encoding="utf-8").splitlines())

    def test_an_interrupted_run_shows_and_keeps_its_results(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            running = self.start_hanging("--output", "out")
            running.send_signal(number)
            out, errors = running.communicate(timeout=20)
            self.assertEqual(running.returncode, 130)
            self.assertIn("row of hot", out)
            self.assertNotIn("row of zipf", out)
            self.assertIn("row of cold", out)
            self.assertIn("- cold: interrupted", out)
            self.assertEqual(out.splitlines()[-1], "Interrupted: the table is partial.")
            self.assertIn("interrupted; out is unchanged; ", errors)
            self.assertNotIn("Traceback", errors)
            self.assertFalse((self.folder / "out").exists())
            kept = self.kept()
            self.assertEqual([(one.name, one.failed, len(one.rows)) for one in kept.scenarios],
                             [("hot", "", 1), ("cold", "interrupted", 1)])
            (self.folder / "results.jsonl").unlink()

    def test_a_run_whose_terminal_closes_keeps_its_results(self):
        ours, theirs = pty.openpty()
        running = subprocess.Popen([SCRIPT, "--scenarios", self.fake], stdin=subprocess.DEVNULL, stdout=theirs,
                                   stderr=theirs, env=self.environment(GOOD | {"cold": GOOD["cold"] | {"hangs": True}}),
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        self.addCleanup(running.kill)
        os.close(theirs)
        out = b""
        while b"hanging" not in out:
            out += os.read(ours, 65536)
        os.close(ours)
        running.send_signal(signal.SIGHUP)
        running.wait(20)
        self.assertEqual([(one.name, one.failed) for one in self.kept().scenarios],
                         [("hot", ""), ("cold", "interrupted")])

    def test_a_run_under_nohup_continues(self):
        running = self.start_hanging(on_hangup=signal.SIG_IGN)
        running.send_signal(signal.SIGHUP)
        with self.assertRaises(subprocess.TimeoutExpired):
            running.wait(1)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=20)
        self.assertEqual(running.returncode, 130)

    def test_on_a_terminal_one_line_changes(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        running = subprocess.Popen([SCRIPT, "--scenarios", self.fake, "hot"], env=self.environment(GOOD),
                                   stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
        os.close(theirs)
        out = b""
        try:
            while chunk := os.read(ours, 65536):
                out += chunk
        except OSError:
            # EIO: no process has the other end of the terminal open any more.
            pass
        self.assertEqual(running.wait(20), 0)
        text = out.decode()
        self.assertIn("\r\033[K[1/1] About hot  0:0", text)
        self.assertRegex(text, "hot +row of hot +0.80 ")
        self.assertIn("─", text)


class Keeping(Sandbox):
    def out(self):
        return results.read((self.folder / "out/results.jsonl").read_text(encoding="utf-8").splitlines())

    def test_without_output_only_the_latest_results_are_written(self):
        self.bench(GOOD)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"fake", "heard", "results.jsonl"})

    def test_output(self):
        done = self.bench(GOOD, "--rounds", 3, "--output", "out")
        self.assertEqual({path.name for path in (self.folder / "out").iterdir()},
                         {"results.jsonl", "index.html", "README.md", "hot-rate.svg", "cold-rate.svg", "zipf-rate.svg"})
        run = self.out().scenarios[0].run
        self.assertEqual(run["settings"], {"rounds": 3, "seconds": 0.25})
        self.assertGreaterEqual(run["cores"], 1)
        self.assertNotIn(str(self.folder), (self.folder / "out/results.jsonl").read_text(encoding="utf-8"))
        self.assertIn("index.html", done.stderr)

    def test_a_repeated_scenario_keeps_its_position(self):
        self.bench(GOOD, "--output", "out")
        again = GOOD | {"cold": {"lines": [row("cold", True)]}}
        self.bench(again, "cold", "--rounds", 4, "--output", "out")
        scenarios = self.out().scenarios
        self.assertEqual([one.name for one in scenarios], ["hot", "cold", "zipf"])
        self.assertEqual([one.rows[0].reached for one in scenarios], [False, True, False])
        self.assertEqual([one.run["settings"]["rounds"] for one in scenarios], [5, 4, 5])
        self.assertFalse((self.folder / "out/cold-rate.svg").exists())

    def test_quick_figures_are_kept_separate(self):
        self.bench(GOOD, "--output", "out")
        before = (self.folder / "out/results.jsonl").read_text(encoding="utf-8")
        (self.folder / "heard").unlink()
        self.refused("cold", "--quick", "--output", "out", why="out has valid results")
        self.assertEqual((self.folder / "out/results.jsonl").read_text(encoding="utf-8"), before)
        for _ in range(2):
            self.assertEqual(self.bench(GOOD, "cold", "--quick", "--output", "quick").returncode, 0)

    def test_invalid_results_are_reported_before_a_measurement_starts(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/results.jsonl").write_text("junk\n", encoding="utf-8")
        done = self.bench(GOOD, "--output", "out")
        self.assertEqual(done.returncode, 2)
        self.assertFalse((self.folder / "heard").exists())
        self.assertEqual((self.folder / "out/results.jsonl").read_text(encoding="utf-8"), "junk\n")

    def test_drawing_again(self):
        measured = self.bench(GOOD, "--output", "out")
        (self.folder / "heard").unlink()
        again = self.draw("out/results.jsonl", "--output", "copy")
        self.assertEqual((again.returncode, again.stdout), (0, measured.stdout))
        self.assertFalse((self.folder / "heard").exists())
        for path in (self.folder / "out").iterdir():
            self.assertEqual(path.read_bytes(), (self.folder / "copy" / path.name).read_bytes())
        one = self.draw("out/results.jsonl", "cold")
        self.assertEqual(re.findall(r"row of (\w+)", one.stdout), ["cold"])
        listed = self.draw("out/results.jsonl", "--list", "hot", "cold")
        self.assertEqual((listed.returncode, listed.stdout), (0, "hot   About hot\ncold  About cold\n"))

    def test_comparing_with_earlier_results(self):
        self.bench(GOOD, "--output", "out")
        done = self.draw("out/results.jsonl", "--compare", "out/results.jsonl", "cold")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Changes:", done.stdout)
        self.assertIn("Compared 1 row: no change beyond the ranges", done.stdout)
        measured = self.bench(GOOD, "--compare", "out/results.jsonl")
        self.assertIn("no change beyond the ranges", measured.stdout)
        (self.folder / "heard").unlink()
        refused = self.bench(GOOD, "--compare", "absent.jsonl")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("absent.jsonl: ", refused.stderr)
        self.assertFalse((self.folder / "heard").exists())

    def test_drawing_quick_figures_again(self):
        self.bench(GOOD, "--quick")
        self.assertIn("the results are meaningless", self.draw("results.jsonl").stdout)
        done = self.draw("results.jsonl", "--save")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("was measured with --quick", done.stderr)


class Machine(unittest.TestCase):
    MOUNTS = ("22 1 8:1 / / rw - ext4 /dev/sda rw\n23 22 0:5 / /tmp rw shared:1 - tmpfs tmpfs rw\n"
              "24 22 8:2 / /a\\040b rw - xfs /dev/sdb rw\nnonsense\n")

    def test_file_systems(self):
        for place, kind in (("/tmp", "tmpfs"), ("/tmp/x", "tmpfs"), ("/tmpx", "ext4"), ("/", "ext4"), ("/a b/c", "xfs")):
            self.assertEqual(machine.file_system(place, self.MOUNTS), kind)

    def test_versions_of_the_given_contestants(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "package").mkdir()
            (place / "package/cli.js").write_text("", encoding="utf-8")
            (place / "package/cli.js").chmod(0o755)
            (place / "package/package.json").write_text('{"version": "4.5.6"}', encoding="utf-8")
            (place / "dynalite").symlink_to("package/cli.js")
            (place / "DynamoDBLocal-x.jar").write_text("no archive", encoding="utf-8")
            with zipfile.ZipFile(place / "DynamoDBLocal.jar", "w") as archive:
                archive.writestr("META-INF/MANIFEST.MF", "A: b\r\nImplementation-Version: 2.3.4\r\n")
            found = machine.versions(str(place / "dynalite"), place)
            self.assertEqual((found["dynalite"], found["DynamoDB Local"]), ("4.5.6", "2.3.4"))
            (place / "DynamoDBLocal-9.8.7.jar").touch()
            self.assertEqual(machine.versions(None, place)["DynamoDB Local"], "9.8.7")
            self.assertEqual(machine.version_of_dynalite(str(place / "none")), "")

    def test_how_it_was_built(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(machine.build(pathlib.Path(folder)), {})
            info = pathlib.Path(folder) / "build/meson-info"
            info.mkdir(parents=True)
            (info.parent / "meson-logs").mkdir()
            (info.parent / "meson-logs/meson-log.txt").write_text(
                'C++ compiler for the host machine: ccache c++ (gcc 12.2.0 "c++ (Debian) 12.2.0")\n', encoding="utf-8")
            for sanitize, unfit in (("none", []), ("address", ["b_sanitize is address"])):
                options = {"optimization": "2", "unity": "on", "b_sanitize": sanitize, "b_coverage": False}
                (info / "intro-buildoptions.json").write_text(
                    json.dumps([{"name": name, "value": value} for name, value in options.items()]), encoding="utf-8")
                found = machine.build(pathlib.Path(folder))
                self.assertEqual((found["compiler"], found["optimization"], found["unity"], found["unfit"]),
                                 ("gcc 12.2.0", "-O2", True, unfit))
            self.assertIn("b_sanitize is address", dict(machine.facts({"build": found}))["Build"])
            program = info.parent / "daemon/rocklock"
            program.parent.mkdir()
            for content, uses in ((b"ELF", False), (b"ELF libjemalloc.so.2", True), (b"ELF <jemalloc>: ", True)):
                program.write_bytes(content)
                self.assertEqual(machine.build(pathlib.Path(folder))["jemalloc"], uses)
        built = {"jemalloc": True, "static_rocksdb": True}
        self.assertEqual(dict(machine.facts({"build": built}))["Build"],
                         "daemon with jemalloc, RocksDB linked statically")

    def test_a_store_in_memory_is_reported(self):
        self.assertIn("Note", dict(machine.facts({"file_system": "tmpfs"})))
        self.assertNotIn("Note", dict(machine.facts({"file_system": "ext4"})))


if __name__ == "__main__":
    tap.main()
