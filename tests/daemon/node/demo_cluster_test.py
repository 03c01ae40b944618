"""scripts/demo-cluster shows what it claims, and stops its processes."""

import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import tap
from cluster import etcd_is_usable
from harness import PROGRAM, wait_until

DEMO = pathlib.Path(__file__).resolve().parents[3] / "scripts/demo-cluster"


@unittest.skipUnless(etcd_is_usable(), "etcd is not installed, or this build has no client for it")
class Demonstration(unittest.TestCase):
    def setUp(self):
        # The processes of a demonstration have its folder in their arguments or as their directory.
        self.folder = tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp")
        self.addCleanup(self.folder.cleanup)

    def start(self):
        return subprocess.Popen([DEMO, "--program", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=os.environ | {"TMPDIR": self.folder.name}, start_new_session=True)

    def left(self):
        """Returns the processes and the files that a demonstration has left."""
        processes = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "cwd").startswith(self.folder.name):
                    processes.append((process / "cmdline").read_bytes())
            except OSError:
                continue
        return processes + list(pathlib.Path(self.folder.name).iterdir())

    def test_all_claims_hold(self):
        demo = self.start()
        shown, _ = demo.communicate()
        self.assertEqual(demo.returncode, 0, shown)
        self.assertIn("All claims hold.", shown)
        self.assertEqual(shown.count("was killed, and a new lock was granted"), 3, shown)
        self.assertEqual(self.left(), [])

    def test_an_interrupt_stops_all_processes(self):
        demo = self.start()
        shown = []
        for line in demo.stdout:
            shown.append(line)
            if line.startswith("3. "):
                break
        # As Ctrl-C does, to all processes of the terminal.
        os.killpg(demo.pid, signal.SIGINT)
        shown += demo.stdout
        # A shell that is interrupted while it waits for a command can end by the signal itself.
        self.assertIn(demo.wait(), (130, -signal.SIGINT), "".join(shown))
        wait_until(lambda: self.left() == [], "all processes have ended")


if __name__ == "__main__":
    tap.main()
