"""Locks that guard tables, with foreign clients: boto3, the aws command line, and single
headers."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import tap
from botocore.exceptions import ClientError
from dynamodb_test import TABLE, call
from harness import PATIENCE_S, wait_until
from http_test import TcpSandbox

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "docs/examples"
sys.path.insert(0, str(EXAMPLES))
import guard  # noqa: E402  (docs/examples/guard.py)

# Debian's program; the example explains how to give it plugins.
AWS = pathlib.Path("/usr/bin/aws")
BOUND = {"TableName": "orders", "Resource": "orders/{id}"}


class Guarded(TcpSandbox):
    """A daemon with the table `orders`, and a boto3 client that presents no lock."""

    def setUp(self):
        super().setUp()
        self.endpoint = f"http://127.0.0.1:{self.serve_tcp()}"
        self.api = self.connect()
        self.client = guard.client_for(self.endpoint)

    def bind(self, **members):
        answer = self.api.call("BindTable", **BOUND, **members)
        self.assertEqual(answer.status, 200, answer.body)

    def acquire(self, order, editor="ann", mode="write", lease_s=30):
        return self.api.call("Acquire", Principal=editor, LeaseMs=lease_s * 1000,
                             Locks=[{"Resource": f"orders/{order}", "Mode": mode}]).json

    def shown(self, grant):
        return guard.shown(self.client, guard.lock_headers(grant))

    def release(self, grant):
        guard.release(self.endpoint, grant)

    def refused(self, function, *arguments, **members):
        with self.assertRaises(ClientError) as raised:
            function(*arguments, **members)
        return raised.exception.response

    def code_of(self, function, **members):
        """Returns the name of the error, or None."""
        try:
            function(**members)
        except ClientError as error:
            return error.response["Error"]["Code"]
        return None

    def text(self, order):
        return guard.read(self.client, order)[0]


class TwoShells(Guarded):
    # X6, T5: the guarded write of a paused holder fails.
    def test_a_client_stopped_past_its_lease_cannot_overwrite_an_item(self):
        self.bind()
        # With a debugger or sanitizer, a second may pass before the write.
        ann = subprocess.Popen([sys.executable, EXAMPLES / "guard.py", self.endpoint, "edit", "42", "ann", "2"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "HOME": str(self.folder)})
        self.started.append(ann)
        self.assertEqual(ann.stdout.readline(), "ann edits orders/42: None\n")
        ann.send_signal(signal.SIGSTOP)

        def bobs():
            with contextlib.suppress(guard.Refused):
                return guard.acquire(self.endpoint, "42", "bob", 30)

        bob = wait_until(bobs, "ann's lease is over")
        guard.write(self.client, "42", "bob's", guard.lock_headers(bob))
        ann.send_signal(signal.SIGCONT)
        output, _ = ann.communicate("ann's\n", timeout=PATIENCE_S)
        self.assertRegex(output, r'\Athe grant of token \d+ has ended: expired at 20\S+Z; "orders/42" is held by bob now\n\Z')
        self.assertEqual(ann.returncode, 1)
        self.assertEqual(self.text("42"), "bob's")

    def test_a_request_for_a_held_lock_reports_the_holder(self):
        self.bind()
        self.acquire("42", "bob")
        done = subprocess.run([sys.executable, EXAMPLES / "guard.py", self.endpoint, "edit", "42", "ann", "2"],
                              input="ann's\n", capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              env={**os.environ, "HOME": str(self.folder)})
        self.assertEqual((done.returncode, done.stderr), (75, ""))
        self.assertIn("bob", done.stdout)


class AwsCommandLine(Guarded):
    def aws(self, *words, **environment):
        folder = self.folder / "aws"
        folder.mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / "aws_rocklock.py", folder)
        (folder / "config").write_text(f"[plugins]\ncli_legacy_plugin_path = {folder}\nrocklock = aws_rocklock\n")
        return subprocess.run(
            [AWS, "dynamodb", "--endpoint-url", self.endpoint, *words], text=True, capture_output=True,
            timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "AWS_CONFIG_FILE": str(folder / "config"),
                 "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "local",
                 "AWS_PAGER": "", **environment})

    def put(self, order, **environment):
        item = json.dumps({"id": {"S": order}, "text": {"S": "written"}})
        return self.aws("put-item", "--table-name", "orders", "--item", item, **environment)

    def test_may_write_only_with_a_live_session(self):
        if not AWS.exists():
            self.skipTest("there is no /usr/bin/aws")
        self.bind()
        done = self.put("42")
        self.assertIn("LockRequiredException", done.stderr)
        self.assertIsNone(self.text("42"))
        grant = self.acquire("42")
        shown = {"ROCKLOCK_SESSION": f"{grant['Session']}:{grant['Secret']}"}
        done = self.put("42", **shown)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.text("42"), "written")
        self.assertIn("LockRequiredException", self.put("43", **shown).stderr)
        self.release(grant)
        self.assertIn("StaleTokenException", self.put("42", **shown).stderr)

    def test_may_write_under_run(self):
        if not AWS.exists():
            self.skipTest("there is no /usr/bin/aws")
        self.bind()
        (self.folder / "put").write_text(
            "exec aws dynamodb put-item --table-name orders --endpoint-url \"$1\" "
            "--item '{\"id\": {\"S\": \"42\"}, \"text\": {\"S\": \"run\"}}'\n")
        self.aws("list-tables")
        done = self.rocklock("run", "orders/42", "--", "sh", "put", self.endpoint, environment={
            "PATH": "/usr/bin:/bin", "HOME": str(self.folder), "AWS_CONFIG_FILE": str(self.folder / "aws/config"),
            "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "local"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.text("42"), "run")


def key(order):
    return {"id": {"S": order}}


# Writes of the order 1.
WRITES = {
    "put_item": {"TableName": "orders", "Item": key("1")},
    "update_item": {"TableName": "orders", "Key": key("1"), "UpdateExpression": "SET a = :a",
                    "ExpressionAttributeValues": {":a": {"N": "1"}}},
    "delete_item": {"TableName": "orders", "Key": key("1")},
    "batch_write_item": {"RequestItems": {"orders": [{"DeleteRequest": {"Key": key("1")}}]}},
    "transact_write_items": {"TransactItems": [{"Put": {"TableName": "orders", "Item": key("1")}}]},
}
READS = {
    "get_item": {"TableName": "orders", "Key": key("1")},
    "query": {"TableName": "orders", "KeyConditionExpression": "id = :id",
              "ExpressionAttributeValues": {":id": {"S": "1"}}},
    "scan": {"TableName": "orders"},
    "batch_get_item": {"RequestItems": {"orders": {"Keys": [key("1")]}}},
    "transact_get_items": {"TransactItems": [{"Get": {"TableName": "orders", "Key": key("1")}}]},
}


class Requests(Guarded):
    """Each operation presents, and requires, the lock that the headers name."""

    def setUp(self):
        super().setUp()
        self.client.put_item(TableName="orders", Item=key("1"))
        self.bind()

    def each(self, requests, codes, but=None):
        for name, members in requests.items():
            expected = (but or {}).get(name, codes)
            self.assertEqual(self.code_of(getattr(self.client, name), **members), expected, name)

    def test_write_with_a_grant_that_covers_the_item_only(self):
        cancelled = {"transact_write_items": "TransactionCanceledException"}
        self.each(WRITES, "LockRequiredException", cancelled)
        self.each(READS, None)
        with self.shown(self.acquire("2")):
            self.each(WRITES, "LockRequiredException", cancelled)
        grant = self.acquire("1", mode="read")
        with self.shown(grant):
            self.each(WRITES, "LockRequiredException", cancelled)
        self.release(grant)
        grant = self.acquire("1")
        with self.shown(grant):
            self.each(WRITES, None)
        self.release(grant)
        with self.shown(grant):
            self.each(WRITES, "StaleTokenException", cancelled)
            self.each(READS, None)

    def test_read_items_that_no_other_session_holds_in_exclusive(self):
        grant = self.acquire("1", mode="exclusive")
        self.each(READS, "LockedException")
        with self.shown(self.acquire("2", "bob")):
            self.each(READS, "LockedException")
        with self.shown(grant):
            self.each(READS, None)
        self.release(grant)
        self.each(READS, None)

    def test_are_refused_with_the_facts(self):
        answer = self.refused(self.client.put_item, **WRITES["put_item"])
        self.assertEqual(answer["Error"]["Message"], 'a write requires a lock on "orders/1" in mode write or exclusive, and '
                                                     "the request has none: acquire the lock, and send its session")
        self.assertEqual((answer["ResponseMetadata"]["HTTPStatusCode"], sorted(answer["Facts"])),
                         (400, ["__type", "message"]))
        self.assertEqual(answer["Facts"]["__type"], "rocklock#LockRequiredException")
        grant = self.acquire("1")
        self.api.call("Break", Grant=grant["Grant"], Reason="lunch")
        bob = self.acquire("1", "bob", "exclusive")
        with self.shown(grant):
            answer = self.refused(self.client.put_item, **WRITES["put_item"])
        facts = answer["Facts"]
        self.assertEqual((answer["Error"]["Code"], facts["Outcome"], facts["Reason"]),
                         ("StaleTokenException", "broken", "lunch"))
        self.assertTrue(facts["By"])
        self.assertRegex(facts["At"], r"\A\d{4}-\d\d-\d\dT.*Z\Z")
        self.assertEqual([(one["Principal"], one["Resource"], one["Grant"]) for one in facts["Blockers"]],
                         [("bob", "orders/1", bob["Grant"])])
        self.assertNotIn("Secret", json.dumps(facts))
        facts = self.refused(self.client.get_item, **READS["get_item"])["Facts"]
        self.assertEqual((facts["__type"], [one["Principal"] for one in facts["Blockers"]]),
                         ("rocklock#LockedException", ["bob"]))

    def test_of_transactions_report_the_reason_of_each_action(self):
        self.acquire("3", "bob", "exclusive")
        ended = self.acquire("1")
        self.release(ended)
        actions = [{"Put": {"TableName": "orders", "Item": key("1")}},
                   {"ConditionCheck": {"TableName": "orders", "Key": key("3"),
                                       "ConditionExpression": "attribute_not_exists(id)"}},
                   {"ConditionCheck": {"TableName": "orders", "Key": key("4"),
                                       "ConditionExpression": "attribute_not_exists(id)"}}]
        answer = self.refused(self.client.transact_write_items, TransactItems=actions)
        self.assertEqual([one["Code"] for one in answer["CancellationReasons"]], ["LockRequired", "Locked", "None"])
        self.assertIn("[LockRequired, Locked, None]", answer["Error"]["Message"])
        self.assertIn("held in mode exclusive by bob", answer["CancellationReasons"][1]["Message"])
        with self.shown(ended):
            answer = self.refused(self.client.transact_write_items, TransactItems=actions[:1])
        reason, = answer["CancellationReasons"]
        self.assertEqual(reason["Code"], "StaleToken")
        self.assertIn("has ended: released", reason["Message"])

    def test_get_only_unlocked_items_if_the_response_is_small(self):
        # Until now, the item was cached, and the thread that reads from the socket answered.
        for _ in range(3):
            self.client.get_item(**READS["get_item"])
        self.acquire("1", mode="exclusive")
        self.assertEqual(self.code_of(self.client.get_item, **READS["get_item"]), "LockedException")

    def test_report_and_require_versions(self):
        with self.shown(self.acquire("1")):
            _, first = guard.read(self.client, "1")
            self.assertGreater(first, 0)
            self.assertTrue(guard.write_if_unchanged(self.client, "1", "one", first, {}))
            text, second = guard.read(self.client, "1")
            self.assertEqual(text, "one")
            self.assertGreater(second, first)
            self.assertFalse(guard.write_if_unchanged(self.client, "1", "two", first, {}))
            with guard.shown(self.client, {"X-Rocklock-Version": str(first)}):
                answer = self.refused(self.client.update_item, **WRITES["update_item"])
            self.assertRegex(answer["Error"]["Message"],
                             rf"\AThe conditional request failed: the item has version {second}, not {first}; "
                             r"written by \w+ at 20\S+Z\Z")
            gone = self.client.delete_item(**WRITES["delete_item"])
            self.assertEqual(gone["ResponseMetadata"]["HTTPHeaders"]["x-rocklock-version"], "0")
            self.assertEqual(guard.read(self.client, "1"), (None, 0))
            self.assertTrue(guard.write_if_unchanged(self.client, "1", "new", 0, {}))
            self.assertFalse(guard.write_if_unchanged(self.client, "1", "other", 0, {}))
            self.assertEqual(self.text("1"), "new")

    def held(self):
        return [holder["Mode"] for holder in self.api.call("ShowLock", Resource="orders/1").json["Holders"]]

    def test_release_their_lock_after_the_write(self):
        grant = self.acquire("1")
        headers = guard.lock_headers(grant)
        with guard.shown(self.client, {**headers, "X-Rocklock-After": "downgrade", "X-Rocklock-Version": "7"}):
            self.refused(self.client.put_item, **WRITES["put_item"])
        self.assertEqual(self.held(), ["write"])
        with guard.shown(self.client, {**headers, "X-Rocklock-After": "downgrade"}):
            self.client.put_item(**WRITES["put_item"])
            self.assertEqual(self.held(), ["read"])
            self.assertEqual(self.code_of(self.client.put_item, **WRITES["put_item"]), "LockRequiredException")
        self.release(grant)
        with guard.shown(self.client, {**guard.lock_headers(self.acquire("1")), "X-Rocklock-After": "release"}):
            self.client.transact_write_items(**WRITES["transact_write_items"])
        self.assertEqual(self.held(), [])

    def test_are_also_checked_for_unbound_tables(self):
        self.assertEqual(self.api.call("UnbindTable", TableName="orders").json, BOUND)
        grant = self.acquire("anything")
        with self.shown(grant):
            self.each(WRITES, None)
        self.release(grant)
        with self.shown(grant):
            self.each(WRITES, "StaleTokenException", {"transact_write_items": "TransactionCanceledException"})
        # If the table is unbound, a session without a token is ignored.
        with guard.shown(self.client, {"X-Rocklock-Session": guard.lock_headers(grant)["X-Rocklock-Session"]}):
            self.each(WRITES, None)


SESSION = "A" * 22
SECRET = "s" * 42 + "A"


class Headers(Guarded):
    """Invalid headers are refused, and nothing is changed."""

    def setUp(self):
        super().setUp()
        self.line = self.web()
        self.grant = self.acquire("1")

    def put(self, text, **headers):
        return call(self.line, "PutItem", {"TableName": "orders", "Item": {**key("1"), "text": {"S": text}}}, **headers)

    def refuse(self, message, **headers):
        answer = self.put("wrong", **headers)
        output = json.loads(answer.text)
        self.assertEqual((answer.status, output["__type"]), (400, "com.amazon.coral.validate#ValidationException"), headers)
        self.assertIn(message, output["message"])
        self.assertNotIn(self.grant["Secret"], answer.text)
        self.assertIsNone(self.text("1"))

    def test_that_do_not_parse(self):
        own = f"{self.grant['Session']}:{self.grant['Secret']}"
        for wrong in ("", "x", ":", self.grant["Session"], self.grant["Session"] + ":", own + "x", own + ":",
                      own.replace(":", " "), own[:-1], f"{own}, {own}"):
            self.refuse("X-Rocklock-Session must be <session>:<secret>", X_Rocklock_Session=wrong)
        for wrong in ("", "x", "0", "-1", "+1", "1.0", "0x1", "1 2", str(1 << 53), "9" * 30):
            self.refuse("X-Rocklock-Token must be the token of a grant", X_Rocklock_Session=own, X_Rocklock_Token=wrong)
        self.refuse("X-Rocklock-Token has no effect without X-Rocklock-Session", X_Rocklock_Token="1")
        for wrong in ("", "x", "-1", "1.5", str(1 << 53)):
            self.refuse("X-Rocklock-Version must be the version of an item", X_Rocklock_Version=wrong)
        for wrong in ("", "keep", "Release", "release downgrade"):
            self.refuse("X-Rocklock-After must be release or downgrade", X_Rocklock_Session=own, X_Rocklock_After=wrong)
        self.refuse("X-Rocklock-After has no effect without X-Rocklock-Session", X_Rocklock_After="release")
        self.refuse("X-Rocklock-Tokn is not a known header", X_Rocklock_Session=own, X_Rocklock_Tokn="1")
        self.assertEqual(self.put("right", X_Rocklock_Session=own, X_Rocklock_Token=self.grant["Token"]).status, 200)
        self.assertEqual(self.text("1"), "right")

    def test_given_twice_are_refused(self):
        own = f"{self.grant['Session']}:{self.grant['Secret']}"
        self.refuse("x-rocklock-session is given twice", **{"X-Rocklock-Session": own, "x-rocklock-session": own})

    def test_of_versions_are_for_writes_of_one_item(self):
        self.refused_version("GetItem", {"TableName": "orders", "Key": key("1")})
        self.refused_version("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": key("1")}}]}})
        self.refused_version("TransactWriteItems",
                             {"TransactItems": [{"Put": {"TableName": "orders", "Item": key("1")}}]})
        self.assertIsNone(self.text("1"))

    def test_for_the_lock_after_a_save_are_only_for_writes(self):
        own = f"{self.grant['Session']}:{self.grant['Secret']}"
        for operation, members in (("GetItem", {"TableName": "orders", "Key": key("1")}),
                                   ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": key("1")}}]}}),
                                   ("Scan", {"TableName": "orders"})):
            answer = call(self.line, operation, members, X_Rocklock_Session=own, X_Rocklock_After="release")
            self.assertEqual(answer.status, 400, operation)
            self.assertIn("X-Rocklock-After is for PutItem, UpdateItem, DeleteItem and TransactWriteItems", answer.text)
        self.assertIsNone(self.text("1"))

    def refused_version(self, operation, members):
        answer = call(self.line, operation, members, X_Rocklock_Version="0")
        self.assertEqual(answer.status, 400, operation)
        self.assertIn("X-Rocklock-Version is for PutItem, UpdateItem and DeleteItem", answer.text)

    def test_with_a_secret_of_another(self):
        other = self.acquire("2", "bob")
        for session, secret in ((self.grant["Session"], other["Secret"]), (SESSION, SECRET),
                                (other["Session"], self.grant["Secret"])):
            for operation, members in (("PutItem", {"TableName": "orders", "Item": key("1")}),
                                       ("GetItem", {"TableName": "orders", "Key": key("1")}), ("ListTables", {})):
                answer = call(self.line, operation, members, X_Rocklock_Session=f"{session}:{secret}")
                self.assertEqual((answer.status, answer.error), (400, "NotOwnerException"), operation)
        self.assertIsNone(self.text("1"))

    def test_with_a_token_of_another(self):
        self.bind()
        other = self.acquire("2", "bob")
        answer = self.put("wrong", X_Rocklock_Session=f"{self.grant['Session']}:{self.grant['Secret']}",
                          X_Rocklock_Token=other["Token"])
        self.assertEqual((answer.status, answer.error), (400, "LockRequiredException"))
        self.assertIn("belongs to another session", answer.text)
        self.assertIsNone(self.text("1"))


if __name__ == "__main__":
    tap.main()
