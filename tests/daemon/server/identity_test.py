"""The principals that users may use, and the drafts that they may see. The clients are processes of
two users, and of root, who is an administrator."""

import json
import pwd
import subprocess

import tap
from dynamodb_test import SIGNATURE, TABLE, call
from harness import Sandbox
from http_test import Web

ANN, BEN = 65534, 2
LATE = {"TableName": "orders", "Item": {"id": {"S": "1"}, "text": {"S": "late"}}}
# Sends calls over the socket and prints the answers: each argument is "VERB BODY [HEADERS]" as JSON.
CLIENT = """
import json, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
file = line.makefile("rb")
for words in sys.argv[2:]:
    verb, body, headers = json.loads(words)
    data = json.dumps(body).encode()
    target = verb if "." in verb else "Rocklock_20261121." + verb
    head = "".join(f"{name}: {value}\\r\\n" for name, value in headers.items())
    line.sendall(f"POST / HTTP/1.1\\r\\nHost: localhost\\r\\nX-Amz-Target: {target}\\r\\n{head}"
                 f"Content-Type: application/x-amz-json-1.0\\r\\nContent-Length: {len(data)}\\r\\n\\r\\n".encode() + data)
    file.readline()
    length = 0
    while (header := file.readline().strip()):
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    print(file.read(length).decode())
"""


def name_of(uid):
    return pwd.getpwuid(uid).pw_name


class Users(Sandbox):
    """A daemon of root, whose socket all users may use."""

    options = ()

    def setUp(self):
        super().setUp()
        self.state.mkdir()
        self.serve("--memory", *self.options)
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)
        self.root = self.connect()

    def calls_as(self, uid, *calls):
        """Makes calls as this user on one connection, and returns the answers."""
        words = []
        for verb, body, *headers in calls:
            signed = {"Authorization": SIGNATURE, "X-Amz-Date": "20260101T000000Z"} if "." in verb else {}
            words.append(json.dumps((verb, body, {**signed, **(headers[0] if headers else {})})))
        done = subprocess.run(["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups",
                               "/usr/bin/python3", "-c", CLIENT, str(self.socket), *words],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def call_as(self, uid, *words):
        answer, = self.calls_as(uid, words)
        return answer

    def error_as(self, uid, *words):
        return self.call_as(uid, *words).get("__type", "").removeprefix("rocklock#")

    def rocklock_as(self, uid, *words, **options):
        environment = {"ROCKLOCK_SOCKET": str(self.socket), **options.pop("environment", {})}
        return self.rocklock(*words, user=uid, group=uid, extra_groups=[], environment=environment, **options)

    def proof_as(self, uid, principal):
        session = self.call_as(uid, "OpenSession", {"Principal": principal, "LeaseMs": 600_000})
        return {"Session": session["Session"], "Secret": session["Secret"]}

    def sessions(self):
        return [(one["Principal"], one["Uid"]) for one in self.root.call("ListSessions").json["Sessions"]]


class Required(Users):
    options = ("--principal-from-uid", "require")

    def test_a_user_may_use_only_the_own_name(self):
        lock = [{"Resource": "a"}]
        self.assertNotIn("__type", self.call_as(ANN, "OpenSession", {"Principal": name_of(ANN)}))
        for principal in (name_of(BEN), "ann", "root", name_of(ANN) + "/x"):
            for verb, body in (("OpenSession", {}), ("Acquire", {"Locks": lock}),
                               ("BeginEdit", {"Locks": lock})):
                answer = self.call_as(ANN, verb, {"Principal": principal, **body})
                self.assertEqual(answer["__type"], "rocklock#AccessDeniedException", (verb, answer))
                self.assertIn(f"is not the name of your user, '{name_of(ANN)}'", answer["message"])
        self.assertEqual(self.sessions(), [(name_of(ANN), ANN)])
        grant = self.call_as(BEN, "Acquire", {"Principal": name_of(BEN), "Locks": lock})
        self.assertNotIn("__type", grant)
        self.assertNotIn("Principal", grant)

    def test_the_command_line_uses_the_own_name(self):
        done = self.rocklock_as(ANN, "run", "a", "--", "sh", "-c", "echo $ROCKLOCK_PRINCIPAL")
        self.assertEqual((done.returncode, done.stdout), (0, name_of(ANN) + "\n"), done.stderr)
        done = self.rocklock_as(ANN, "acquire", "a", "--principal", name_of(BEN))
        self.assertEqual(done.returncode, 77)
        self.assertIn("principal-from-uid = require", done.stderr)

    def test_an_administrator_may_use_every_name(self):
        self.assertEqual(self.root.call("OpenSession", Principal="ann").status, 200)
        self.assertEqual(self.sessions(), [("ann", 0)])

    def test_a_client_over_tcp_has_no_name(self):
        self.started[0].terminate()
        self.started[0].wait()
        process = self.start("serve", "--memory", *self.options, "--http", "127.0.0.1:0")
        lines = [process.stderr.readline() for _ in range(2)]
        port = int(lines[1].rsplit(":", 1)[1])
        line = Web(port)
        self.addCleanup(line.socket.close)
        for principal in ("ann", name_of(ANN), "root", "uid 4294967295"):
            answer = line.call("OpenSession", {"Principal": principal})
            self.assertEqual(answer.error, "AccessDeniedException")
            self.assertIn("connect to the Unix socket", answer.text)
        self.assertEqual(line.call("ListLocks", {}).status, 200)


class Prefixed(Users):
    options = ("--principal-from-uid", "prefix")

    def test_the_name_of_the_user_comes_first(self):
        own = name_of(ANN) + "/"
        for given, used in (("batch", own + "batch"), (own + "x", own + "x"), (name_of(ANN), own + name_of(ANN)),
                            (name_of(BEN) + "/x", own + name_of(BEN) + "/x"), (own, own)):
            answer = self.call_as(ANN, "OpenSession", {"Principal": given})
            self.assertEqual(answer.get("Principal"), None if used == given else used)
            self.assertEqual(self.sessions()[-1], (used, ANN))
        grant = self.call_as(ANN, "Acquire", {"Principal": "b", "Locks": [{"Resource": "a"}]})
        self.assertEqual(grant["Principal"], own + "b")
        holder, = self.root.call("ListLocks").json["Locks"]
        self.assertEqual(holder["Principal"], own + "b")
        # The asker has the same prefix.
        holder, = self.call_as(ANN, "ListLocks", {"Asker": "b"})["Locks"]
        self.assertTrue(holder["You"])
        holder, = self.call_as(BEN, "ListLocks", {"Asker": own + "b"})["Locks"]
        self.assertNotIn("You", holder)

    def test_a_name_that_gets_too_long_or_is_empty_is_refused(self):
        self.assertEqual(self.error_as(ANN, "OpenSession", {"Principal": "x" * 1024}), "ValidationException")
        self.assertEqual(self.error_as(ANN, "OpenSession", {"Principal": ""}), "ValidationException")
        self.assertEqual(self.sessions(), [])

    def test_run_reports_the_name_to_its_command(self):
        done = self.rocklock_as(ANN, "run", "--principal", "batch", "a", "--", "sh", "-c", "echo $ROCKLOCK_PRINCIPAL")
        self.assertEqual((done.returncode, done.stdout), (0, name_of(ANN) + "/batch\n"), done.stderr)

    def test_an_administrator_keeps_the_name(self):
        self.root.call("OpenSession", Principal="ann")
        self.assertEqual(self.sessions(), [("ann", 0)])


class Settings(Sandbox):
    def test_the_setting_can_be_in_the_file_or_the_environment(self):
        def printed(**options):
            done = self.rocklock("serve", "--print-config", **options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return next(line for line in done.stdout.splitlines() if line.startswith("principal-from-uid"))

        self.assertEqual(printed(), "principal-from-uid = off    # default")
        environment = {"ROCKLOCK_PRINCIPAL_FROM_UID": "prefix"}
        self.assertIn("= prefix    # ROCKLOCK_PRINCIPAL_FROM_UID", printed(environment=environment))
        with self.configuration.open("a") as file:
            file.write("principal-from-uid = require\n")
        self.assertEqual(printed(), f"principal-from-uid = require    # {self.configuration}")
        done = self.rocklock("serve", "--principal-from-uid", "yes", "--print-config")
        self.assertEqual(done.returncode, 64)
        self.assertIn("off, require, prefix", done.stderr)


class LostLocks(Users):
    """A daemon that keeps drafts."""

    def setUp(self):
        super().setUp()
        line = Web(self.socket)
        self.addCleanup(line.socket.close)
        self.assertEqual(call(line, "CreateTable", {**TABLE, "TableName": "orders"}).status, 200)
        self.assertEqual(self.root.call("BindTable", TableName="orders", Resource="orders/{id}").status, 200)
        self.root.call("PutClass", Pattern="orders/*", Drafts=True)

    def lose(self, uid, principal, sender=None):
        """A user loses a lock, and a late write of the user or of `sender` is kept as a draft. Returns its number."""
        grant = self.call_as(uid, "Acquire", {"Principal": principal, "Locks": [{"Resource": "orders/1"}]})
        self.assertIn("Grant", grant)
        self.assertEqual(self.root.call("Break", Grant=grant["Grant"], Reason="lunch").status, 200)
        headers = {"X-Rocklock-Session": f"{grant['Session']}:{grant['Secret']}", "X-Rocklock-Token": grant["Token"]}
        late = self.call_as(uid if sender is None else sender, "DynamoDB_20120810.PutItem", LATE, headers)
        self.assertEqual(late.get("Drafts"), 1, late)
        used = grant.get("Principal", principal)
        return self.root.call("ListDrafts", Principal=used).json["Drafts"][-1]["Id"]

    def seen_as(self, uid, principal):
        proof = self.proof_as(uid, principal)
        return [draft["Id"] for draft in self.call_as(uid, "ListDrafts", proof)["Drafts"]]


class Drafts(LostLocks):
    """A draft belongs to the user whose session has lost the lock."""

    def test_only_the_own_user_and_administrators_see_them(self):
        draft = self.lose(ANN, "editor")
        self.assertEqual(self.seen_as(ANN, "editor"), [draft])
        # Another user who names the same principal neither sees the draft nor can remove it.
        self.assertEqual(self.seen_as(BEN, "editor"), [])
        proof = self.proof_as(BEN, "editor")
        for verb in ("TakeDraft", "DiscardDraft"):
            self.assertEqual(self.error_as(BEN, verb, {**proof, "Id": draft}), "ResourceNotFoundException")
        for verb, body in (("ListDrafts", {}), ("TakeDraft", {"Id": draft}), ("DiscardDraft", {"Id": draft})):
            self.assertEqual(self.error_as(BEN, verb, {"Principal": "editor", **body}), "AccessDeniedException")
        # An administrator sees it by the name, and in a session.
        self.assertEqual(len(self.root.call("ListDrafts", Principal="editor").json["Drafts"]), 1)
        self.assertEqual(len(self.root.call("ListDrafts", **proof).json["Drafts"]), 1)
        taken = self.call_as(ANN, "TakeDraft", {**self.proof_as(ANN, "editor"), "Id": draft})
        self.assertEqual(taken["Write"]["Put"]["Item"], LATE["Item"])
        self.assertEqual(self.seen_as(ANN, "editor"), [])

    def test_pages_contain_the_own_ones_only(self):
        first = self.lose(ANN, "editor")
        other = self.lose(BEN, "editor")
        second = self.lose(ANN, "editor")
        self.assertEqual(self.seen_as(ANN, "editor"), [first, second])
        self.assertEqual(self.seen_as(BEN, "editor"), [other])
        page = self.call_as(ANN, "ListDrafts", {**self.proof_as(ANN, "editor"), "Limit": 1})
        self.assertEqual([draft["Id"] for draft in page["Drafts"]], [first])
        page = self.call_as(ANN, "ListDrafts", {**self.proof_as(ANN, "editor"), "Limit": 1, "Next": page["Next"]})
        self.assertEqual([draft["Id"] for draft in page["Drafts"]], [second])
        self.assertNotIn("Next", page)

    def test_belong_to_the_user_of_the_session_whoever_sends_the_write(self):
        draft = self.lose(ANN, "editor", sender=BEN)
        self.assertEqual(self.seen_as(ANN, "editor"), [draft])
        self.assertEqual(self.seen_as(BEN, "editor"), [])

    def test_only_the_own_user_can_save_them(self):
        draft = self.lose(ANN, "editor")

        def save_as(uid, verb):
            grant = self.call_as(uid, "Acquire", {"Principal": "editor", "Locks": [{"Resource": "orders/1"}]})
            proof = {"Session": grant["Session"], "Secret": grant["Secret"]}
            if verb == "PutItem":
                headers = {"X-Rocklock-Session": f"{grant['Session']}:{grant['Secret']}",
                           "X-Rocklock-Token": grant["Token"], "X-Rocklock-Draft": draft}
                answer = self.call_as(uid, "DynamoDB_20120810.PutItem", LATE, headers)
            else:
                answer = self.call_as(uid, "SaveEdit", {**proof, "Token": grant["Token"], "FromDrafts": [draft],
                                                        "TransactItems": [{"Put": LATE}]})
            self.call_as(uid, "Release", {**proof, "Grant": grant["Grant"]})
            return answer.get("__type", "").rpartition("#")[2]

        for verb in ("PutItem", "SaveEdit"):
            self.assertEqual(save_as(BEN, verb), "ResourceNotFoundException", verb)
        self.assertEqual(self.seen_as(ANN, "editor"), [draft])
        self.assertEqual(save_as(ANN, "SaveEdit"), "")
        self.assertEqual(self.seen_as(ANN, "editor"), [])

    def test_those_of_a_session_that_root_opened_are_for_administrators(self):
        draft = self.lose(0, "editor")
        self.assertEqual(self.seen_as(ANN, "editor"), [])
        self.assertEqual(self.seen_as(0, "editor"), [draft])

    def test_the_command_line_shows_the_own_ones(self):
        draft = self.lose(ANN, "editor")
        for uid, shown in ((ANN, [str(draft)]), (BEN, [])):
            proof = self.proof_as(uid, "editor")
            owner = {"ROCKLOCK_SESSION": f"{proof['Session']}:{proof['Secret']}"}
            done = self.rocklock_as(uid, "drafts", "ls", environment=owner)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([line.split()[0] for line in done.stdout.splitlines()[1:]], shown)
            done = self.rocklock_as(uid, "drafts", "take", draft, environment=owner)
            self.assertEqual(done.returncode, 0 if shown else 64, done.stderr)
        self.assertEqual(self.seen_as(ANN, "editor"), [])


class DraftsWithARule(LostLocks):
    """The rule proves the principal of a session."""

    options = ("--principal-from-uid", "prefix")

    def test_the_own_user_sees_those_of_a_session_that_root_opened(self):
        draft = self.lose(0, f"{name_of(ANN)}/editor")
        self.assertEqual(self.seen_as(ANN, "editor"), [draft])
        self.assertEqual(self.seen_as(BEN, "editor"), [])

    def test_another_user_cannot_name_the_principal(self):
        draft = self.lose(ANN, "editor")
        self.assertEqual(self.seen_as(BEN, f"{name_of(ANN)}/editor"), [])
        self.assertEqual(self.seen_as(ANN, f"{name_of(ANN)}/editor"), [draft])


if __name__ == "__main__":
    tap.main()
