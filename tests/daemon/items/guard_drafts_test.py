"""Drafts of refused writes, bindings of tables, and restored stores, over HTTP."""

import json

import tap
from dynamodb_test import TABLE, call
from guard_test import BOUND, SECRET, WRITES, Guarded, guard, key
from harness import Connection, Sandbox
from http_test import Web


class Drafts(Guarded):
    """Writes that arrived after their lock was lost are kept and reported."""

    def setUp(self):
        super().setUp()
        self.bind()
        self.api.call("PutClass", Pattern="orders/*", Drafts=True)

    def lose(self, order, editor="ann"):
        grant = self.acquire(order, editor)
        self.assertEqual(self.api.call("Break", Grant=grant["Grant"], Reason="lunch").status, 200)
        return grant

    def write_late(self, order, text, grant=None):
        with self.shown(grant or self.lose(order)):
            return self.refused(self.client.put_item, TableName="orders", Item={**key(order), "text": {"S": text}})

    def proof_of(self, principal):
        session = self.api.call("OpenSession", Principal=principal).json
        return {"Session": session["Session"], "Secret": session["Secret"]}

    def drafts(self, **whose):
        return self.api.call("ListDrafts", **(whose or {"Principal": "ann"})).json["Drafts"]

    def test_are_kept_by_each_operation(self):
        for count, (name, members) in enumerate(WRITES.items(), 1):
            with self.shown(self.lose("1")):
                answer = self.refused(getattr(self.client, name), **members)
            self.assertEqual(answer["Facts"]["Drafts"], 1, name)
            self.assertIn("kept as a draft", answer["Error"]["Message"], name)
            self.assertEqual(len(self.drafts()), count, name)
        self.assertEqual([next(iter(draft["Write"])) for draft in self.drafts()],
                         ["Put", "Update", "Delete", "Delete", "Put"])
        self.assertEqual(self.drafts()[1]["Write"]["Update"], {**WRITES["update_item"]})

    def test_are_returned_completely_and_can_be_written_again(self):
        lost = self.lose("1")
        self.write_late("1", "late", lost)
        draft, = self.drafts(**self.proof_of("ann"))
        self.assertGreater(draft.pop("Id"), 0)
        self.assertRegex(draft.pop("At"), r"\A\d{4}-\d\d-\d\dT.*Z\Z")
        action = {"Put": {"TableName": "orders", "Item": {**key("1"), "text": {"S": "late"}}}}
        self.assertEqual(draft, {"Principal": "ann", "Token": lost["Token"], "Resource": "orders/1",
                                 "TableName": "orders", "Write": action})
        with self.shown(self.acquire("1")):
            self.client.transact_write_items(TransactItems=[action])
        self.assertEqual(self.text("1"), "late")

    def test_are_of_the_principal_of_the_session(self):
        self.write_late("1", "one")
        draft, = self.drafts()
        self.assertEqual(self.drafts(**self.proof_of("bob")), [])
        for verb in ("TakeDraft", "DiscardDraft"):
            answer = self.api.call(verb, **self.proof_of("bob"), Id=draft["Id"])
            self.assertEqual((answer.status, answer.error), (400, "ResourceNotFoundException"), verb)
        ann = self.proof_of("ann")
        for verb in ("ListDrafts", "TakeDraft", "DiscardDraft"):
            members = {} if verb == "ListDrafts" else {"Id": draft["Id"]}
            answer = self.api.call(verb, **{**ann, "Secret": SECRET}, **members)
            self.assertEqual(answer.error, "NotOwnerException", verb)
        # A session that has ended is not accepted, even on a connection that has just proven it.
        self.api.call("CloseSession", **ann)
        self.assertEqual(self.api.call("ListDrafts", **ann).error, "SessionExpiredException")
        self.assertEqual(len(self.drafts()), 1)

    def test_of_other_principals_are_for_administrators(self):
        self.write_late("1", "one")
        line = self.web(int(self.endpoint.rpartition(":")[2]))
        for verb, members in (("ListDrafts", {}), ("TakeDraft", {"Id": 1}), ("DiscardDraft", {"Id": 1})):
            answer = line.call(verb, {"Principal": "ann", **members})
            self.assertEqual((answer.status, answer.error), (400, "AccessDeniedException"), verb)
        # Over TCP, the credentials of a session suffice.
        reply = json.loads(line.call("ListDrafts", self.proof_of("ann")).text)
        self.assertEqual(len(reply["Drafts"]), 1)

    def test_are_taken_once_or_discarded(self):
        self.write_late("1", "one")
        self.write_late("2", "two")
        first, second = self.drafts()
        ann = self.proof_of("ann")
        self.assertEqual(self.api.call("TakeDraft", **ann, Id=first["Id"]).json, first)
        answer = self.api.call("TakeDraft", **ann, Id=first["Id"])
        self.assertEqual(answer.error, "ResourceNotFoundException")
        self.assertIn("there is no draft", answer.json["message"])
        self.assertEqual(self.api.call("DiscardDraft", **ann, Id=second["Id"]).json, {"Id": second["Id"]})
        self.assertEqual(self.drafts(), [])

    def test_have_pages(self):
        for order in "123":
            self.write_late(order, order)
        page = self.api.call("ListDrafts", Principal="ann", Limit=2).json
        self.assertEqual([draft["Resource"] for draft in page["Drafts"]], ["orders/1", "orders/2"])
        page = self.api.call("ListDrafts", Principal="ann", Limit=2, Next=page["Next"]).json
        self.assertEqual([draft["Resource"] for draft in page["Drafts"]], ["orders/3"])
        self.assertNotIn("Next", page)
        self.assertEqual(self.api.call("ListDrafts", Principal="ann", Limit=1001).error, "ValidationException")

    def test_are_deleted_with_the_save_that_names_them(self):
        for order in "123":
            self.write_late(order, "late")
        first, second, third = (str(draft["Id"]) for draft in self.drafts())
        headers = guard.lock_headers(self.acquire("1"))
        with guard.shown(self.client, {**headers, "X-Rocklock-Draft": first}):
            self.client.put_item(TableName="orders", Item=key("1"))
            # The draft no longer exists: the request is an error or a retry.
            self.assertEqual(self.code_of(self.client.put_item, TableName="orders", Item=key("1")),
                             "ResourceNotFoundException")
        self.assertEqual(len(self.drafts()), 2)
        both = self.api.call("Acquire", Principal="ann", Locks=[{"Resource": "orders/2"}, {"Resource": "orders/3"}]).json
        with guard.shown(self.client, {**guard.lock_headers(both), "X-Rocklock-Draft": f"{second}, {third}"}):
            self.client.transact_write_items(TransactItems=[
                {"Put": {"TableName": "orders", "Item": key(order)}} for order in "23"])
        self.assertEqual(self.drafts(), [])

    def test_are_named_by_headers_that_parse(self):
        line = self.web()
        grant = self.acquire("1")
        own = {"X_Rocklock_Session": f"{grant['Session']}:{grant['Secret']}"}
        put = {"TableName": "orders", "Item": key("1")}
        for wrong in ("", "x", "0", "-1", "1,2", ",", "1 2"):
            answer = call(line, "PutItem", put, **own, X_Rocklock_Draft=wrong)
            self.assertEqual(answer.status, 400, wrong)
            self.assertIn("X-Rocklock-Draft must be the number of a draft", answer.text)
        answer = call(line, "PutItem", put, X_Rocklock_Draft="1")
        self.assertIn("X-Rocklock-Draft has no effect without X-Rocklock-Session", answer.text)
        for operation, members in (("GetItem", {"TableName": "orders", "Key": key("1")}),
                                   ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": key("1")}}]}})):
            answer = call(line, operation, members, **own, X_Rocklock_Draft="1")
            self.assertIn("X-Rocklock-Draft is for PutItem", answer.text)
        self.assertIsNone(self.text("1"))

    def test_are_listed_and_removed_by_the_program(self):
        self.write_late("1", "one")
        self.write_late("2", "two")
        first, second = self.drafts()
        titles, *rows = self.rocklock("drafts", "ls", "--principal", "ann").stdout.splitlines()
        self.assertEqual(titles.split(), ["DRAFT", "PRINCIPAL", "AT", "RESOURCE", "TABLE", "WRITE", "TOKEN"])
        self.assertEqual([(row.split()[0], row.split()[3:6]) for row in rows],
                         [(str(first["Id"]), ["orders/1", "orders", "put"]), (str(second["Id"]), ["orders/2", "orders", "put"])])
        ann = self.proof_of("ann")
        own = {"ROCKLOCK_SESSION": f"{ann['Session']}:{ann['Secret']}"}
        done = self.rocklock("drafts", "ls", "--json", environment=own)
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()], [first, second])
        # A draft that cannot be printed is kept.
        with open("/dev/full", "w", encoding="ascii") as full:
            taking = self.start("drafts", "take", first["Id"], environment=own, stdout=full)
            self.assertEqual(taking.wait(60), 70)
        done = self.rocklock("drafts", "rm", first["Id"], environment=own)
        self.assertEqual((done.returncode, done.stdout), (0, f"draft {first['Id']} was deleted\n"))
        done = self.rocklock("drafts", "rm", first["Id"], "--principal", "ann")
        self.assertEqual(done.returncode, 64)
        self.assertIn("there is no draft", done.stderr)
        done = self.rocklock("drafts", "rm", second["Id"], "--json", "--principal", "ann")
        self.assertEqual(json.loads(done.stdout), {"Id": second["Id"]})
        self.assertEqual(self.rocklock("drafts", "ls", "--json").stdout, "")
        self.assertEqual(self.rocklock("drafts", "rm", "x").returncode, 64)


class Bindings(Guarded):
    def refuse(self, error, message, **members):
        answer = self.api.call("BindTable", **members)
        self.assertEqual((answer.status, answer.error), (400, error), members)
        self.assertIn(message, answer.json["message"])
        self.assertEqual(self.api.call("ListBindings").json, {"Bindings": []})
        self.client.put_item(TableName="orders", Item=key("1"))

    def test_are_made_listed_and_undone(self):
        self.assertEqual(self.api.call("BindTable", **BOUND, Strict=True).json, {**BOUND, "Strict": True})
        self.assertEqual(self.api.call("BindTable", **BOUND).json, BOUND)
        self.assertEqual(self.api.call("ListBindings").json, {"Bindings": [BOUND]})
        self.assertEqual(self.code_of(self.client.delete_table, TableName="orders"), "ResourceInUseException")
        self.assertEqual(self.api.call("UnbindTable", TableName="orders").json, BOUND)
        self.assertEqual(self.api.call("ListBindings").json, {"Bindings": []})
        self.assertEqual(self.api.call("UnbindTable", TableName="orders").error, "ValidationException")

    def test_with_an_invalid_template_are_refused(self):
        for resource, message in (("", "is empty"), ("orders/{", "brace"), ("orders/}", "brace"),
                                  ("orders/{text}", "not an attribute of the table's key"), ("orders/{}", "not an attribute"),
                                  ("a\0b", "cannot produce valid names"), ("a" * 1025, "cannot produce valid names")):
            self.refuse("ValidationException", message, TableName="orders", Resource=resource)
        self.refuse("ValidationException", "Resource is missing", TableName="orders")
        self.refuse("ValidationException", "Strct is not a known member", **BOUND, Strct=True)

    def test_of_tables_that_cannot_be_bound_are_refused(self):
        self.refuse("ValidationException", "cannot be bound: rocklock.locks", TableName="rocklock.locks", Resource="x")
        self.refuse("ValidationException", "cannot be bound",
                    TableName="arn:aws:dynamodb:local:000000000000:table/rocklock.locks", Resource="x")
        self.refuse("ResourceNotFoundException", "nothing", TableName="nothing", Resource="x")
        self.refuse("ValidationException", "", TableName="a b", Resource="x")

    def test_are_for_administrators(self):
        web = self.web(int(self.endpoint.rpartition(":")[2]))
        self.assertEqual(web.call("BindTable", BOUND).error, "AccessDeniedException")
        self.bind()
        self.assertEqual(web.call("UnbindTable", {"TableName": "orders"}).error, "AccessDeniedException")
        self.assertEqual(json.loads(web.call("ListBindings", {}).text), {"Bindings": [BOUND]})


class Restored(Sandbox):
    def connected(self):
        connection = Connection(self.socket)
        self.connections.append(connection)
        return connection

    def test_a_token_from_before_a_restore_permits_no_write(self):
        self.state.mkdir()
        self.serve("--db", self.folder / "store")
        api = self.connected()
        web = self.web_here()
        self.assertEqual(call(web, "CreateTable", {**TABLE, "TableName": "orders"}).status, 200)
        api.call("BindTable", **BOUND)
        grant = api.call("Acquire", Principal="ann", Locks=[{"Resource": "orders/1"}], LeaseMs=600_000).json
        shown = {name.replace("-", "_"): value for name, value in guard.lock_headers(grant).items()}
        item = {"TableName": "orders", "Item": key("1")}
        self.assertEqual(call(web, "PutItem", item, **shown).status, 200)
        done = self.rocklock("db", "backup", self.folder / "backup")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.stop_daemon()
        done = self.rocklock("db", "restore", self.folder / "backup", "--db", self.folder / "again")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.serve("--db", self.folder / "again")
        web = self.web_here()
        answer = call(web, "DeleteItem", {"TableName": "orders", "Key": key("1")}, **shown)
        self.assertEqual((answer.status, answer.error), (400, "StaleTokenException"), answer.text)
        reply = json.loads(answer.text)
        self.assertEqual((reply["Outcome"], reply["Reason"]), ("broken", "restored"))
        got = call(web, "GetItem", {"TableName": "orders", "Key": key("1")})
        self.assertEqual(json.loads(got.text), {"Item": key("1")})

    def web_here(self):
        web = Web(self.socket)
        self.connections.append(web)
        return web


if __name__ == "__main__":
    tap.main()
