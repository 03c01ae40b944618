"""Makes the stores in this folder: `make.py PROGRAM N`, with a program that writes format N.

Writes format_N.tar.gz, the store of a daemon that was stopped, and format_N_killed.tar.gz, the store
of one that was killed. Run it once before the format is
changed: upgrade_test.py opens these stores with the current program.
"""

import http.client
import io
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time

LEASE_MS = 30 * 24 * 3600 * 1000
AUTHORIZATION = ("AWS4-HMAC-SHA256 Credential=x/20260101/local/dynamodb/aws4_request, SignedHeaders=host, "
                 "Signature=0")


class Daemon(http.client.HTTPConnection):
    def __init__(self, program, folder, log):
        super().__init__("localhost")
        self.path = folder / "socket"
        self.process = subprocess.Popen([program, "serve", "--db", folder / "store", "--socket", self.path],
                                        stderr=log, stdin=subprocess.DEVNULL,
                                        env={"PATH": os.environ["PATH"], "HOME": str(folder)})
        deadline = time.monotonic() + 60
        while not self.path.exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit("the daemon did not start")
            time.sleep(0.01)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))

    def call(self, verb, expected=200, headers=None, **members):
        target = verb if "." in verb else f"Rocklock_20261121.{verb}"
        self.request("POST", "/", json.dumps(members), {
            "X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0", "Authorization": AUTHORIZATION,
            "X-Amz-Date": "20260101T000000Z",
            **(headers or {})})
        answer = self.getresponse()
        body = answer.read()
        if answer.status != expected:
            raise SystemExit(f"{verb}: {answer.status} {body}")
        return json.loads(body)


def items(verb):
    return f"DynamoDB_20120810.{verb}"


def fill(daemon):
    """Makes one record of each kind."""
    daemon.call("PutClass", Pattern="orders/*", Steal="anyone", Drafts=True)
    daemon.call(items("CreateTable"), TableName="orders", BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"},
                                      {"AttributeName": "customer", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                GlobalSecondaryIndexes=[{"IndexName": "by-customer",
                                         "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}],
                                         "Projection": {"ProjectionType": "ALL"}}])
    for number in range(1, 6):
        daemon.call(items("PutItem"), TableName="orders",
                    Item={"id": {"S": str(number)}, "customer": {"S": f"c{number % 2}"}, "total": {"N": "1.5"}})
    daemon.call("BindTable", TableName="orders", Resource="orders/{id}")
    session = daemon.call("OpenSession", Principal="ann", LeaseMs=LEASE_MS, Note="upgrade")
    proof = {"Session": session["Session"], "Secret": session["Secret"]}
    held = daemon.call("Acquire", **proof, Note="held", Locks=[
        {"Resource": "orders/1", "Mode": "write"}, {"Resource": "reports/7", "Mode": "read"}])
    # Ended grants: released, with a session of their own; broken, with a row of the audit log.
    own = daemon.call("Acquire", Principal="bob", LeaseMs=LEASE_MS, Locks=[{"Resource": "released"}])
    daemon.call("Release", Session=own["Session"], Secret=own["Secret"], Grant=own["Grant"])
    lost = daemon.call("Acquire", **proof, Locks=[{"Resource": "orders/2"}])
    daemon.call("Break", Grant=lost["Grant"], Reason="upgrade test")
    # A draft: a write under the lock that was broken.
    daemon.call(items("PutItem"), 400,
                {"X-Rocklock-Session": f"{session['Session']}:{session['Secret']}", "X-Rocklock-Token": str(lost["Token"])},
                TableName="orders", Item={"id": {"S": "2"}, "customer": {"S": "late"}})
    return held


def pack(store, path):
    with tarfile.open(path, "w:gz") as archive:
        for file in sorted(store.rglob("*")):
            # RocksDB's text logs contain names of this machine. Other programs do not use the lock files. The
            # reserved space is 64 MB of zeros.
            if not file.is_file() or file.name.startswith("LOG") or file.name in ("LOCK", "rocklock.pid", "RESERVE"):
                continue
            entry = tarfile.TarInfo(str(file.relative_to(store)))
            data = file.read_bytes()
            entry.size = len(data)
            entry.mode = 0o600
            archive.addfile(entry, io.BytesIO(data))


def make(program, number, ending):
    with tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        with open(folder / "log", "w", encoding="utf-8") as log:
            daemon = Daemon(program, folder, log)
            fill(daemon)
            daemon.process.send_signal(ending)
            daemon.process.wait()
        words = f"format_{number}" + ("_killed" if ending == signal.SIGKILL else "")
        pack(folder / "store", pathlib.Path(__file__).with_name(words + ".tar.gz"))


if __name__ == "__main__":
    for how in (signal.SIGTERM, signal.SIGKILL):
        make(sys.argv[1], sys.argv[2], how)
