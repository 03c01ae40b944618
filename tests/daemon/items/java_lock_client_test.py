"""The unmodified DynamoDB lock client for Java against the daemon; only the endpoint is configured.

The cases are those in tests/java/LockClientCases.java; each is a test here. LockHolder.java has the
cases that need processes which can be killed.
"""

import re
import select
import signal
import subprocess
import tempfile

import java
import tap
from harness import PATIENCE_S, Sandbox, wait_until

CASE = re.compile(r"^    static void (\w+)\(URI endpoint\)", re.MULTILINE)
MISSING = java.missing()


class Runner:
    """A Java process that runs cases on request."""

    compiled = None
    living = {}

    @classmethod
    def named(cls, name):
        """Returns the runner with this name. Starts it if it does not run, because a start is
        slow."""
        if name not in cls.living or cls.living[name].process.poll() is not None:
            cls.stop(name)
            cls.living[name] = cls()
        return cls.living[name]

    @classmethod
    def stop(cls, name):
        if name in cls.living:
            cls.living.pop(name).end()

    def __init__(self):
        if not Runner.compiled:
            Runner.compiled = tempfile.TemporaryDirectory(prefix="rl-java-", dir="/tmp")
            java.compile_tests(Runner.compiled.name)
        self.complaints = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            java.command(Runner.compiled.name), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.complaints, env=java.environment(Runner.compiled.name), cwd=Runner.compiled.name)

    def play(self, name, endpoint):
        """Returns an error message, or an empty string if the case succeeded."""
        self.process.stdin.write(f"{name} {endpoint}\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
            self.process.kill()
            return f"no end within {PATIENCE_S} s{self.errors()}"
        wrong = ""
        for line in self.process.stdout:
            if line == "done\n":
                return wrong
            wrong += line
        return f"java has ended{self.errors()}"

    def errors(self):
        self.process.wait(PATIENCE_S)
        self.complaints.seek(0)
        return ": " + self.complaints.read()

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.complaints.close()


def tearDownModule():
    for name in list(Runner.living):
        Runner.stop(name)


class Java(Sandbox):
    def setUp(self):
        if MISSING:
            self.skipTest(MISSING)
        super().setUp()
        self.state.mkdir()

    def listen(self, *options, place="127.0.0.1:0"):
        """Starts a daemon. Returns its process and its endpoint."""
        process = self.serve("--http", place, *options)
        return process, re.search(r"http://\S+", process.stderr.readline()).group(0)  # tidy: meant


    def play(self, runner, case, endpoint):
        wrong = runner.play(case, endpoint)
        if wrong:
            self.fail(wrong)


class LockClient(Java):
    def play_alone(self, name):
        _, endpoint = self.listen("--memory")
        self.play(Runner.named("second"), f"LockClientCases.{name}", endpoint)


for case in CASE.findall((java.FOLDER / "LockClientCases.java").read_text()):
    setattr(LockClient, f"test_{case}", lambda self, name=case: self.play_alone(name))


class LockHolders(Java):
    """Each holder is a separate process."""

    def setUp(self):
        super().setUp()
        self.daemon, self.endpoint = self.listen()
        self.first, self.second = Runner.named("first"), Runner.named("second")
        # Continues a stopped process, so that it is not stopped in other tests.
        self.addCleanup(self.first.process.send_signal, signal.SIGCONT)
        self.does(self.first, "makes_the_table")

    def does(self, holder, what):
        self.play(holder, f"LockHolder.{what}", self.endpoint)

    def test_the_lock_of_a_killed_process_is_taken_over(self):
        self.does(self.first, "takes_it")
        self.does(self.second, "is_refused")
        self.first.process.kill()
        self.does(self.second, "takes_it")
        self.does(self.second, "releases_it")

    def test_a_client_stopped_for_too_long_detects_that_it_has_lost_the_lock(self):
        self.does(self.first, "takes_it")
        self.first.process.send_signal(signal.SIGSTOP)
        self.does(self.second, "takes_it")
        self.first.process.send_signal(signal.SIGCONT)
        self.does(self.first, "has_lost_it")
        self.does(self.second, "has_it")
        self.does(self.second, "releases_it")

    def test_a_lock_outlives_the_daemon(self):
        self.does(self.first, "takes_it")
        self.daemon.kill()
        self.daemon.wait()
        wait_until(lambda: self.daemon_pid() is None, "the daemon is dead")
        _, endpoint = self.listen(place=self.endpoint.removeprefix("http://"))  # tidy: meant
        self.assertEqual(endpoint, self.endpoint)
        self.does(self.second, "is_refused")
        self.does(self.first, "has_it")
        self.does(self.first, "releases_it")
        self.does(self.second, "takes_it")
        self.does(self.second, "releases_it")


if __name__ == "__main__":
    tap.main()
