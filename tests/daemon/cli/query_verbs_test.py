"""The verbs table, audit, waits, deadlocks, stats and outliers."""

import json
import os
import stat
import threading

import tap
from dynamodb_test import TABLE, call
from harness import Sandbox
from http_test import Web


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


class Bindings(Sandbox):
    """table bind, table unbind and table ls."""

    def setUp(self):
        super().setUp()
        self.api()
        self.line = Web(self.socket)
        self.assertEqual(call(self.line, "CreateTable", {**TABLE, "TableName": "orders"}).status, 200)

    def as_other_user(self, *words):
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)
        return self.rocklock(*words, "--socket", self.socket, user=65534, extra_groups=[])

    def test_are_made_listed_and_removed(self):
        template = "orders/{id}"
        done = self.rocklock("table", "bind", "orders", template)
        self.assertEqual((done.returncode, done.stdout), (0, f"table orders is bound to {template}\n"), done.stderr)
        done = self.rocklock("table", "ls")
        self.assertEqual([line.split() for line in done.stdout.splitlines()],
                         [["TABLE", "RESOURCE", "STRICT"], ["orders", template, "no"]])
        done = self.rocklock("table", "bind", "orders", template, "--strict", "--json")
        self.assertEqual(lines(done), [{"TableName": "orders", "Resource": template, "Strict": True}])
        self.assertEqual(lines(self.rocklock("table", "ls", "--json")), lines(done))
        # A write without a lock is now refused.
        item = {"TableName": "orders", "Item": {"id": {"S": "7"}}}
        self.assertEqual(call(self.line, "PutItem", item).error, "LockRequiredException")
        done = self.rocklock("table", "unbind", "orders", "--quiet")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(call(self.line, "PutItem", item).status, 200)
        self.assertEqual(self.rocklock("table", "ls", "--json").stdout, "")

    def test_are_refused_with_advice(self):
        done = self.rocklock("table", "bind", "none", "x")
        self.assertEqual(done.returncode, 64)
        self.assertIn("none not found", done.stderr)
        self.assertEqual(self.rocklock("table", "bind", "orders", "orders/{nokey}").returncode, 64)
        self.assertEqual(self.rocklock("table", "unbind", "orders").returncode, 64)
        self.assertEqual(self.rocklock("table", "bind", "orders").returncode, 64)

    def test_are_changed_by_administrators_only(self):
        for words in (("bind", "orders", "x"), ("unbind", "orders")):
            done = self.as_other_user("table", *words)
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertIn("--admin-group", done.stderr)
        self.assertEqual(self.as_other_user("table", "ls").returncode, 0)

    def test_completion_offers_the_bound_tables(self):
        self.assertEqual(self.rocklock("table", "bind", "orders", "all-orders").returncode, 0)
        offered = self.rocklock("complete-words", "--", "table", "unbind", "o").stdout.split()
        self.assertEqual(offered, ["orders"])

    def test_need_no_daemon(self):
        self.rocklock("acquire", "--db", "own", "a")
        done = self.rocklock("table", "ls", "--db", "own")
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["TABLE", "RESOURCE", "STRICT"]), done.stderr)
        done = self.rocklock("table", "bind", "orders", "x", "--db", "own")
        self.assertEqual(done.returncode, 64)
        self.assertIn("orders not found", done.stderr)


class Audit(Sandbox):
    def break_some(self, count, reason="lunch"):
        api = self.api()
        session = api.call("OpenSession", Principal="ann").json
        owner = {"Session": session["Session"], "Secret": session["Secret"]}
        for number in range(count):
            grant = api.call("Acquire", Locks=[{"Resource": f"r/{number}"}], **owner).json["Grant"]
            self.assertEqual(api.call("Break", Grant=grant, Reason=reason).status, 200)
        return api

    def break_one(self, api):
        grant = api.call("Acquire", Principal="ann", LeaseMs=60_000, Locks=[{"Resource": "x"}]).json["Grant"]
        self.assertEqual(api.call("Break", Grant=grant, Reason="lunch").status, 200)

    def test_lists_the_rows_after_a_number(self):
        self.break_some(3)
        rows = lines(self.rocklock("audit", "--json"))
        self.assertEqual([(row["Resource"], row["Outcome"], row["Reason"]) for row in rows],
                         [(f"r/{number}", "broken", "lunch") for number in range(3)])
        later = lines(self.rocklock("audit", "--json", "--after", rows[1]["Sequence"]))
        self.assertEqual(later, rows[2:])
        table = self.rocklock("audit").stdout.splitlines()
        self.assertEqual(table[0].split()[:4], ["SEQUENCE", "AT", "OUTCOME", "BY"])
        self.assertEqual(len(table), 4)
        self.assertEqual(self.rocklock("audit", "--after", "x").returncode, 64)

    # I8: a transfer is recorded, too.
    def test_contains_transfers(self):
        grant, owner = self.acquire("a")
        receiver, _ = self.acquire("b")
        done = self.rocklock("transfer", grant["Grant"], receiver["Session"], environment=owner)
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = lines(self.rocklock("audit", "--json"))
        self.assertEqual((row["Grant"], row["Outcome"]), (grant["Grant"], "transferred"))

    def test_exports_every_page_although_pages_are_short(self):
        # A page ends after 1 MB, so these reasons need two.
        api = self.break_some(300, "x" * 4000)
        page = api.call("ListAudit", Limit=10_000).json["Rows"]
        self.assertLess(len(page), 300)
        target = self.folder / "audit.jsonl"
        done = self.rocklock("audit", "--export", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in target.read_text().splitlines()]
        self.assertEqual([row["Resource"] for row in rows], [f"r/{number}" for number in range(300)])
        last = rows[-1]["Sequence"]
        self.assertEqual(done.stdout, f"300 rows exported to {target}; continue with --after {last}\n")
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)
        # An export that continues has no rows, and replaces the file.
        done = self.rocklock("audit", "--export", target, "--after", last, "--json")
        self.assertEqual(lines(done), [{"File": str(target), "Rows": 0, "LastSequence": last}])
        self.assertEqual(target.read_text(), "")
        self.assertEqual(sorted(path.name for path in self.folder.glob("audit*")), ["audit.jsonl"])

    def test_keeps_the_old_file_if_the_export_fails(self):
        self.api()
        target = self.folder / "audit.jsonl"
        target.write_text("old\n")
        done = self.rocklock("audit", "--export", self.folder / "none" / "x")
        self.assertEqual(done.returncode, 64)
        self.assertIn("a directory that exists", done.stderr)
        done = self.rocklock("audit", "--export", target, "--socket", self.folder / "none.sock")
        self.assertEqual((done.returncode, target.read_text()), (69, "old\n"))
        self.assertEqual(sorted(path.name for path in self.folder.glob("audit*")), ["audit.jsonl"])

    def test_exports_to_the_file_that_a_link_names_and_keeps_its_mode(self):
        self.api()
        target = self.folder / "real.jsonl"
        target.write_text("old\n")
        target.chmod(0o640)
        link = self.folder / "link.jsonl"
        link.symlink_to(target)
        self.assertEqual(self.rocklock("audit", "--export", link).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual((target.read_text(), target.stat().st_mode & 0o777), ("", 0o640))

    def test_writes_to_a_pipe_directly(self):
        self.break_some(1, "x")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with open(os.open(pipe, os.O_RDWR), "rb", buffering=0) as reader:
            self.assertEqual(self.rocklock("audit", "--export", pipe).returncode, 0)
            self.assertEqual(json.loads(reader.read(65536))["Outcome"], "broken")
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))

    def test_trim_deletes_the_rows_after_they_were_exported(self):
        api = self.break_some(3)
        rows = lines(self.rocklock("audit", "--json"))
        target = self.folder / "audit.jsonl"
        done = self.rocklock("audit", "--export", target, "--trim")
        last = rows[-1]["Sequence"]
        self.assertEqual((done.returncode, done.stdout),
                         (0, f"3 rows exported to {target}, and 3 rows deleted from the log; "
                          f"continue with --after {last}\n"))
        self.assertEqual([json.loads(line) for line in target.read_text().splitlines()], rows)
        self.assertEqual(lines(self.rocklock("audit", "--json")), [])
        self.break_one(api)
        row, = lines(self.rocklock("audit", "--json"))
        self.assertGreater(row["Sequence"], last)
        target = self.folder / "next.jsonl"
        done = self.rocklock("audit", "--export", target, "--trim", "--json")
        self.assertEqual(lines(done), [{"File": str(target), "Rows": 1, "LastSequence": row["Sequence"],
                                        "Deleted": 1}])
        done = self.rocklock("audit", "--export", self.folder / "none.jsonl", "--trim", "--json")
        self.assertEqual([(row["Rows"], row["Deleted"]) for row in lines(done)], [(0, 0)])

    def test_trim_deletes_no_row_that_was_not_exported(self):
        self.break_some(1)
        target = self.folder / "audit.jsonl"
        refused = {("--trim",): "add --export FILE",
                   ("--trim", "--export", target, "--after", "0"): "omit --after",
                   ("--trim", "--export", "/dev/null"): "name a new file",
                   ("--trim", "--export", self.folder / "none" / "x"): "a directory that exists"}
        for words, message in refused.items():
            done = self.rocklock("audit", *words)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn(message, done.stderr)
        # An earlier export is not replaced.
        target.write_text("old\n")
        done = self.rocklock("audit", "--trim", "--export", target)
        self.assertEqual((done.returncode, target.read_text()), (64, "old\n"))
        self.assertEqual(len(lines(self.rocklock("audit", "--json"))), 1)
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.jsonl*")), ["audit.jsonl"])

    def test_only_administrators_trim(self):
        self.break_some(1)
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        done = self.rocklock("audit", "--export", shared / "x", "--trim", "--socket", self.socket,
                             user=65534, extra_groups=[])
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("--admin-group", done.stderr)
        self.assertEqual(len(lines(self.rocklock("audit", "--json", "--socket", self.socket))), 1)

    def test_needs_no_daemon(self):
        done = self.rocklock("acquire", "a", "--db", "own", "--json")
        self.rocklock("break", json.loads(done.stdout)["Grant"], "--reason", "x", "--db", "own")
        self.assertEqual([row["Resource"] for row in lines(self.rocklock("audit", "--json", "--db", "own"))], ["a"])
        # A store that does not exist is not created.
        self.assertEqual(self.rocklock("audit", "--db", "none").returncode, 64)


class Waits(Sandbox):
    # I3: each edge of the wait-for graph.
    def test_name_the_waiter_and_each_session_that_blocks_it(self):
        self.hold("orders/1", "--principal", "ann")
        self.start("run", "--principal", "ben", "orders/1", "--", "true")
        self.wait_for_waiters("orders/1", 1)
        self.start("run", "--principal", "cy", "orders/1", "--", "true")
        self.wait_for_waiters("orders/1", 2)
        edges = lines(self.rocklock("waits", "--json"))
        found = sorted((edge["WaiterPrincipal"], edge["BlockerPrincipal"], edge["BlockerHolds"]) for edge in edges)
        self.assertIn(("ben", "ann", True), found)
        self.assertIn(("cy", "ben", False), found)
        table = self.rocklock("waits").stdout
        self.assertIn("BLOCKER SESSION", table.splitlines()[0])
        self.assertIn("earlier request", table)
        self.assertEqual(self.rocklock("waits", "parts/", "--json").stdout, "")
        self.assertEqual(lines(self.rocklock("waits", "orders/", "--json")), edges)

    def test_deadlocks_are_listed_with_their_cycle(self):
        api = self.api()
        owners = []
        for principal in ("ann", "ben"):
            session = api.call("OpenSession", Principal=principal).json
            owners.append({"Session": session["Session"], "Secret": session["Secret"]})
        ann, ben = owners
        api.call("Acquire", Locks=[{"Resource": "a"}], **ann)
        api.call("Acquire", Locks=[{"Resource": "b"}], **ben)
        waiting = threading.Thread(target=self.connect().call, args=("Acquire",),
                                   kwargs={"Locks": [{"Resource": "b"}], "PatienceMs": 20_000, **ann})
        waiting.start()
        self.wait_for_waiters("b", 1)
        answer = api.call("Acquire", Locks=[{"Resource": "a"}], PatienceMs=1000, **ben)
        self.assertEqual(answer.error, "DeadlockException")
        deadlock, = lines(self.rocklock("deadlocks", "--json"))
        self.assertEqual(sorted((step["Principal"], step["Resource"]) for step in deadlock["Cycle"]),
                         [("ann", "b"), ("ben", "a")])
        text = self.rocklock("deadlocks").stdout
        self.assertIn("ann waits for b, session ", text)
        self.assertIn("ben waits for a, session ", text)
        api.call("CloseSession", **ben)
        waiting.join(timeout=20)
        self.assertEqual(self.rocklock("deadlocks", "--db", "none").returncode, 64)


class Statistics(Sandbox):
    def test_counts_and_times(self):
        grant, owner = self.acquire("a", "--mode", "exclusive")
        self.rocklock("release", grant["Grant"], environment=owner)
        self.acquire("b", "--mode", "read")
        done = self.rocklock("stats", "--json")
        shown, = lines(done)
        self.assertEqual((shown["Granted"], shown["Released"], shown["Held"]), (2, 1, 1))
        text = self.rocklock("stats").stdout
        counts = dict(line.rsplit(maxsplit=1) for line in text.split("\n\n")[0].splitlines()[1:])
        self.assertEqual((counts["granted"], counts["released"], counts["held"]), ("2", "1", "1"))
        self.assertEqual((counts["exclusive locks"], counts["read locks"]), ("1", "1"))
        held = next(line.split() for line in text.splitlines() if line.startswith("locks held"))
        self.assertEqual(held[2], "1")
        self.assertTrue(held[4].startswith("<="), held)
        # The daemon of a test has limits for users, so the usage of this user is shown.
        users = text.split("\n\n")[2].splitlines()
        self.assertEqual(users[1].split()[:3], [str(os.getuid()), "1", "1"])

    def test_outliers_are_the_oldest_grants_and_the_busiest_resources(self):
        self.acquire("old")
        self.acquire("new")
        self.hold("busy")
        self.assertEqual(self.rocklock("run", "-w", "0.05", "busy", "-c", "true").returncode, 75)
        shown, = lines(self.rocklock("outliers", "--json"))
        self.assertEqual([holder["Resource"] for holder in shown["LongestHeld"]], ["old", "new", "busy"])
        self.assertEqual([(hot["Resource"], hot["Waits"]) for hot in shown["Hottest"]], [("busy", 1)])
        shown, = lines(self.rocklock("outliers", "--json", "--limit", "1"))
        self.assertEqual(len(shown["LongestHeld"]), 1)
        text = self.rocklock("outliers").stdout
        self.assertIn("LONGEST HELD", text)
        self.assertEqual(text.split("\n\n")[1].splitlines()[1].split(), ["busy", "1", "0"])
        for limit in ("0", "1001", "x"):
            self.assertEqual(self.rocklock("outliers", "--limit", limit).returncode, 64)


if __name__ == "__main__":
    tap.main()
