"""The recorded cases of DynamoDB (tests/golden), replayed against a daemon over both its sockets.

Each case is a separate test here: `unix: transact/fenced-write`.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

PROGRAM = os.environ["ROCKLOCK_PROGRAM"]
GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
FILES = sorted(GOLDEN.glob("*.jsonl"))
PATIENCE_S = 500

sys.path.insert(0, str(GOLDEN))
sys.dont_write_bytecode = True
import replay  # noqa: E402  (the replayer of the corpus, as it is)


class Tap:
    def __init__(self):
        self.number = 0
        self.failed = False

    def line(self, passed, name):
        self.number += 1
        self.failed |= not passed
        print(f"{'ok' if passed else 'not ok'} {self.number} - {name}", flush=True)

    def end(self):
        print(f"1..{self.number}")
        sys.exit(1 if self.failed else 0)


class Daemon:
    def __init__(self, *store):
        """`store`: the options that choose the store; by default a new one on the disk."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rl-", dir="/tmp"))
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("ROCKLOCK_")}
        environment["ROCKLOCK_CONFIG"] = "/dev/null"
        self.socket = self.folder / "s"
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *(store or ("--db", self.folder / "db")), "--socket", self.socket,
             "--http", "127.0.0.1:0"],
            env=environment, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.endpoint = None
        while self.endpoint is None:
            line = self.process.stderr.readline()
            if not line:
                raise RuntimeError("the daemon has ended before it listened")
            found = re.search(r"listening on (http://\S+)", line)
            self.endpoint = found and found.group(1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        shutil.rmtree(self.folder)
        return self.process.returncode


def replay_over(way, where, tap, folder, files=tuple(FILES)):
    """Replays the files with the unchanged replayer, and reports each case."""
    failed_file = folder / f"failed-{way}"
    done = subprocess.run(
        [sys.executable, GOLDEN / "replay.py", *where, *files, "--headers", "--show",
         "--failed", failed_file],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    failed = set(failed_file.read_text().splitlines()) if failed_file.exists() else None
    cases = [" ".join(case) for case in replay.load(files)]
    counts = re.search(r"(\d+) passed, (\d+) failed, 0 skipped\s*$", done.stdout)
    whole = failed is not None and counts and int(counts[1]) + int(counts[2]) == len(cases)
    tap.line(bool(whole), f"{way}: the replay ends, and counts all cases")
    if not whole:
        print("#", (done.stdout[-2000:] + done.stderr[-2000:]).replace("\n", "\n# "))
        return
    for case in cases:
        tap.line(case not in failed, f"{way}: {case.split(' ')[1]}")
    if done.returncode:
        print("#", done.stdout[-20000:].replace("\n", "\n# "))


def main():
    tap = Tap()
    daemon = Daemon()
    try:
        replay_over("unix", ["--unix", daemon.socket], tap, daemon.folder)
        replay_over("tcp", [daemon.endpoint], tap, daemon.folder)
    finally:
        status = daemon.stop()
    tap.line(status == 0, "the daemon leaves in order")
    tap.end()


if __name__ == "__main__":
    main()
