"""Tests that scripts/run_tests counts correctly and reports a crash as a failure."""

import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import tap

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/run_tests"
LOADER = importlib.machinery.SourceFileLoader("run_tests", str(SCRIPT))
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", LOADER))
LOADER.exec_module(run_tests)

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite tests="2" skipped="2" errors="0" failures="1">
<testcase assertions="1" classname="s" name="good"></testcase>
<testcase assertions="1" classname="s" name="bad"><failure message="failure"></failure></testcase>
<testcase assertions="0" classname="s" name="absent"><skipped/>
<system-out><![CDATA[Test case disabled because of the following chain of decision:
- disabled test unit: 's/absent'
- reason: 'precondition failed: no second disk']]></system-out></testcase>
<testcase assertions="0" classname="s" name="filtered"><skipped/>
<system-out><![CDATA[- reason: 'disabled']]></system-out></testcase>
</testsuite>
"""
TAP = "1..4\nok 1 - good\nnot ok 2 - bad\n# why\nok 3 - absent # SKIP no second disk\nok 4\n"


class Counting(unittest.TestCase):
    def setUp(self):
        self.results = pathlib.Path(tempfile.mkdtemp(prefix="rocklock-count-"))
        self.addCleanup(shutil.rmtree, self.results)

    def count(self, result="OK", stdout="", junit=None):
        if junit is not None:
            (self.results / "lock.xml").write_text(junit, encoding="utf-8")
        record = {"name": "rocklock:lock / lock", "stdout": stdout, "result": result,
                  "returncode": 0}
        return run_tests.count_program(record, self.results)

    def test_cases_of_boost_test(self):
        count = self.count("FAIL", junit=JUNIT)
        self.assertEqual(count.passed, 1)
        self.assertEqual(count.failures, ["lock/s/bad"])
        self.assertEqual(count.skips, [("lock/s/absent", "no second disk")])

    def test_lines_of_tap(self):
        count = self.count("FAIL", stdout=TAP)
        self.assertEqual(count.passed, 2)
        self.assertEqual(count.failures, ["lock: bad"])
        self.assertEqual(count.skips, [("lock: absent", "no second disk")])

    def test_a_plan_that_skips_all_tests(self):
        count = self.count("SKIP", stdout="1..0 # SKIP no second disk\n")
        self.assertEqual((count.passed, count.failures), (0, []))
        self.assertEqual(count.skips, [("lock", "no second disk")])

    def test_a_crash_before_the_first_result_is_a_failure(self):
        self.assertEqual(len(self.count("FAIL").failures), 1)

    def test_a_crash_amid_the_results_is_a_failure(self):
        self.assertEqual(len(self.count("FAIL", junit=JUNIT[:200]).failures), 1)

    def test_a_crash_after_good_results_is_a_failure(self):
        count = self.count("TIMEOUT", stdout="ok 1 - good\n")
        self.assertEqual((count.passed, len(count.failures)), (1, 1))

    def test_a_program_without_a_count_is_one_test(self):
        self.assertEqual(self.count().passed, 1)

    def test_the_last_lines_of_failed_tests_are_printed(self):
        said = {"stdout": "first\n\n", "stderr": "\n".join(map(str, range(70)))}
        folder = pathlib.Path(".")
        last = run_tests.last_words({"result": "FAIL", **said}, folder)
        self.assertEqual((len(last), last[0], last[-1]), (60, "    | 10", "    | 69"))
        self.assertEqual(run_tests.last_words({"result": "TIMEOUT", "stdout": "first\n"}, folder), ["    | first"])
        self.assertEqual(run_tests.last_words({"result": "OK", **said}, folder), [])

    def test_the_report_of_a_crash_names_functions(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "crash.cpp").write_text("int main() { return 0; }\n")
            subprocess.run(["c++", "-g1", "-no-pie", "-o", folder / "crash", folder / "crash.cpp"], check=True)
            symbols = subprocess.run(["nm", folder / "crash"], capture_output=True, text=True, check=True).stdout
            address, = (line.split()[0] for line in symbols.splitlines() if line.endswith(" T main"))
            line = f"./crash(+0x{int(address, 16):x})[0x7f00]"
            self.assertEqual(run_tests.with_function(line, folder), f"{line} main at crash.cpp:1")
            self.assertEqual(run_tests.with_function("./crash says hello", folder), "./crash says hello")


if __name__ == "__main__":
    tap.main()
