"""The unmodified SDKs for JavaScript, versions 2 and 3, against the daemon; only the endpoint is
configured.

The cases are the exported functions in tests/javascript/cases; each is a test here, over TCP and
over the Unix socket.
"""

import json
import re
import select
import subprocess
import tempfile

import javascript
import tap
from harness import PATIENCE_S, Sandbox

CASE = re.compile(r"^export async function (\w+)", re.MULTILINE)
OF_BOTH = ("table_edit", "freeing_lock", "version_check", "operations", "refusals", "guards")
# Additional options of the daemon for single cases.
SERVED = {
    "an_expired_lock_is_still_stored_and_can_be_acquired": ["--sweep-period", "10ms", "--ttl-lag", "48h"],
    "retries_throttled_requests": ["--throttle", "30%"],
}
MISSING = javascript.missing()


class Runner:
    """A Node process with one version of the SDK. It runs cases on request."""

    def __init__(self, version):
        self.home = tempfile.TemporaryDirectory(prefix="rl-js-", dir="/tmp")
        self.complaints = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [javascript.NODE, javascript.FOLDER / "runner.mjs", str(version)], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.complaints, env=javascript.environment(self.home.name),
            cwd=self.home.name)

    def play(self, file, name, **places):
        """Returns an error message, or None if the case succeeded."""
        self.process.stdin.write(json.dumps({"file": file, "name": name, **places}) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
            self.process.kill()
            return f"no end within {PATIENCE_S} s{self.errors()}"
        line = self.process.stdout.readline()
        return json.loads(line)["wrong"] if line else f"node has ended{self.errors()}"

    def errors(self):
        self.process.wait(PATIENCE_S)
        self.complaints.seek(0)
        return ": " + self.complaints.read()

    def stop(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.complaints.close()
        self.home.cleanup()


class JavaScript(Sandbox):
    version = None
    over_socket = False
    runner = None

    def setUp(self):
        if MISSING:
            self.skipTest(MISSING)
        super().setUp()
        self.state.mkdir()

    @classmethod
    def tearDownClass(cls):
        if cls.runner:
            cls.runner.stop()

    def play(self, file, name):
        cls = type(self)
        if not cls.runner or cls.runner.process.poll() is not None:
            self.tearDownClass()
            cls.runner = Runner(self.version)
        process = self.serve("--memory", "--http", "127.0.0.1:0", *SERVED.get(name, ()))
        endpoint = re.search(r"http://\S+", process.stderr.readline()).group(0)  # tidy: meant
        if self.over_socket:
            wrong = cls.runner.play(file, name, endpoint="http://localhost", socket_path=str(self.socket))
        else:
            wrong = cls.runner.play(file, name, endpoint=endpoint)
        if wrong:
            self.fail(wrong)


def tests_of(version, over_socket):
    """Returns a test class with one test for each case of a version."""
    members = {"version": version, "over_socket": over_socket}
    for file in (*OF_BOTH, f"version_{version}"):
        for name in CASE.findall((javascript.FOLDER / f"cases/{file}.mjs").read_text()):
            assert f"test_{name}" not in members, name
            members[f"test_{name}"] = lambda self, file=file, name=name: self.play(file, name)
    return type(f"Version{version}Over{'UnixSocket' if over_socket else 'Tcp'}", (JavaScript,), members)


Version2OverTcp = tests_of(2, False)
Version2OverUnixSocket = tests_of(2, True)
Version3OverTcp = tests_of(3, False)
Version3OverUnixSocket = tests_of(3, True)

if __name__ == "__main__":
    tap.main()
