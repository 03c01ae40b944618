"""A manager and a relay in two network namespaces, as on two hosts, with certificates."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import tap
from harness import PATIENCE_S, wait_until
from relayed import Relays, certificates, temporary_folder
from two_networks import TwoNetworks

SOURCE = pathlib.Path(__file__).resolve().parents[3]
KEYS = temporary_folder()
PORT = 7070


def tls(name):
    return ("--peer-cert", KEYS / f"{name}.pem", "--peer-key", KEYS / f"{name}.key", "--peer-ca", KEYS / "ca.pem")


class TwoHosts(Relays):
    @classmethod
    def setUpClass(cls):
        certificates(KEYS, "locks", "web1", "stranger")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(KEYS)

    def setUp(self):
        super().setUp()
        self.networks = TwoNetworks(self.folder, locks=0)
        self.addCleanup(self.networks.close)
        nodes = self.folder / "nodes"
        nodes.write_text("web1\n")
        self.main = self.manager("--peer-nodes", nodes, *tls("locks"), host="0.0.0.0", port=PORT,
                                 prefix=self.networks.on(0))

    def relay_here(self, *options, **more):
        return self.relay(f"locks:{PORT}", *options, prefix=self.networks.on(1), **more)

    def on_web(self, web, *words):
        """Runs the program on the host of the relay, with the relay as its daemon."""
        return self.rocklock(*words, prefix=self.networks.on(1), environment={"ROCKLOCK_SOCKET": str(web.socket)})

    def run_on_web(self, *words, **variables):
        return subprocess.run([*self.networks.on(1), *map(str, words)], capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S, env={**os.environ, **variables}, cwd=self.folder)

    def test_the_examples_of_the_readme(self):
        web = self.relay_here(*tls("web1"))
        readme = (SOURCE / "README.md").read_text(encoding="utf-8")
        job = re.search(r"\n    rocklock (run \S+ -- )\./report\.sh\n", readme).group(1).split()
        refused = re.search(r"\n    \$ rocklock (run --no-wait \S+ -- )\./report\.sh\n", readme).group(1).split()
        done = self.on_web(web, *job, "sh", "-c", "echo $ROCKLOCK_TOKEN")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout), 0)
        # The job runs on the host of the manager, and then on that of the relay.
        for holder, other in ((self.main, web), (web, self.main)):
            place = self.networks.on(0 if holder is self.main else 1)
            process = self.hold("nightly-report", "--socket", holder.socket, prefix=place)
            done = self.on_web(web, *refused, "true") if other is web else self.at(other, *refused, "true")
            self.assertEqual(done.returncode, 75, done.stderr)
            self.assertIn('not granted: "nightly-report" is held by', done.stderr)
            process.kill()
            wait_until(lambda: "nightly-report" not in self.resources(self.main), "it is released")
        self.assertEqual(self.on_web(web, "status").returncode, 0)

    def test_a_program_with_the_library(self):
        web = self.relay_here(*tls("web1"))
        done = self.run_on_web(os.environ["ROCKLOCK_LIBRARY_CLIENT"], web.socket)
        self.assertEqual((done.returncode, done.stdout), (0, "locks\nsets\nguarded writes\n"), done.stderr)

    def test_an_sdk(self):
        web = self.relay_here("--http", "127.0.0.1:8000", *tls("web1"))
        program = [sys.executable, SOURCE / "docs/examples/account.py", "http://127.0.0.1:8000"]
        done = self.run_on_web(*program, "open", "ann", "100", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.run_on_web(*program, "withdraw", "ann", "30").returncode, 0)
        done = self.run_on_web(*program, "show", "ann")
        self.assertIn("70", done.stdout)
        web.stop(15)

    def test_a_relay_without_a_certificate_does_not_start(self):
        done = self.rocklock("serve", "--relay", f"locks:{PORT}", prefix=self.networks.on(1))
        self.assertEqual((done.returncode, "needs a certificate" in done.stderr), (64, True), done.stderr)

    def test_every_call_is_refused_if_the_certificate_is_not_permitted(self):
        web = self.relay_here("--relay-timeout", "100ms", *tls("stranger"), connected=False)
        self.main.wait_for("stranger")
        web.wait_for("stranger")
        for words in (("run", "--patience", "1s", "a", "--", "true"), ("ls",), ("sessions",), ("acquire", "a"),
                      ("class", "ls")):
            done = self.on_web(web, *words)
            self.assertEqual(done.returncode, 69, (words, done.stdout, done.stderr))
            self.assertIn(f"the relay cannot connect to the manager locks:{PORT}: ", done.stderr)
            self.assertIn("stranger", done.stderr)
            self.assertNotIn("start it", done.stderr)
        self.assertEqual(self.resources(self.main), [])


if __name__ == "__main__":
    tap.main()
