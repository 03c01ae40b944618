"""Each operation of the lock API has a verb of the command line and a function in C++."""

import pathlib
import re

import tap
from harness import Sandbox

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADERS = ROOT / "lib/include/rocklock"

# Operation: the verb that sends it, and the header, class and function that send it in C++. To add
# an operation, add a row.
OPERATIONS = {
    "OpenSession": ("session open", "database.hpp", "Database", "open_session"),
    "RenewSession": ("renew", "session.hpp", "Session", "renew"),
    "JoinProcess": ("session join", "lock.hpp", "LockService", "ask"),
    "CloseSession": ("session close", "session.hpp", "Session", "close"),
    "Acquire": ("acquire", "session.hpp", "Session", "acquire"),
    "Convert": ("convert", "session.hpp", "Guard", "convert"),
    "Release": ("release", "session.hpp", "Guard", "release"),
    "Transfer": ("transfer", "lock.hpp", "LockService", "ask"),
    "Steal": ("steal", "session.hpp", "Session", "steal"),
    "Break": ("break", "database.hpp", "Database", "break_grant"),
    "PutClass": ("class put", "database.hpp", "Database", "put_class"),
    "DeleteClass": ("class rm", "database.hpp", "Database", "delete_class"),
    "DrainClass": ("class drain", "database.hpp", "Database", "drain_class"),
    "ResumeClass": ("class resume", "database.hpp", "Database", "resume_class"),
    "ListClasses": ("class ls", "database.hpp", "Database", "classes"),
    "ShowLock": ("show", "database.hpp", "Database", "show"),
    "ListLocks": ("ls", "database.hpp", "Database", "list"),
    "ListSessions": ("sessions", "database.hpp", "Database", "sessions"),
    "Ping": ("status", "database.hpp", "Database", "connect"),
    "AnswerWanted": ("answer", "session.hpp", "Session", "answer_wanted"),
    "Reacquire": ("reacquire", "session.hpp", "Session", "reacquire_if_untouched"),
    "Backup": ("db backup", "database.hpp", "Database", "backup"),
    "Watch": ("watch", "lock.hpp", "LockService", "watch"),
    "ListHistory": ("history", "lock.hpp", "LockService", "history"),
    "ShowSession": ("session show", "lock.hpp", "LockService", "grants"),
    "ShowStatistics": ("stats", "database.hpp", "Database", "statistics"),
    "ListWaits": ("waits", "lock.hpp", "LockService", "wait_graph"),
    "ListDeadlocks": ("deadlocks", "lock.hpp", "LockService", "recent_deadlocks"),
    "ListAudit": ("audit", "lock.hpp", "LockService", "audit"),
    "TrimAudit": ("audit", "lock.hpp", "LockService", "trim_audit"),
    "ListOutliers": ("outliers", "lock.hpp", "LockService", "outliers"),
    "BindTable": ("table bind", "database.hpp", "Database", "bind_table"),
    "UnbindTable": ("table unbind", "database.hpp", "Database", "unbind_table"),
    "ListBindings": ("table ls", "database.hpp", "Database", "bindings"),
    "ListDrafts": ("drafts ls", "items/table.hpp", "TableService", "list_drafts"),
    "TakeDraft": ("drafts take", "items/table.hpp", "TableService", "take_draft"),
    "DiscardDraft": ("drafts rm", "items/table.hpp", "TableService", "discard_draft"),
    "EndSession": ("session end", "database.hpp", "Database", "end_session"),
    "EndSessions": ("session end", "database.hpp", "Database", "end_sessions"),
    "AwaitNotices": ("notices", "session.hpp", "Session", "on_wanted"),
    "ListNodes": ("node ls", None, None, None),
    "HandOver": ("node yield", None, None, None),
    "CheckNode": ("node check", None, None, None),
    "BeginEdit": (None, "session.hpp", "Session", "begin_edit"),
    "TakeOverEdit": (None, "session.hpp", "Session", "take_over"),
    "ShowEdit": (None, "database.hpp", "Database", "who_edits"),
    "SaveEdit": (None, "session.hpp", "Guard", "save"),
}

# The operations without a verb, with the reason.
WITHOUT_A_VERB = {
    "BeginEdit": "reads items, which only programs do: there are no verbs for items",
    "TakeOverEdit": "as BeginEdit",
    "ShowEdit": "`show` with the resource of the item",
    "SaveEdit": "writes items, as BeginEdit",
}

# The operations without a function in C++, with the reason.
WITHOUT_A_FUNCTION = {
    "ListNodes": "for administrators of a cluster, which use the command line",
    "HandOver": "as ListNodes",
    "CheckNode": "as ListNodes",
}

# The types that have other names than their operations.
TYPES = {"Watch": "WatchRequest", "ListHistory": "HistoryRequest"}


def names_in(path, pattern):
    block, = re.findall(pattern, (ROOT / path).read_text(), re.S)
    return re.findall(r'"(\w+)"', block)


class Coverage(Sandbox):
    def test_the_table_has_each_operation_of_the_protocol(self):
        operations = names_in("lib/wire/call.cpp", r" verb_names = \{(.*?)\};")
        edits = names_in("lib/service/edit_endpoint.cpp", r" verbs = \{(.*?)\};")
        self.assertGreater(min(len(operations), len(edits)), 3)
        self.assertEqual(sorted(OPERATIONS), sorted(operations + edits), "an operation has no row in this test, or a "
                         "row has no operation")

    def test_each_operation_has_a_verb_that_sends_it(self):
        overview = self.rocklock("--help").stdout.splitlines()
        verbs = {line.strip().partition("  ")[0] for line in overview if line.startswith("  ")}
        sources = "".join(path.read_text() for path in (ROOT / "daemon/cli").rglob("*.cpp"))
        without = set()
        for operation, (verb, *_) in OPERATIONS.items():
            with self.subTest(operation):
                if verb is None:
                    without.add(operation)
                    continue
                self.assertIn(verb, verbs)
                self.assertRegex(sources, rf"\b{TYPES.get(operation, operation)}\b *(\{{|\w+[;{{])",
                                 "no source of the command line makes this call")
        self.assertEqual(without, set(WITHOUT_A_VERB))

    def test_each_operation_has_a_function_in_a_public_header(self):
        requests = re.search(r"using Request = std::variant<(.*?)>;", (HEADERS / "lock.hpp").read_text(), re.S)[1]
        without = {operation for operation, row in OPERATIONS.items() if row[3] is None}
        self.assertEqual(without, set(WITHOUT_A_FUNCTION))
        for operation, (_, header, owner, function) in OPERATIONS.items():
            if function is None:
                continue
            with self.subTest(operation):
                text = (HEADERS / header).read_text()
                body = re.search(rf"^class (?:ROCKLOCK_API )?{owner} \{{\n(.*?)^\}};", text, re.S | re.M)[1]
                public = body.partition("\nprivate:")[0]
                self.assertRegex(public, rf"(?m)^    [^/\n]*\b{function}\(")
                if function == "ask":
                    self.assertRegex(requests, rf"\b{operation}\b", "ask() does not accept this request")

    def test_the_protocol_describes_each_operation(self):
        documents = (ROOT / "docs/protocol.md").read_text() + (ROOT / "docs/editing.md").read_text()
        for operation in OPERATIONS:
            with self.subTest(operation):
                self.assertIn(f"`{operation}`", documents)


if __name__ == "__main__":
    tap.main()
