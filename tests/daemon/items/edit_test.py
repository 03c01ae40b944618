"""Edits of items with calls of the lock API: begin, save, take over, query, end."""

import json

import tap
from dynamodb_test import call
from guard_test import Guarded
from harness import Connection, wait_until
from http_test import Web


def order(number):
    return {"TableName": "orders", "Key": {"id": {"S": number}}}


def put(number, text, **members):
    return {"Put": {"TableName": "orders", "Item": {"id": {"S": number}, "text": {"S": text}}, **members}}


class Editing(Guarded):
    def setUp(self):
        super().setUp()
        self.bind()

    def begin(self, *numbers, editor="ann", status=200, **members):
        members.setdefault("LeaseMs", 30_000)
        answer = self.api.call("BeginEdit", Principal=editor, Items=[order(number) for number in numbers],
                               **members)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def save(self, edit, *actions, status=200, **members):
        answer = self.api.call("SaveEdit", Session=edit["Session"], Secret=edit["Secret"], Token=edit["Token"],
                               TransactItems=list(actions), **members)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def error(self, answer):
        return answer["__type"].removeprefix("rocklock#")


class AnEdit(Editing):
    def test_returns_the_items_as_they_were_when_the_locks_were_granted(self):
        edit = self.begin("1", "2")
        self.assertEqual([item["Version"] for item in edit["Items"]], [0, 0])
        self.assertEqual([lock["Resource"] for lock in edit["Locks"]], ["orders/1", "orders/2"])
        version = self.save(edit, put("1", "one"), put("2", "two"), After="release")["Version"]
        self.assertGreater(version, 0)
        again = self.begin("2", "1", editor="ben")
        self.assertEqual([item["Item"]["text"]["S"] for item in again["Items"]], ["two", "one"])
        self.assertEqual([item["Key"]["id"]["S"] for item in again["Items"]], ["2", "1"])
        self.assertEqual([item["Version"] for item in again["Items"]], [version, version])
        self.assertEqual(again["Items"][0]["LastWrite"]["By"], "ann")

    def test_is_refused_completely_and_names_the_holder(self):
        self.begin("2", editor="ben")
        refused = self.begin("1", "2", status=400)
        self.assertEqual(self.error(refused), "LockConflictException")
        self.assertEqual([holder["Principal"] for holder in refused["Blockers"]], ["ben"])
        self.assertEqual(self.api.call("ShowEdit", **order("1")).json["Holders"], [])
        self.assertEqual(self.api.call("ShowEdit", **order("2")).json["Holders"][0]["Principal"], "ben")

    def test_waits_with_patience_and_reads_the_last_saved_state(self):
        edit = self.begin("1")
        waiter = Connection(self.socket)
        waiter.send("BeginEdit", {"Principal": "ben", "Items": [order("1")], "PatienceMs": 30_000})
        wait_until(lambda: self.api.call("ShowStatistics").json["Waiting"] == 1, "ben waits")
        self.save(edit, put("1", "ann's"), After="release")
        answer = waiter.receive()
        self.assertTrue(answer.json["Waited"])
        self.assertEqual(answer.json["Items"][0]["Item"]["text"]["S"], "ann's")

    def test_leaves_the_queue_with_its_client(self):
        self.begin("1")
        for where in (self.socket, int(self.endpoint.rpartition(":")[2])):
            waiter = Connection(where)
            waiter.send("BeginEdit", {"Principal": "ben", "Items": [order("1")], "PatienceMs": -1},
                        "Content-Type: application/json\r\n")
            wait_until(lambda: self.api.call("ShowStatistics").json["Waiting"] == 1, "ben waits")
            waiter.close()
            wait_until(lambda: self.api.call("ShowStatistics").json["Waiting"] == 0, "nobody waits")

    def test_continues_after_a_save_with_the_returned_version(self):
        edit = self.begin("1")
        version = self.save(edit, put("1", "one"))["Version"]
        self.save(edit, put("1", "two", Version=version))
        refused = self.save(edit, put("1", "three", Version=version), status=400)
        self.assertEqual(refused["CancellationReasons"][0]["Code"], "ConditionalCheckFailed")
        ended = self.api.call("Release", Session=edit["Session"], Secret=edit["Secret"], Grant=edit["Grant"])
        self.assertEqual(ended.json["Outcome"], "released")
        self.assertEqual(self.begin("1")["Items"][0]["Item"]["text"]["S"], "two")

    def test_is_taken_over_with_the_saved_state_and_the_previous_holder_is_notified(self):
        self.api.call("PutClass", Pattern="orders/*", Steal="anyone")
        edit = self.begin("1")
        self.save(edit, put("1", "ann's"))
        ben = self.api.call("OpenSession", Principal="ben").json
        taken = self.api.call("TakeOverEdit", Session=ben["Session"], Secret=ben["Secret"], Grant=edit["Grant"],
                              Reason="urgent", Items=[order("1")])
        self.assertEqual(taken.status, 200, taken.body)
        self.assertEqual(taken.json["Items"][0]["Item"]["text"]["S"], "ann's")
        late = self.save(edit, put("1", "late"), status=400)
        self.assertEqual(self.error(late), "StaleTokenException")
        self.assertEqual((late["Outcome"], late["By"], late["Reason"]), ("stolen", "ben", "urgent"))
        self.assertEqual(late["Blockers"][0]["Principal"], "ben")
        self.save({**taken.json, "Secret": ben["Secret"]}, put("1", "ben's"))

    def test_reports_to_boto3_in_a_transaction_why_it_was_lost(self):
        edit = self.begin("1")
        self.api.call("Break", Grant=edit["Grant"], Reason="lunch")
        headers = {"X-Rocklock-Session": f"{edit['Session']}:{edit['Secret']}", "X-Rocklock-Token": str(edit["Token"])}
        answer = call(self.web(), "TransactWriteItems", {"TransactItems": [put("1", "late")]}, **headers)
        reason = json.loads(answer.text)["CancellationReasons"][0]
        self.assertEqual((reason["Code"], reason["Outcome"], reason["Reason"]), ("StaleToken", "broken", "lunch"))


class BadInput(Editing):
    def refused(self, verb, **members):
        answer = self.api.call(verb, **members)
        self.assertEqual(answer.status, 400, answer.body)
        self.assertEqual(self.error(answer.json), "ValidationException")
        return answer.json["message"]

    def test_is_reported_with_its_path(self):
        for members, said in (
                ({}, "Items and Locks are missing"),
                ({"Items": {}}, "Items must be an array"),
                ({"Items": [1]}, "Items[0] must be an object"),
                ({"Items": [{"Key": {}}]}, "Items[0].TableName is missing"),
                ({"Items": [{"TableName": "orders"}]}, "Items[0].Key is missing"),
                ({"Items": [{"TableName": "orders", "Key": {"id": "1"}}]}, "Items[0].Key must be the key of an item"),
                ({"Items": [{"TableName": "orders", "Key": {"other": {"S": "1"}}}]}, "the key does not match the schema of table orders"),
                ({"Items": [{**order("1"), "To": "look"}]}, "Items[0].To must be one of read, edit"),
                ({"Items": [order("1")], "Colour": 1}, "Colour is not a known member")):
            with self.subTest(said):
                self.assertIn(said, self.refused("BeginEdit", Principal="ann", **members))
        self.assertIn("Principal, are missing", self.refused("BeginEdit", Items=[order("1")]))
        self.assertEqual(self.api.call("ListLocks").json["Locks"], [])
        self.assertEqual(self.api.call("ListSessions").json["Sessions"], [])

    def test_of_a_save_changes_no_item(self):
        edit = self.begin("1")
        proof = {"Session": edit["Session"], "Secret": edit["Secret"], "Token": edit["Token"]}
        self.assertIn("TransactItems is missing", self.refused("SaveEdit", **proof))
        self.assertIn("After must be one of keep", self.refused("SaveEdit", **proof, TransactItems=[put("1", "x")], After="no"))
        self.assertIn("Version must be", self.refused("SaveEdit", **proof, TransactItems=[put("1", "x", Version="no")]))
        self.assertIn("TransactItems", self.refused("SaveEdit", **proof, TransactItems=[7]))
        wrong = self.api.call("SaveEdit", **{**proof, "Secret": "A" * 43}, TransactItems=[put("1", "x")])
        self.assertEqual(self.error(wrong.json), "NotOwnerException")
        uncovered = self.api.call("SaveEdit", **proof, TransactItems=[put("1", "x"), put("2", "x")])
        self.assertEqual(self.error(uncovered.json), "LockRequiredException")
        self.assertEqual(self.begin("2")["Items"][0]["Version"], 0)
        self.assertIsNone(self.text("1"))

    def test_of_a_save_of_another_version_reports_the_writer_and_the_time(self):
        edit = self.begin("1")
        version = self.save(edit, put("1", "one"))["Version"]
        refusal = self.save(edit, put("1", "two", Version=1), status=400)
        self.assertEqual(refusal["__type"], "rocklock#TransactionCanceledException")
        self.assertIn("ConditionalCheckFailed", refusal["message"])
        reason, = refusal["CancellationReasons"]
        self.assertEqual((reason["Code"], reason["Version"]), ("ConditionalCheckFailed", version))
        self.assertEqual(reason["LastWrite"]["By"], "ann")
        self.assertIn(f"written by ann at {reason['LastWrite']['At']}", reason["Message"])

    def test_is_counted(self):
        edit = self.begin("1")
        self.save(edit, put("1", "one"))
        self.save(edit, put("1", "two", Version=1), status=400)
        lines = Web(self.socket).ask("GET", "/metrics").text.splitlines()
        for verb, outcome in (("BeginEdit", "ok"), ("SaveEdit", "ok"), ("SaveEdit", "transaction_cancelled")):
            self.assertIn(f'rocklock_edit_requests_total{{verb="{verb}",outcome="{outcome}"}} 1', lines)

    def test_of_an_unbound_table_is_refused(self):
        self.api.call("UnbindTable", TableName="orders")
        self.assertIn("not bound", self.refused("BeginEdit", Principal="ann", Items=[order("1")]))
        self.assertIn("not bound", self.refused("ShowEdit", **order("1")))
        answer = self.api.call("ShowEdit", TableName="nowhere", Key={"id": {"S": "1"}})
        self.assertEqual(self.error(answer.json), "ResourceNotFoundException")


if __name__ == "__main__":
    tap.main()
