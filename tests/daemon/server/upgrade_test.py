"""The program opens the stores of all formats, as earlier versions have left them.

stores/make.py has made the stores.
"""

import json
import pathlib
import re
import signal
import tarfile

import tap
from harness import Sandbox
from monitoring_test import OverSocket

ROOT = pathlib.Path(__file__).resolve().parents[3]
STORES = pathlib.Path(__file__).with_name("stores")


def current_format():
    source = (ROOT / "lib" / "storage" / "store_records.hpp").read_text()
    return int(re.search(r"constexpr std::uint32_t store_format = (\d+);", source).group(1))


class Upgrade(Sandbox):
    def unpack(self, name):
        store = self.folder / name
        store.mkdir(mode=0o700)
        with tarfile.open(STORES / f"{name}.tar.gz") as archive:
            archive.extractall(store)
        return store

    def items(self, operation, status=200, **members):
        connection = OverSocket(self.socket)
        try:
            connection.request("POST", "/", json.dumps(members), {
                "X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0",
                "X-Amz-Date": "20260101T000000Z",
                "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/local/dynamodb/aws4_request, "
                                 "SignedHeaders=host, Signature=0"})
            answer = connection.getresponse()
            body = json.loads(answer.read())
            self.assertEqual(answer.status, status, body)
            return body
        finally:
            connection.close()

    # Invariant D7: the locks, sessions and tokens of an old store.
    def check_locks(self, api):
        session, = api.call("ListSessions").json["Sessions"]
        self.assertEqual((session["Principal"], session["Note"]), ("ann", "upgrade"))
        locks = {lock["Resource"]: lock for lock in api.call("ListLocks").json["Locks"]}
        self.assertEqual({name: (lock["Mode"], lock["Principal"]) for name, lock in locks.items()},
                         {"orders/1": ("write", "ann"), "reports/7": ("read", "ann")})
        self.assertEqual(api.call("Acquire", Principal="bob", Locks=[{"Resource": "orders/1"}]).error,
                         "LockConflictException")
        row, = api.call("ListAudit").json["Rows"]
        self.assertEqual((row["Resource"], row["Outcome"], row["Reason"]), ("orders/2", "broken", "upgrade test"))
        released, = api.call("ListHistory", Resource="released").json["Rows"]
        self.assertEqual((released["Principal"], released["Outcome"]), ("bob", "released"))
        lock_class, = api.call("ListClasses").json["Classes"]
        self.assertEqual((lock_class["Pattern"], lock_class["Steal"]), ("orders/*", "anyone"))
        # New tokens are greater than all earlier ones.
        new = api.call("Acquire", Principal="cy", Locks=[{"Resource": "orders/2"}]).json
        self.assertGreater(new["Token"], max([row["Token"], *(lock["Token"] for lock in locks.values())]))

    def check_items(self, api):
        found = self.items("Scan", TableName="orders")["Items"]
        self.assertEqual(sorted((item["id"]["S"], item["customer"]["S"], item["total"]["N"]) for item in found),
                         [(str(number), f"c{number % 2}", "1.5") for number in range(1, 6)])
        of_index = self.items("Query", TableName="orders", IndexName="by-customer",
                              KeyConditionExpression="customer = :c", ExpressionAttributeValues={":c": {"S": "c1"}})
        self.assertEqual(sorted(item["id"]["S"] for item in of_index["Items"]), ["1", "3", "5"])
        refused = self.items("PutItem", 400, TableName="orders", Item={"id": {"S": "1"}})
        self.assertIn("LockRequired", refused["__type"])
        draft, = api.call("ListDrafts", Principal="ann").json["Drafts"]
        self.assertEqual(draft["Resource"], "orders/2")

    def check_store(self, name):
        store = self.unpack(name)
        done = self.rocklock("db", "check", "--db", store)
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = json.loads(self.rocklock("db", "stats", "--json", "--db", store).stdout)
        self.assertEqual([stats[key] for key in ("Sessions", "Grants", "EndedGrants", "Classes", "AuditRows")],
                         [1, 1, 2, 1, 1])
        self.state.mkdir(exist_ok=True)
        daemon = self.serve("--db", store)
        api = self.connect()
        self.check_locks(api)
        self.check_items(api)
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(60), 0)
        # Again, after it was upgraded.
        done = self.rocklock("db", "check", "--db", store)
        self.assertEqual(done.returncode, 0, done.stderr)
        daemon = self.serve("--db", store)
        self.check_items(self.connect())
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(60), 0)

    def test_each_format_has_its_stores(self):
        self.assertEqual(sorted(path.name for path in STORES.glob("*.tar.gz")), sorted(
            f"format_{number}{ending}.tar.gz" for number in range(1, current_format() + 1)
            for ending in ("", "_killed")))


def add_tests():
    for path in sorted(STORES.glob("*.tar.gz")):
        name = path.name.removesuffix(".tar.gz")
        setattr(Upgrade, f"test_{name}", lambda self, name=name: self.check_store(name))


add_tests()

if __name__ == "__main__":
    tap.main()
