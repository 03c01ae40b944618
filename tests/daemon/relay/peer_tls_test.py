"""The certificates of relays and managers, and the file with the nodes."""

import json
import pathlib
import shutil
import signal
import subprocess

import tap
from harness import wait_until
from relayed import Relays, certificates, temporary_folder

KEYS = temporary_folder()


def tls(name, folder=KEYS):
    return ("--peer-cert", folder / f"{name}.pem", "--peer-key", folder / f"{name}.key", "--peer-ca",
            folder / "ca.pem")


class Certificates(Relays):
    @classmethod
    def setUpClass(cls):
        certificates(KEYS, "locks", "web1", "web2", "stranger")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(KEYS)

    def start_manager(self, nodes="web1\nweb2 certificate=web2\n", name="locks"):
        file = self.folder / "nodes"
        file.write_text(nodes)
        return self.manager("--peer-nodes", file, *tls(name))

    def relay_to(self, main, *options, host="localhost", **more):
        port = main.peer.rpartition(":")[2]
        return self.relay(f"{host}:{port}", *options, **more)

    def assert_refused(self, main, relay, reason, by_manager=None):
        relay.wait_for(reason)
        if by_manager:
            main.wait_for(by_manager)
        relay.stop(signal.SIGTERM)

    def test_the_certificate_determines_the_node(self):
        main = self.start_manager()
        # The name that the relay gives itself is not used.
        web = self.relay_to(main, *tls("web2"), node="other")
        self.assertEqual(self.at(web, "acquire", "a", "--lease", "1m").returncode, 0)
        self.assertIn('"Node":"web2"', self.at(main, "sessions", "--json").stdout)

    def test_the_manager_is_identified_by_its_address(self):
        main = self.start_manager(name="web1")
        web = self.relay_to(main, *tls("web2"), host="127.0.0.1")
        web.stop(signal.SIGTERM)
        main.stop(signal.SIGTERM)
        openssl = ["openssl", "x509", "-req", "-in", "locks.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "5"]
        subprocess.run([*openssl, "-out", "nameless.pem"], cwd=KEYS, check=True, capture_output=True)
        (KEYS / "nameless.key").write_bytes((KEYS / "locks.key").read_bytes())
        nameless = self.start_manager(name="nameless")
        self.assert_refused(nameless, self.relay_to(nameless, *tls("web2"), connected=False), "ismatch")

    def test_a_relay_without_a_certificate_is_refused(self):
        main = self.start_manager()
        self.assert_refused(main, self.relay_to(main, connected=False), "certificate required",
                            "did not return a certificate")

    def test_a_certificate_of_another_authority_is_refused(self):
        other = self.folder / "other"
        certificates(other, "web1")
        main = self.start_manager()
        files = ("--peer-cert", other / "web1.pem", "--peer-key", other / "web1.key", "--peer-ca", KEYS / "ca.pem")
        self.assert_refused(main, self.relay_to(main, *files, connected=False), "unknown ca",
                            "unable to get local issuer")
        # The relay does not trust such a manager either.
        self.assert_refused(main, self.relay_to(main, *tls("web1", other), connected=False),
                            "certificate")

    def test_an_expired_certificate_is_refused(self):
        subprocess.run(["openssl", "x509", "-req", "-in", "web1.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days",
                        "-1", "-out", "old.pem"], cwd=KEYS, check=True, capture_output=True)
        (KEYS / "old.key").write_bytes((KEYS / "web1.key").read_bytes())
        main = self.start_manager()
        self.assert_refused(main, self.relay_to(main, *tls("old"), connected=False), "expired", "has expired")

    def test_a_node_that_is_not_in_the_file_is_refused(self):
        main = self.start_manager()
        self.assert_refused(main, self.relay_to(main, *tls("stranger"), connected=False),
                            "the file peer-nodes has no node with a name of the relay's certificate",
                            "which is for 'stranger'")

    def test_a_node_may_use_only_its_resources(self):
        main = self.start_manager("web1 resources=orders/,stock/\n")
        web = self.relay_to(main, *tls("web1"))
        lost = self.at(main, "acquire", "payments/7", "--principal", "ann", "--lease", "100ms", "--json")
        grant = json.loads(lost.stdout)["Grant"]
        wait_until(lambda: self.resources(main) == [], "it has expired")
        # All clients may steal and break locks of this class, but not those of this node.
        right = ("--steal", "anyone", "--break-by", "node:web1")
        self.assertEqual(self.at(main, "class", "put", "payments/*", *right).stderr, "")
        self.assertEqual(self.at(web, "status").returncode, 0)
        self.assertEqual(self.at(web, "acquire", "orders/1", "--lease", "1m").returncode, 0)
        self.assertEqual(self.at(web, "ls", "orders/").returncode, 0)
        for words in (("acquire", "payments/1"), ("acquire", "orders"), ("ls",), ("ls", "pay"), ("show", "payments/1"),
                      ("acquire", "orders/2", "payments/1"), ("history", "payments/1"), ("waits",), ("outliers",), ("sessions",), ("class", "ls"),
                      ("audit",), ("break", grant, "--reason", "x"), ("steal", grant, "--reason", "x"),
                      ("reacquire", grant, "--principal", "ann")):
            done = self.at(web, *words)
            self.assertEqual(done.returncode, 77, (words, done.stderr))
            self.assertIn("orders/, stock/", done.stderr)
        self.assertEqual(self.resources(main), ["orders/1"])
        get = ("curl", "-s", "-m", "20", "-w", "\n%{http_code}", "--unix-socket", web.socket)
        for path in ("/metrics", "/locks"):
            done = subprocess.run([*get, f"http://localhost{path}"], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.splitlines()[-1], "404", path)
        events = subprocess.run([*get, "http://localhost/events?prefix=payments/"], capture_output=True, text=True,
                                check=True).stdout
        self.assertIn("event: end\ndata: {\"__type\":\"rocklock#AccessDeniedException\"", events)
        self.assertEqual(events.count("event: "), 1, events)

    def test_a_node_may_have_no_right_to_lock_or_to_use_tables(self):
        main = self.start_manager("web1 rights=tables\nweb2 rights=locks\n")
        done = self.at(self.relay_to(main, *tls("web1")), "acquire", "a")
        self.assertEqual(done.returncode, 77, done.stderr)
        web = self.relay_to(main, *tls("web2"), node="web2")
        self.assertEqual(self.at(web, "acquire", "a").returncode, 0)
        # Requests for tables are refused, as an operation that this daemon does not have.
        status, body = self.post(web, "DynamoDB_20120810.ListTables")
        self.assertEqual((status, "ListTables" in body), (400, True), body)
        status, body = self.post(self.relay_to(main, *tls("web1"), node="other"), "DynamoDB_20120810.ListTables")
        self.assertEqual((status, json.loads(body)), (200, {"TableNames": []}))

    def post(self, daemon, operation):
        signature = ("AWS4-HMAC-SHA256 Credential=ann/20261126/local/dynamodb/aws4_request, "
                     "SignedHeaders=host;x-amz-date, Signature=0")
        done = subprocess.run(["curl", "-s", "--unix-socket", daemon.socket, "-H", f"X-Amz-Target: {operation}", "-H",
                               "Content-Type: application/x-amz-json-1.0", "-H", f"Authorization: {signature}", "-H",
                               "X-Amz-Date: 20261126T000000Z", "-d", "{}", "-w", "\n%{http_code}",
                               "http://localhost/"], capture_output=True, text=True, check=True)
        body, _, status = done.stdout.rpartition("\n")
        return int(status), body

    # The certificate is valid, but it does not say for which node.
    def test_a_certificate_without_a_name_permits_no_node(self):
        openssl = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/O=shop",
                   "-keyout", "unnamed.key", "-out", "unnamed.csr"]
        subprocess.run(openssl, cwd=KEYS, check=True, capture_output=True)
        subprocess.run(["openssl", "x509", "-req", "-in", "unnamed.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "5",
                        "-out", "unnamed.pem"], cwd=KEYS, check=True, capture_output=True)
        main = self.start_manager()
        self.assert_refused(main, self.relay_to(main, *tls("unnamed"), node="web1", connected=False),
                            "the file peer-nodes has no node with a name of the relay's certificate")

    def test_invalid_files_are_64(self):
        nodes = self.folder / "nodes"
        for text, reason in (("web1\nweb1\n", "line 2: the certificate web1 is already"), ("a b c\n", "must have the form"),
                             ("web1 colour=red\n", "unknown member 'colour'"), ("web/1\n", "is not a name of a node"),
                             ("web1 rights=all\n", "unknown right 'all'"), ("# none\n", "contains no node")):
            nodes.write_text(text)
            done = self.rocklock("serve", "--memory", "--peer-listen", "127.0.0.1:0", "--peer-nodes", nodes, *tls("locks"))
            self.assertEqual((done.returncode, reason in done.stderr), (64, True), done.stderr)
        for files, reason in ((tls("missing"), "missing.pem cannot be used: No such file"),
                              (tls("locks")[:2], "must be given together"),
                              ((*tls("locks")[:2], *tls("web1")[2:]), "key values mismatch")):
            nodes.write_text("web1\n")
            done = self.rocklock("serve", "--memory", "--peer-listen", "127.0.0.1:0", "--peer-nodes", nodes, *files)
            self.assertEqual((done.returncode, reason in done.stderr), (64, True), done.stderr)
        done = self.rocklock("serve", "--memory", "--peer-listen", "127.0.0.1:0", *tls("locks"))
        self.assertIn("peer-nodes is not set", done.stderr)
        done = self.rocklock("serve", "--memory", "--peer-listen", "127.0.0.1:0", "--peer-nodes", self.folder,
                             *tls("locks"))
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn(f"peer-nodes: the file {self.folder} cannot be read: Is a directory", done.stderr)

    def test_the_commands_of_the_page_make_valid_certificates(self):
        page = pathlib.Path(__file__).parents[3] / "docs/several_hosts.md"
        text = page.read_text(encoding="utf-8").partition("**1. Certificates.**")[2].partition("**2. The manager.**")[0]
        blocks = "\n".join(line[4:] if line.startswith("    ") else "" for line in text.splitlines())
        self.assertEqual(blocks.count("openssl "), 3)
        authority, _, node = blocks.partition("node=")
        script = authority + "".join(f"node={name}\n" + node.partition("\n")[2]
                                     for name in ("locks.example.org", "web1", "web2"))
        subprocess.run(["sh", "-ec", script], cwd=self.folder, check=True, capture_output=True)
        for name in ("locks.example.org", "web1", "web2"):
            done = subprocess.run(["openssl", "verify", "-CAfile", "ca.pem", "-verify_hostname", name, f"{name}.pem"],
                                  cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    tap.main()
