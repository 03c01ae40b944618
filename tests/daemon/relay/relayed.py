"""A manager and relays, each in a daemon of its own, and certificates for them."""

import contextlib
import pathlib
import random
import re
import socket
import subprocess
import tempfile

from harness import Sandbox, wait_until


def certificates(folder, *nodes):
    """Makes an authority and a certificate for each node with the commands of docs/several_hosts.md.
    """
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    folder.mkdir(exist_ok=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
            "-subj", "/CN=locks-ca", "-keyout", "ca.key", "-out", "ca.pem")
    for node in nodes:
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={node}",
                "-keyout", f"{node}.key", "-out", f"{node}.csr")
        (folder / f"{node}.ext").write_text(f"subjectAltName=DNS:{node},DNS:localhost,IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", f"{node}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "365", "-extfile", f"{node}.ext", "-out", f"{node}.pem")


class Daemon:
    """A daemon with its log."""

    def __init__(self, process, log, path):
        self.process = process
        self.log_file = log
        self.socket = path

    def log(self):
        return self.log_file.read_text()

    def wait_for(self, text):
        wait_until(lambda: text in self.log() or self.process.poll() is not None, text)
        if text not in self.log():
            raise AssertionError(self.log())

    def wait_for_more(self, text, count):
        """Waits until the log contains the text more than `count` times."""
        wait_until(lambda: self.log().count(text) > count, text)

    def address(self, name):
        """Returns the address that a line of the log names."""
        found = wait_until(lambda: re.search(rf"{name} (\S+)", self.log()), name)
        return found.group(1)

    def stop(self, number):
        self.process.send_signal(number)
        self.process.wait()


class Relays(Sandbox):
    """Tests start a manager with manager(), and relays with relay()."""

    def setUp(self):
        super().setUp()
        self.count = 0

    def daemon(self, name, *options, **more):
        self.count += 1
        log = self.folder / f"{name}-{self.count}.log"
        with open(log, "w", encoding="utf-8") as out:
            process = self.start("serve", "--socket", self.folder / f"{name}.sock", *options, stderr=out, **more)
        return Daemon(process, log, self.folder / f"{name}.sock")

    def manager(self, *options, host="127.0.0.1", port=0, store=("--memory",), **more):
        manager = self.daemon("manager", *store, "--peer-listen", f"{host}:{port}", *options, **more)
        manager.peer = manager.address("listening for relays on")
        manager.wait_for("the store is open")
        return manager

    def relay(self, address, *options, node="web1", connected=True, **more):
        relay = self.daemon(node, "--relay", address, "--node", node, *options, **more)
        relay.wait_for("relaying clients")
        if connected:
            relay.wait_for("connected to the manager")
        return relay

    def at(self, daemon, *words, **options):
        """Runs the program as a client of the daemon."""
        environment = {"ROCKLOCK_SOCKET": str(daemon.socket), **options.pop("environment", {})}
        return self.rocklock(*words, environment=environment, **options)

    def resources(self, daemon):
        return sorted(line.split()[0] for line in self.at(daemon, "ls").stdout.splitlines()[1:])


def free_port():
    """Returns a port on which no program listens. The system gives no port of this range to an
    outgoing connection, so that a daemon that was killed can listen on it again."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def temporary_folder():
    return pathlib.Path(tempfile.mkdtemp(prefix="rl-", dir="/tmp"))
