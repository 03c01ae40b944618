"""The daemon in a container: other hosts use the DynamoDB API, and the lock API with a secret."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import tap
from harness import PATIENCE_S, PROGRAM, Sandbox, wait_until
from http_test import TcpSandbox
from two_networks import TwoNetworks

SOURCE = pathlib.Path(__file__).resolve().parents[3]
# The headers of a request of an SDK.
LIST_TABLES = {
    "X-Amz-Target": "DynamoDB_20120810.ListTables",
    "X-Amz-Date": "20260101T000000Z",
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/local/dynamodb/aws4_request, SignedHeaders=host, "
                     "Signature=0",
}
SECRET = "a1b2c3d4e5f6a7b8c9d0"
# A client that knows only the endpoint, like any program that uses DynamoDB.
CLIENT = """
import sys
import boto3
tables = boto3.resource("dynamodb", endpoint_url=sys.argv[1], region_name="local", aws_access_key_id="any",
                        aws_secret_access_key="any")
table = tables.create_table(TableName="orders", BillingMode="PAY_PER_REQUEST",
                            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}])
table.wait_until_exists()
table.put_item(Item={"id": "42", "text": "five chairs"})
print(table.get_item(Key={"id": "42"})["Item"]["text"])
"""


class AcceptedHosts(TcpSandbox):
    def status(self, port, host, target="/healthz"):
        return self.web(port).ask("GET", target, {"Host": host})

    def test_names_are_accepted_in_addition_to_those_of_the_machine(self):
        port = self.serve_tcp("--accept-host", "locks.example", "--accept-host", "Other")
        for host in ("locks.example", "LOCKS.example:80", f"other:{port}", "localhost", "127.0.0.1"):
            self.assertEqual(self.status(port, host).status, 200, host)
        for host in ("evil.example", "sub.locks.example", "10.1.2.3", "locks.example.", ""):
            answer = self.status(port, host)
            self.assertEqual((answer.status, answer.error), (403, "AccessDeniedException"), host)
            self.assertIn("or locks.example, or Other", answer.text)
            self.assertIn("--accept-host", answer.text)

    def test_a_page_of_another_site_is_refused_with_an_accepted_name(self):
        port = self.serve_tcp("--accept-host", "locks.example")
        answer = self.web(port).ask("GET", "/metrics", {"Host": "locks.example", "Origin": "http://evil.example"})
        self.assertEqual(answer.status, 403, answer.text)

    def test_names_with_more_than_a_name_are_64(self):
        for name in ("http://locks.example", "locks.example:8000", "locks/x"):
            done = self.rocklock("serve", "--memory", "--accept-host", name)
            self.assertEqual((done.returncode, "write only the name of a host" in done.stderr), (64, True), done.stderr)

    def test_names_can_be_in_the_configuration(self):
        self.environment["ROCKLOCK_ACCEPT_HOST"] = "one, two"
        port = self.serve_tcp()
        self.assertEqual([self.status(port, host).status for host in ("one", "two", "three")], [200, 200, 403])


class Container(TcpSandbox):
    def list_tables(self, port, **headers):
        return self.web(port).ask("POST", "/", {**LIST_TABLES, **headers}, b"{}")

    def test_an_ip_address_is_accepted_as_host(self):
        port = self.serve_tcp("--container")
        for host in ("10.1.2.3", "10.1.2.3:8000", "[fd00::1]:8000", "localhost"):
            answer = self.list_tables(port, Host=host)
            self.assertEqual((answer.status, json.loads(answer.text)), (200, {"TableNames": []}), host)
        self.assertEqual(self.list_tables(port, Host="locks.example").status, 403)

    def test_only_tables_and_health_are_offered_without_a_secret(self):
        port = self.serve_tcp("--container")
        self.assertEqual(self.web(port).ask("GET", "/healthz").status, 200)
        for method, target in (("GET", "/readyz"), ("HEAD", "/healthz"), ("HEAD", "/readyz")):
            self.assertEqual(self.web(port).ask(method, target).status, 200, (method, target))
        requests = [("GET", "/"), ("GET", "/page.js"), ("GET", "/metrics"), ("GET", "/readyz?x"), ("GET", "/events"),
                    ("HEAD", "/metrics"), ("POST", "/metrics"), ("POST", "/healthz")]
        for method, target in requests:
            for headers in ({}, LIST_TABLES):
                answer = self.web(port).ask(method, target, headers)
                self.assertEqual(answer.status, 403, (method, target, headers))
        answer = self.web(port).call("OpenSession", {"Principal": "ann"}, Authorization="Bearer ")
        self.assertEqual((answer.status, answer.error), (403, "AccessDeniedException"))
        self.assertIn("--http-secret-file", answer.text)
        self.assertEqual(self.web().call("OpenSession", {"Principal": "ann"}).status, 200)

    def test_the_lock_api_needs_the_secret(self):
        file = self.folder / "secret"
        file.write_text(SECRET + "\n")
        for options in ((), ("--container",)):
            port = self.serve_tcp("--http-secret-file", file, *options)
            for headers in ({}, {"Authorization": SECRET}, {"Authorization": f"Bearer {SECRET}x"},
                            {"Authorization": f"Bearer {SECRET[:-1]}x"}, {"Authorization": "Bearer"}):
                answer = self.web(port).call("OpenSession", {"Principal": "ann"}, **headers)
                self.assertEqual((answer.status, answer.error), (403, "AccessDeniedException"), headers)
                self.assertIn("Authorization: Bearer SECRET", answer.text)
                self.assertNotIn(SECRET, answer.text)
                self.assertEqual(self.web(port).ask("GET", "/metrics", headers).status, 403)
            right = {"Authorization": f"Bearer {SECRET}"}
            self.assertEqual(self.web(port).call("OpenSession", {"Principal": "ann"}, **right).status, 200)
            for target in ("/", "/page.js", "/metrics", "/healthz"):
                self.assertEqual(self.web(port).ask("GET", target, right).status, 200, target)
            self.assertEqual(self.web(port).ask("GET", "/metrics", {"Authorization": f"bearer {SECRET}"}).status, 200)
            self.assertEqual(self.list_tables(port).status, 200)
            self.assertEqual(self.web().ask("GET", "/metrics").status, 200)
            self.stop_daemon()

    def test_an_invalid_secret_is_refused(self):
        file = self.folder / "secret"
        for text, reason in (("short\n", "is too short"), ("x" * 600, "is too long"), ("", "is too short"),
                             ("two words of a secret", "contains a character that is not allowed")):
            file.write_text(text)
            done = self.rocklock("serve", "--memory", "--http-secret-file", file)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn(f"the secret in {file} {reason}", done.stderr)
            self.assertIn("openssl rand -hex 32", done.stderr)
        done = self.rocklock("serve", "--memory", "--http-secret-file", self.folder / "absent")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn(f"the file {self.folder / 'absent'} cannot be read: No such file or directory", done.stderr)

    def test_other_addresses_need_the_option(self):
        done = self.rocklock("serve", "--memory", "--http", "0.0.0.0:0")
        self.assertEqual((done.returncode, "can be reached from other machines" in done.stderr), (64, True))
        self.assertIn("--container", done.stderr)
        process = self.start("serve", "--memory", "--container", "--http", "0.0.0.0:0")
        lines = [process.stderr.readline() for _ in range(2)]
        self.assertIn("listening on http://0.0.0.0:", "".join(lines))

    def test_the_settings_show_the_default_address(self):
        shown = self.rocklock("serve", "--container", "--print-config").stdout
        self.assertRegex(shown, r"\ncontainer = yes +# the command line\n")
        self.assertRegex(shown, r"\nhttp = 0\.0\.0\.0:8000 +# default\n")
        shown = self.rocklock("serve", "--print-config").stdout
        self.assertRegex(shown, r"\ncontainer = no +# default\nhttp =  +# default\n")

    def test_a_relay_refuses_the_options(self):
        for words in (("--container",), ("--accept-host", "a"), ("--http-secret-file", "/dev/null")):
            done = self.rocklock("serve", "--relay", "127.0.0.1:7", *words)
            self.assertEqual((done.returncode, f"{words[0]} has no effect on it" in done.stderr), (64, True))
        # From other sources as well, because its port would not be protected.
        for name in ("ROCKLOCK_ACCEPT_HOST", "ROCKLOCK_HTTP_SECRET_FILE"):
            done = self.rocklock("serve", "--relay", "127.0.0.1:7", "--http", "127.0.0.1:0", environment={name: "x"})
            self.assertEqual((done.returncode, "a relay does not check requests" in done.stderr), (64, True), done.stderr)


class Image(Sandbox):
    """The files of the image, in a chroot without anything else."""

    def setUp(self):
        super().setUp()
        if os.getuid() != 0:
            self.skipTest("a chroot needs root")
        self.root = self.folder / "root"
        subprocess.run([SOURCE / "scripts/container_root", PROGRAM, self.root], check=True)
        for path in ("data", "run/rocklock"):
            os.chown(self.root / path, 65532, 65532)
        # As in the Containerfile.
        self.environment = {"ROCKLOCK_DB": "/data", "ROCKLOCK_SOCKET": "/run/rocklock/rocklock.sock",
                            "PATH": os.environ["PATH"]}
        self.folder.chmod(0o755)
        # Container runtimes mount /proc.
        (self.root / "proc").mkdir()
        self.chroot = ("unshare", "--mount", "sh", "-c",
                       'mount -t proc proc "$0/proc" && exec chroot --userspec=65532:65532 "$0" "$@"', str(self.root))

    def in_root(self, *words, prefix=(), **options):
        words = [*prefix, *self.chroot, "/rocklock", *words]
        process = subprocess.Popen(words, env=self.environment, cwd="/", text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.started.append(process)
        return process

    def serve_in_root(self, *options, prefix=()):
        """Returns the address of the HTTP API."""
        process = self.in_root("serve", "--container", *options, prefix=prefix)
        process.lines = []
        for _ in range(3):
            process.lines.append(process.stderr.readline())
        text = "".join(process.lines)
        self.assertIn("the store is open", text)
        return process, re.search(r"http://(\S+)", text).group(1)

    def use_dynamodb(self, endpoint, prefix=()):
        done = subprocess.run([*prefix, sys.executable, "-c", CLIENT, endpoint], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
        self.assertEqual((done.returncode, done.stdout), (0, "five chairs\n"), done.stderr)

    def test_the_root_has_only_the_program_and_its_libraries(self):
        files = [path for path in self.root.rglob("*") if path.is_file()]
        others = [path for path in files if not re.search(r"/(rocklock|lib[^/]*\.so[.0-9]*|ld-[^/]*\.so\.[0-9]+)$", str(path))]
        self.assertEqual(others, [])
        size = sum(path.stat().st_size for path in files)
        # A sanitizer makes the program larger.
        if os.environ.get("ROCKLOCK_SLOWNESS", "1") == "1":
            self.assertLess(size, 40_000_000)

    def test_a_root_that_exists_is_kept(self):
        done = subprocess.run([SOURCE / "scripts/container_root", PROGRAM, self.root], check=False, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertTrue((self.root / "rocklock").exists())

    def test_it_serves_without_other_files(self):
        process, address = self.serve_in_root("--http", "127.0.0.1:0")
        self.use_dynamodb(f"http://{address}")
        status = self.in_root("status")
        out, err = status.communicate(timeout=PATIENCE_S)
        self.assertEqual(status.returncode, 0, err)
        self.assertIn("/data", out)
        run = self.in_root("run", "nightly-report", "--", "/rocklock", "ls")
        out, err = run.communicate(timeout=PATIENCE_S)
        self.assertEqual((run.returncode, "nightly-report" in out), (0, True), err)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_S), 0)
        # The store survives a new container.
        process, address = self.serve_in_root("--http", "127.0.0.1:0")
        table = subprocess.run([sys.executable, "-c", CLIENT, f"http://{address}"], capture_output=True, text=True,
                               timeout=PATIENCE_S, check=False)
        self.assertIn("ResourceInUseException", table.stderr)

    def test_another_host_uses_dynamodb_by_an_accepted_name(self):
        networks = TwoNetworks(self.folder, locks=0, strange=0)
        self.addCleanup(networks.close)
        process, address = self.serve_in_root("--accept-host", "locks", prefix=networks.on(0))
        self.assertEqual(address, "0.0.0.0:8000")
        self.use_dynamodb("http://locks:8000", networks.on(1))
        done = subprocess.run([*networks.on(1), "curl", "-s", "http://strange:8000/healthz"], capture_output=True,
                              text=True, check=False, timeout=PATIENCE_S)
        self.assertIn("the header Host is 'strange:8000'", done.stdout)
        done = subprocess.run([*networks.on(1), "curl", "-s", f"http://{networks.addresses[0]}:8000/healthz"], capture_output=True,
                              text=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.stdout, "ok\n")
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_S), 0)


class Built(Sandbox):
    """The last stage of the Containerfile, built with buildah."""

    def test_the_image_is_as_documented(self):
        if os.getuid() != 0 or shutil.which("buildah") is None:
            self.skipTest("buildah is not installed")
        context = self.folder / "context"
        context.mkdir()
        subprocess.run([SOURCE / "scripts/container_root", PROGRAM, context / "container"], check=True)
        # As the first stage does.
        (context / "owned").mkdir()
        for name in ("data", "run"):
            (context / "container" / name).rename(context / "owned" / name)
        _, _, last = (SOURCE / "Containerfile").read_text().partition("\nFROM scratch\n")
        self.assertEqual(last.count("--from=build "), 2)
        (context / "Containerfile").write_text("FROM scratch\n" + last.replace("--from=build ", ""))
        storage = ["buildah", "--storage-driver", "vfs", "--root", self.folder / "root", "--runroot",
                   self.folder / "runroot"]
        built = subprocess.run([*storage, "build", "--isolation", "chroot", "--tag", "rocklock", context],
                               capture_output=True, text=True, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)
        made = subprocess.run([*storage, "from", "rocklock"], capture_output=True, text=True, check=True).stdout.strip()

        def run(*words):
            done = subprocess.run([*storage, "run", "--isolation", "chroot", made, "--", "/rocklock", *words],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout + done.stderr

        shown = run("serve", "--print-config", "--container")
        self.assertIn("db = /data ", shown)
        self.assertIn("http = 0.0.0.0:8000 ", shown)
        # The user of the image can write the store and the socket.
        self.assertIn("the store is open store=/data", run("serve", "--http", "127.0.0.1:0", "--idle-exit", "1ms"))
        image = json.loads(subprocess.run([*storage, "inspect", "--type", "image", "rocklock"], capture_output=True,
                                          text=True, check=True).stdout)["OCIv1"]["config"]
        self.assertEqual((image["User"], image["Entrypoint"], image["Cmd"]),
                         ("65532:65532", ["/rocklock"], ["serve", "--container"]))
        self.assertEqual(image["ExposedPorts"], {"8000/tcp": {}})


if __name__ == "__main__":
    tap.main()
