"""The lock table as tables, for programs that know only DynamoDB: with an unmodified boto3."""

import contextlib
import threading

import tap
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError
from guard_test import Guarded
from harness import wait_until

LOCK_TABLES = ("rocklock.classes", "rocklock.history", "rocklock.locks", "rocklock.sessions")
# The values depend on the time of the query.
CHANGING = {"RemainingMs"}


def plain(item):
    """Converts a stored item to the form of JSON."""
    values = {name: TypeDeserializer().deserialize(value) for name, value in item.items()}
    return {name: value for name, value in values.items() if name not in CHANGING}


def stored(**members):
    return {name: TypeSerializer().serialize(value) for name, value in members.items()}


def as_item(members):
    return {name: value for name, value in members.items() if name not in CHANGING}


class LockTables(Guarded):
    def items(self, table):
        pages = self.client.get_paginator("scan").paginate(TableName=table, PaginationConfig={"PageSize": 2})
        return [plain(item) for page in pages for item in page["Items"]]

    def check(self, grant, resource="orders/42", mode="write"):
        return {"ConditionCheck": {
            "TableName": "rocklock.locks", "Key": stored(Resource=resource, Grant=grant["Grant"]),
            "ConditionExpression": "#mode = :mode", "ExpressionAttributeNames": {"#mode": "Mode"},
            "ExpressionAttributeValues": stored(**{":mode": mode})}}

    def save(self, text, *checks):
        item = {"id": {"S": "42"}, "text": {"S": text}}
        try:
            self.client.transact_write_items(
                TransactItems=[{"Put": {"TableName": "orders", "Item": item}}, *checks])
        except ClientError as error:
            return [reason["Code"] for reason in error.response["CancellationReasons"]]
        return None

    def test_show_the_same_locks_as_the_lock_api(self):
        self.api.call("PutClass", Pattern="tables/orders", Policy="read_write",
                      Dependants=[{"Resource": "tables/customers", "Mode": "read"}])
        self.api.call("PutClass", Pattern="pool", Permits=3)
        self.api.call("Acquire", Principal="ann", LeaseMs=60_000, Note="typing", Metadata={"host": "desk"},
                      Locks=[{"Resource": "tables/orders", "Subtree": True}, {"Resource": "pool", "Permits": 2}])
        for order in range(5):
            self.acquire(order, "bob", "read", 60)
        locks = self.api.call("ListLocks").json["Locks"]
        self.assertEqual(len(locks), 8)

        def order(lock):
            return lock["Resource"], lock["Grant"]
        self.assertEqual(sorted(self.items("rocklock.locks"), key=order), [as_item(lock) for lock in locks])
        sessions = [as_item(session) for session in self.api.call("ListSessions").json["Sessions"]]
        self.assertEqual(sorted(self.items("rocklock.sessions"), key=lambda session: session["OpenedAt"]
                                + session["Session"]),
                         sorted(sessions, key=lambda session: session["OpenedAt"] + session["Session"]))
        classes = self.api.call("ListClasses").json["Classes"]
        self.assertEqual(sorted(self.items("rocklock.classes"), key=lambda one: one["Pattern"]),
                         sorted(classes, key=lambda one: one["Pattern"]))
        events = self.api.call("Watch").json["Events"]
        self.assertEqual(sorted(self.items("rocklock.history"), key=lambda event: event["Sequence"]), events)

    def test_are_queried_by_resource_or_grant(self):
        first = self.acquire("42", "ann", "read")
        second = self.acquire("42", "bob", "read")
        self.acquire("43", "cleo")
        asked = {"TableName": "rocklock.locks", "KeyConditionExpression": "#resource = :resource",
                 "ExpressionAttributeNames": {"#resource": "Resource"},
                 "ExpressionAttributeValues": stored(**{":resource": "orders/42"})}
        found = self.client.query(**asked)["Items"]
        self.assertEqual([plain(item)["Principal"] for item in found], ["ann", "bob"])
        found = self.client.query(**asked, ScanIndexForward=False, Limit=1)
        self.assertEqual(plain(found["Items"][0])["Principal"], "bob")
        self.assertEqual(plain(found["LastEvaluatedKey"]), {"Resource": "orders/42", "Grant": second["Grant"]})
        key = stored(Resource="orders/42", Grant=first["Grant"])
        item = self.client.get_item(TableName="rocklock.locks", Key=key)["Item"]
        self.assertEqual(plain(item)["Session"], first["Session"])
        self.assertNotIn(first["Secret"], str(item))
        self.release(first)
        self.assertNotIn("Item", self.client.get_item(TableName="rocklock.locks", Key=key))

    def test_have_no_expired_locks(self):
        grant = self.api.call("Acquire", Principal="ann", LeaseMs=300, Locks=[{"Resource": "a"}]).json
        key = stored(Resource="a", Grant=grant["Grant"])
        wait_until(lambda: "Item" not in self.client.get_item(TableName="rocklock.locks", Key=key), "it expires")
        self.assertEqual(self.items("rocklock.locks"), [])
        self.assertEqual([event["Type"] for event in self.items("rocklock.history")][0], "granted")

    def test_are_described_but_not_listed(self):
        self.assertEqual(self.client.list_tables()["TableNames"], ["orders"])
        for name in LOCK_TABLES:
            table = self.client.describe_table(TableName=name)["Table"]
            self.assertEqual((table["TableName"], table["TableStatus"]), (name, "ACTIVE"))

    def test_cannot_be_written(self):
        grant = self.acquire("42")
        key = stored(Resource="orders/42", Grant=grant["Grant"])
        where = {"TableName": "rocklock.locks"}
        delete = {"TransactItems": [{"Delete": {**where, "Key": key}}]}
        client = self.client
        calls = (
            (client.put_item, {**where, "Item": key}), (client.delete_item, {**where, "Key": key}),
            (client.update_item, {**where, "Key": key, "UpdateExpression": "REMOVE Note"}),
            (client.batch_write_item, {"RequestItems": {"rocklock.locks": [{"DeleteRequest": {"Key": key}}]}}),
            (client.transact_write_items, delete), (client.delete_table, where),
            (client.update_table, {**where, "BillingMode": "PAY_PER_REQUEST"}))
        for headers in (contextlib.nullcontext(), self.shown(grant)):
            with headers:
                for call, members in calls:
                    error = self.refused(call, **members)["Error"]
                    self.assertEqual(error["Code"], "ValidationException", members)
                    self.assertIn("is read-only", error["Message"])
        self.assertEqual(len(self.items("rocklock.locks")), 1)

    def test_fence_a_transaction_that_has_a_condition_on_them(self):
        grant = self.acquire("42")
        self.assertIsNone(self.save("first", self.check(grant)))
        self.assertEqual(self.save("x", self.check(grant, mode="exclusive")), ["None", "ConditionalCheckFailed"])
        self.release(grant)
        self.assertEqual(self.save("late", self.check(grant)), ["None", "ConditionalCheckFailed"])
        self.assertEqual(self.text("42"), "first")
        error = self.refused(self.client.transact_write_items, TransactItems=[{"ConditionCheck": {
            "TableName": "rocklock.sessions", "Key": stored(Session=grant["Session"]),
            "ConditionExpression": "attribute_exists(Principal)"}}])["Error"]
        self.assertEqual(error["Code"], "ValidationException")

    def test_fence_during_grants_and_releases(self):
        """A client with a grant in its condition never overwrites the item of a later holder."""
        over = threading.Event()
        wrong = []

        def edit(name):
            api = self.connect()
            while not over.is_set():
                answer = api.call("Acquire", Principal=name, LeaseMs=30_000, PatienceMs=1_000,
                                  Locks=[{"Resource": "orders/42", "Mode": "write"}])
                if answer.status != 200:
                    continue
                grant = answer.json
                saved = self.save(str(grant["Grant"]), self.check(grant))
                if saved is not None or self.text("42") != str(grant["Grant"]):
                    wrong.append((name, saved))
                api.call("Release", Session=grant["Session"], Secret=grant["Secret"], Grant=grant["Grant"])
                # Another session may hold the lock by now, or none; this one does not.
                if self.save("late", self.check(grant)) is None:
                    wrong.append((name, "late"))

        editors = [threading.Thread(target=edit, args=(name,)) for name in ("ann", "bob", "cleo")]
        for editor in editors:
            editor.start()
        over.wait(2)
        over.set()
        for editor in editors:
            editor.join()
        self.assertEqual(wrong, [])
        self.assertNotEqual(self.text("42"), "late")


if __name__ == "__main__":
    tap.main()
