"""A node in the unit rocklock.service: with the options, the socket and the directories that systemd
gives it, and with its settings in the configuration file."""

import contextlib
import pathlib
import re
import signal
import socket
import subprocess
import time

import tap
from cluster import Cluster
from harness import PATIENCE_S, PROGRAM, SLOWNESS, Connection
from relayed import free_port

UNIT = pathlib.Path(__file__).parents[3] / "daemon/systemd/rocklock.service.in"
# Passes descriptor 0 on as the first of LISTEN_FDS, with its own process id as LISTEN_PID.
PASS = 'exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"'


class Unit(Cluster):
    def setUp(self):
        super().setUp()
        text = UNIT.read_text(encoding="utf-8")
        self.words = re.search(r"(?m)^ExecStart=@program@ (.*)$", text).group(1).split()
        self.stop_time_s = int(re.search(r"(?m)^TimeoutStopSec=(\d+)$", text).group(1))
        self.directory = self.folder / "lib"
        (self.directory / "backups").mkdir(parents=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / "passed.sock"))
        self.listener.listen(64)
        self.addCleanup(self.listener.close)
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.bind(str(self.folder / "notify"))
        self.notified.settimeout(PATIENCE_S)
        self.addCleanup(self.notified.close)

    def start_unit(self):
        """Starts the command of the unit, with the settings of docs/cluster.md."""
        configuration = self.folder / "node.conf"
        configuration.write_text(f"socket = {self.folder}/passed.sock\nstore = {self.url}\nnode = n1\n"
                                 f"peer-listen = 127.0.0.1:{free_port()}\nlead-ttl = 2s\n"
                                 f"etcd-quota = 8589934592\ncopy = {self.directory}\n")
        environment = self.environment | {
            "ROCKLOCK_CONFIG": str(configuration), "NOTIFY_SOCKET": str(self.folder / "notify"),
            "WATCHDOG_USEC": "300000", "STATE_DIRECTORY": f"{self.directory}:{self.directory}/backups"}
        process = subprocess.Popen(["sh", "-c", PASS, PROGRAM, *self.words], stdin=self.listener.fileno(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
                                   cwd=self.folder)
        self.started.append(process)
        return process

    def receive(self, *lines):
        """Waits for messages to the service manager that contain these lines, in this order."""
        for line in lines:
            while line not in self.notified.recv(4096).decode().splitlines():
                pass

    def call(self, verb="Ping", **members):
        connection = Connection(self.folder / "passed.sock")
        with contextlib.closing(connection):
            return connection.call(verb, **members)

    def test_serves_the_passed_socket_and_stops_in_order(self):
        self.etcd()
        process = self.start_unit()
        self.receive("READY=1", "WATCHDOG=1", "WATCHDOG=1")
        answer = self.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}], LeaseMs=60_000)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertTrue((self.directory / "etcd-copy").is_dir())
        self.assertFalse((self.directory / "db").exists())
        process.terminate()
        self.receive("STOPPING=1")
        self.assertEqual(process.wait(self.stop_time_s * SLOWNESS), 0, process.stderr.read())
        # The next process gets the same socket, and continues with the same locks.
        self.start_unit()
        self.receive("READY=1")
        locks = self.call("ListLocks").json
        self.assertIn('"a"', str(locks).replace("'", '"'))

    def test_waits_for_etcd_and_then_serves(self):
        self.etcd()
        self.members[0].kill()
        process = self.start_unit()
        self.receive("STATUS=waiting for etcd", "WATCHDOG=1", "WATCHDOG=1")
        self.members[0].start()
        self.receive("STATUS=serving locks", "WATCHDOG=1")
        self.assertEqual(self.call().status, 200)
        process.terminate()
        self.assertEqual(process.wait(self.stop_time_s * SLOWNESS), 0)

    def test_stops_in_time_if_etcd_does_not_answer(self):
        self.etcd()
        process = self.start_unit()
        self.receive("STATUS=serving locks")
        self.members[0].process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        process.terminate()
        process.wait(PATIENCE_S)
        took = time.monotonic() - began
        print(f"# stopped after {took:.1f} s", flush=True)
        self.assertLess(took, self.stop_time_s * SLOWNESS)

    def test_is_ordered_after_etcd(self):
        self.assertRegex(UNIT.read_text(encoding="utf-8"), r"(?m)^After=(.* )?etcd\.service( |$)")


if __name__ == "__main__":
    tap.main()
