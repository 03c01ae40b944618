"""The daemon's messages to a service manager, and the settings and sockets that it takes from
it."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import tap
from harness import PATIENCE_S, PROGRAM, Connection, Sandbox, wait_until

UNITS = pathlib.Path(__file__).resolve().parents[3] / "daemon" / "systemd"
LOCK = {"Principal": "ann", "Locks": [{"Resource": "a"}]}

# Passes descriptor 0 on as the first of LISTEN_FDS, with its own process id as LISTEN_PID.
PASS = 'exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"'


class Notifying(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()
        self.heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.heard.settimeout(PATIENCE_S)
        self.addCleanup(self.heard.close)

    def start_notifying(self, address, **more):
        self.heard.bind(address.replace("@", "\0"))
        return self.start("serve", "--memory", environment={"NOTIFY_SOCKET": address, **more})

    def words(self):
        return self.heard.recv(4096).decode().splitlines()

    def test_ready_and_stopping(self):
        process = self.start_notifying(str(self.folder / "notify"))
        self.assertIn("READY=1", self.words())
        # All sockets listen by now.
        self.assertEqual(self.connect().call("Ping").status, 200)
        process.terminate()
        self.assertEqual(self.words(), ["STOPPING=1"])
        self.assertEqual(process.wait(60), 0)

    def test_an_abstract_socket(self):
        self.start_notifying(f"@rocklock-test-{os.getpid()}")
        self.assertIn("READY=1", self.words())

    def test_a_daemon_that_cannot_listen_does_not_report_readiness(self):
        self.heard.settimeout(0.2)
        self.socket.write_text("no socket")
        process = self.start_notifying(str(self.folder / "notify"))
        self.assertEqual(process.wait(60), 64)
        with self.assertRaises(TimeoutError):
            self.heard.recv(4096)

    def test_a_notify_socket_without_a_reader_does_not_delay_the_daemon(self):
        self.heard.close()
        process = self.start("serve", "--memory", environment={"NOTIFY_SOCKET": str(self.folder / "nobody")})
        self.assertIn("listening on", process.stderr.readline())
        self.assertEqual(self.connect().call("Ping").status, 200)

    def test_the_watchdog_is_notified(self):
        self.start_notifying(str(self.folder / "notify"), WATCHDOG_USEC="60000")
        seen = []
        while len(seen) < 6:
            seen += self.words()
        self.assertGreaterEqual(seen.count("WATCHDOG=1"), 4)

    def test_a_stopped_daemon_does_not_notify_the_watchdog(self):
        process = self.start_notifying(str(self.folder / "notify"), WATCHDOG_USEC="60000")
        while "WATCHDOG=1" not in self.words():
            pass
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "T", "it stands")
        self.heard.settimeout(0.3)
        try:
            while True:
                self.heard.recv(4096)
        except TimeoutError:
            pass

    def test_the_watchdog_of_another_process_is_ignored(self):
        self.start_notifying(str(self.folder / "notify"), WATCHDOG_USEC="1000", WATCHDOG_PID="1")
        self.assertIn("READY=1", self.words())
        self.assertEqual(self.connect().call("Ping").status, 200)
        self.heard.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            self.heard.recv(4096)


class Activated(Sandbox):
    def listener(self, family=socket.AF_UNIX, address=None):
        listener = socket.socket(family)
        listener.bind(address or str(self.folder / "passed.sock"))
        listener.listen(64)
        self.addCleanup(listener.close)
        return listener

    def start_with(self, listener, *options):
        process = subprocess.Popen(["sh", "-c", PASS, PROGRAM, "serve", "--memory", *options],
                                   stdin=listener.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.environment, cwd=self.folder)
        self.started.append(process)
        return process

    def call(self, verb="Ping", **members):
        connection = Connection(self.folder / "passed.sock")
        try:
            return connection.call(verb, **members)
        finally:
            connection.close()

    def test_a_passed_socket_is_used_and_not_removed(self):
        listener = self.listener()
        # A client that connects before the daemon runs is answered by the daemon later.
        early = Connection(self.folder / "passed.sock")
        self.connections.append(early)
        early.send("Ping", {})
        process = self.start_with(listener)
        self.assertIn(f"listening on {self.folder}/passed.sock", process.stderr.readline())
        self.assertEqual(early.receive().status, 200)
        self.assertEqual(self.call("Acquire", **LOCK).status, 200)
        self.assertFalse(self.socket.exists())
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        # The next daemon inherits the same socket.
        late = Connection(self.folder / "passed.sock")
        self.connections.append(late)
        late.send("Ping", {})
        self.start_with(listener)
        self.assertEqual(late.receive().status, 200)

    def test_a_passed_tcp_socket_in_addition_to_http(self):
        listener = self.listener(socket.AF_INET, ("127.0.0.1", 0))
        self.state.mkdir()
        process = self.start_with(listener)
        lines = [process.stderr.readline() for _ in range(2)]
        self.assertIn(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", "".join(lines))
        self.assertEqual(self.connect().call("Ping").status, 200)
        self.assertEqual(Connection(self.socket).call("Ping").status, 200)

    def test_a_socket_that_other_machines_can_reach_is_refused(self):
        process = self.start_with(self.listener(socket.AF_INET, ("0.0.0.0", 0)))
        self.assertEqual(process.wait(60), 64)
        self.assertIn("other machines", process.stderr.read())

    def test_a_socket_that_does_not_listen_is_refused(self):
        idle = socket.socket(socket.AF_UNIX)
        self.addCleanup(idle.close)
        process = self.start_with(idle)
        self.assertEqual(process.wait(60), 64)
        self.assertIn("does not listen", process.stderr.read())

    def test_sockets_for_another_process_are_ignored(self):
        self.state.mkdir()
        process = self.start("serve", "--memory", environment={"LISTEN_FDS": "1", "LISTEN_PID": "1"})
        self.assertIn(f"listening on {self.socket}", process.stderr.readline())


class Units(Sandbox):
    def test_they_are_valid_for_systemd(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        for name in ("rocklock.socket", "rocklock.service"):
            unit = UNITS / name
            text = (unit if unit.exists() else unit.with_name(name + ".in")).read_text()
            (self.folder / name).write_text(text.replace("@program@", PROGRAM))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", self.folder / "rocklock.service",
                               self.folder / "rocklock.socket"], capture_output=True, text=True, timeout=60,
                              check=False)
        complaints = [line for line in done.stderr.splitlines() if "rocklock" in line]
        self.assertEqual((done.returncode, complaints), (0, []), done.stderr)

    def test_systemd_restarts_the_service_for_as_long_as_it_fails(self):
        text = (UNITS / "rocklock.service.in").read_text()
        unit, service = text.split("[Service]")
        self.assertRegex(unit, r"(?m)^StartLimitIntervalSec=0$")
        self.assertRegex(service, r"(?m)^Restart=on-failure$")

    def test_the_unit_permits_writes_to_the_backup_directory(self):
        text = (UNITS / "rocklock.service.in").read_text()
        names = re.search(r"^StateDirectory=(.*)$", text, re.MULTILINE).group(1).split()
        self.assertEqual(names, ["rocklock", "rocklock/backups"])
        # In the form in which systemd creates and passes them.
        places = [self.folder / "lib" / name for name in names]
        for place in places:
            place.mkdir(parents=True)
        self.state.mkdir()
        daemon = self.start("serve", environment={"STATE_DIRECTORY": ":".join(map(str, places))})
        self.assertIn("listening on", daemon.stderr.readline())
        self.assertEqual(self.connect().call("Acquire", **LOCK).status, 200)
        done = self.rocklock("db", "backup", places[1] / "first")
        self.assertEqual(done.returncode, 0, done.stderr)
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0)
        store = places[0] / "db"
        store.rename(places[0] / "db.lost")
        done = self.rocklock("db", "restore", places[1] / "first", "--db", store)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rocklock("db", "check", "--db", store).returncode, 0)

    def test_options_of_the_service_are_options_of_serve(self):
        text = (UNITS / "rocklock.service.in").read_text()
        command = re.search(r"^ExecStart=@program@ (.*)$", text, re.MULTILINE).group(1).split()
        done = self.rocklock(*command, "--print-config", environment={
            "STATE_DIRECTORY": "/var/lib/rocklock", "RUNTIME_DIRECTORY": "/run/rocklock"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("socket = /run/rocklock/rocklock.sock", done.stdout)
        self.assertIn("db = /var/lib/rocklock/db", done.stdout)
        self.assertIn("ListenStream=/run/rocklock/rocklock.sock", (UNITS / "rocklock.socket").read_text())


if __name__ == "__main__":
    tap.main()
