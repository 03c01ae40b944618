"""Scripts that are called with an unknown option print their description and exit with 2."""

import pathlib
import subprocess
import unittest

import tap

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"
# The other scripts pass unknown options on, or have none.
WITH_OPTIONS = ("crash", "demo", "demo-cluster", "linearize", "serialise", "setup", "stale")


class Usage(unittest.TestCase):
    def test_an_unknown_option_prints_the_comment_at_the_beginning_of_the_script(self):
        for name in WITH_OPTIONS:
            lines = (SCRIPTS / name).read_text(encoding="utf-8").splitlines()[1:]
            comment = lines[:next(at for at, line in enumerate(lines) if not line.startswith("#"))]
            # The path of the script is relative, and the script changes the directory.
            for folder, program in ((SCRIPTS, f"./{name}"), (SCRIPTS.parent, f"scripts/{name}")):
                done = subprocess.run([program, "--unknown-option"], cwd=folder, capture_output=True, text=True,
                                      timeout=60, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.splitlines(), [line.removeprefix("#").removeprefix(" ") for line in comment])


if __name__ == "__main__":
    tap.main()
