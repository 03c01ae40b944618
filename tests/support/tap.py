"""Runs tests of unittest and prints the results as TAP, which Meson and scripts/run_tests read.

    import tap
    ...
    if __name__ == "__main__":
        tap.main()
"""

import sys
import unittest


class _Printer(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0

    def _line(self, word, test, directive=""):
        self.number += 1
        name = test.id().removeprefix("__main__.").replace("#", "")
        print(f"{word} {self.number} - {name}{directive}", flush=True)

    def _trouble(self, test, error):
        self._line("not ok", test)
        for line in self._exc_info_to_string(error, test).splitlines():
            print("#", line, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._trouble(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._trouble(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line("ok", test, f" # SKIP {reason}")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._trouble(subtest, err)


def main():
    """Runs the tests of the calling program, or those whose names are given as arguments."""
    loader = unittest.defaultTestLoader
    module = sys.modules["__main__"]
    if sys.argv[1:]:
        suite = loader.loadTestsFromNames(sys.argv[1:], module)
    else:
        suite = loader.loadTestsFromModule(module)
    printer = _Printer()
    suite.run(printer)
    print(f"1..{printer.number}")
    sys.exit(0 if printer.wasSuccessful() else 1)
