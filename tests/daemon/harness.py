"""The environment of a test: a folder, a daemon that is stopped at the end, and the program.

Tests do not sleep to let something happen: wait_until() polls until a condition is true, and fails
at its deadline.
"""

import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["ROCKLOCK_PROGRAM"]
# The time limit for operations without a guaranteed duration: the machine may be busy.
PATIENCE_S = 60
# Limits in milliseconds apply without a sanitizer; with one, they are multiplied by this factor.
SLOWNESS = float(os.environ.get("ROCKLOCK_SLOWNESS", "1"))


# Any client of DynamoDB's API signs its requests; the daemon does not check the signature.
SIGNATURE = ("Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
             "Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/local/dynamodb/aws4_request, SignedHeaders=host, "
             "Signature=a\r\n")

flag_numbers = itertools.count()


def wait_until(condition, what, patience_s=PATIENCE_S):
    """Returns the first true value of condition(). Fails if there is none in time."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience_s} s: {what}")
        time.sleep(0.002)


def alive(pid):
    """Returns whether a process exists and is not a zombie. Its main thread may be one while others
    still run.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


class Answer:
    def __init__(self, status, body):
        self.status = status
        self.body = body
        self.json = json.loads(body)

    @property
    def error(self):
        return self.json.get("__type", "").removeprefix("rocklock#")


class Connection:
    """An HTTP connection. If needed, a test can send single bytes."""

    def __init__(self, where, timeout_s=PATIENCE_S):
        """`where`: the path of a Unix socket, or a local port number."""
        tcp = isinstance(where, int)
        self.socket = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
        self.socket.settimeout(timeout_s)
        self.socket.connect(("127.0.0.1", where) if tcp else str(where))
        self.host = f"127.0.0.1:{where}" if tcp else "x"
        self.file = self.socket.makefile("rb")

    def send(self, verb, body, headers="", service="Rocklock_20261121"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.socket.sendall(
            f"POST / HTTP/1.1\r\nHost: {self.host}\r\nX-Amz-Target: {service}.{verb}\r\n{headers}"
            f"Content-Length: {len(data)}\r\n\r\n".encode() + data)

    def receive(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the daemon closed the connection")
        length = 0
        while (header := self.file.readline().strip()):
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return Answer(int(line.split()[1]), self.file.read(length))

    def call(self, verb, **members):
        self.send(verb, members)
        return self.receive()

    def send_tables(self, operation, members, grant=None):
        """Sends a request of DynamoDB's API, with the lock of a grant in the headers."""
        headers = SIGNATURE
        if grant is not None:
            headers += (f"X-Rocklock-Session: {grant['Session']}:{grant['Secret']}\r\n"
                        f"X-Rocklock-Token: {grant['Token']}\r\n")
        self.send(operation, members, headers, "DynamoDB_20120810")

    def call_tables(self, operation, members, grant=None):
        self.send_tables(operation, members, grant)
        return self.receive()

    def close(self):
        self.file.close()
        self.socket.close()


class Sandbox(unittest.TestCase):
    def setUp(self):
        # A short path, because the length of a socket's path is limited.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rl-", dir="/tmp"))
        # The directory of the private daemon, which only the configuration file determines.
        self.state = self.folder / str(os.getuid())
        self.socket = self.state / "rocklock.sock"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("ROCKLOCK_", "XDG_"))}
        # The program reports stores of earlier versions in the home directory.
        self.environment["HOME"] = str(self.folder / "home")
        # Keeps the test independent of configuration files in /etc, of installed units, and of
        # private daemons in home directories.
        self.configuration = self.folder / "rocklock.conf"
        # A `run` that is killed at the end of a test must not leave its command.
        self.configuration.write_text(f"manager = private\nprivate-directory = {self.folder}\non-death = kill\n")
        self.environment["ROCKLOCK_CONFIG"] = str(self.configuration)
        self.started = []
        self.connections = []

    def tearDown(self):
        for connection in self.connections:
            connection.close()
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.communicate()
        # If a client still ran, it would start another private daemon.
        self.stop_private_daemons()
        shutil.rmtree(self.folder)

    def assert_within(self, limit_s, measure):
        """Takes the best of three measurements, because other programs can only increase the
        time."""
        times = []
        while len(times) < 3 and not any(took < limit_s * SLOWNESS for took in times):
            times.append(measure())
        self.assertLess(min(times), limit_s * SLOWNESS, times)

    # ---- The program ----

    def rocklock(self, *words, **options):
        """Runs the program until it ends. `prefix`: the words of a command that runs the program."""
        environment = self.environment | options.pop("environment", {})
        return subprocess.run([*options.pop("prefix", ()), PROGRAM, *map(str, words)], env=environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              stdin=options.pop("stdin", subprocess.DEVNULL), **options)

    def start(self, *words, **options):
        """Starts the program, as rocklock() does. It is killed at the end of the test."""
        environment = self.environment | options.pop("environment", {})
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen([*options.pop("prefix", ()), PROGRAM, *map(str, words)], env=environment,
                                   cwd=self.folder, text=True, **options)
        self.started.append(process)
        return process

    def hold(self, resource, *options, command=("sleep", "1000"), **more):
        """Starts a `run` and waits until its command runs. `child` of the process is the pid of the
        command.
        """
        # A separate file per call, because several threads can call this at the same time.
        flag = self.folder / f"held-{next(flag_numbers)}"
        process = self.start("run", *options, resource, "--", "sh", "-c",
                             'echo $$ > "$0.new"; mv "$0.new" "$0"; exec "$@"', flag, *command, **more)
        wait_until(lambda: flag.exists() or process.poll() is not None, f"{resource} is held")
        if not flag.exists():
            raise AssertionError(f"run ended: {process.communicate()}")
        process.child = int(flag.read_text())
        return process

    def list(self, *words):
        return [json.loads(line) for line in self.rocklock("ls", "--json", *words).stdout.splitlines()]

    def show(self, resource):
        return json.loads(self.rocklock("show", "--json", resource).stdout)

    def wait_for_waiters(self, resource, count):
        wait_until(lambda: len(self.show(resource)["Waiters"]) == count,
                   f"{count} wait for {resource}")

    def acquire(self, resource, *options):
        """Acquires a lock. Returns the grant, and an environment with its credentials."""
        done = self.rocklock("acquire", "--json", resource, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        grant = json.loads(done.stdout)
        return grant, {"ROCKLOCK_SESSION": f"{grant['Session']}:{grant['Secret']}"}

    # ---- The daemon ----

    def serve(self, *options):
        """Starts a daemon in the foreground. Returns when it listens."""
        process = self.start("serve", *options)
        line = process.stderr.readline()
        self.assertIn("listening on", line, line + (process.stderr.read() if not line else ""))
        return process

    def daemon_pid(self):
        """Returns the pid of the daemon of this folder, or None."""
        try:
            pid = int((self.state / "rocklock.sock.lock").read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if alive(pid) else None

    def log(self):
        try:
            return (self.state / "daemon.log").read_text()
        except FileNotFoundError:
            return ""

    def stop_private_daemons(self):
        self.stop_daemon()

    def stop_daemon(self):
        pid = self.daemon_pid()
        if pid is None:
            return
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not alive(pid), "the daemon has left")

    def kill_daemon(self):
        pid = self.daemon_pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid), "the daemon is dead")

    def connect(self):
        connection = Connection(self.socket)
        self.connections.append(connection)
        return connection

    def api(self):
        """Starts a daemon in memory. Returns a connection to it."""
        self.state.mkdir(exist_ok=True)
        self.serve("--memory")
        return self.connect()
