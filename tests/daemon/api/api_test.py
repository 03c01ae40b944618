"""The lock API over the socket, at the level of bytes."""

import json
import os
import pathlib
import subprocess
import time
from datetime import datetime

import tap
from harness import Sandbox, wait_until


class Verbs(Sandbox):
    def test_the_life_of_a_session(self):
        api = self.api()
        session = api.call("OpenSession", Principal="ann", LeaseMs=10_000, Note="x", Metadata={"k": "v"}).json
        proof = {"Session": session["Session"], "Secret": session["Secret"]}
        self.assertEqual(session["LeaseMs"], 10_000)
        self.assertLessEqual(session["RemainingMs"], 10_000)
        boot = time.clock_gettime(time.CLOCK_BOOTTIME) * 1000
        self.assertLess(abs(session["DeadlineBootMs"] - boot - 10_000), 2_000)
        boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self.assertEqual(session["BootId"], boot_id)
        self.assertEqual(api.call("Ping").json["BootId"], boot_id)
        grant = api.call("Acquire", **proof, Locks=[{"Resource": "a", "Mode": "read"},
                                                    {"Resource": "b", "To": "edit"}]).json
        self.assertEqual([lock["Mode"] for lock in grant["Locks"]], ["read", "write"])
        self.assertFalse(grant["Waited"])
        self.assertEqual(grant["BootId"], boot_id)
        self.assertNotIn("Secret", grant)
        renewed = api.call("RenewSession", **proof, LeaseMs=20_000).json
        self.assertGreater(renewed["RemainingMs"], 15_000)
        self.assertNotIn("Secret", renewed)
        converted = api.call("Convert", **proof, Grant=grant["Grant"],
                             Locks=[{"Resource": "a", "Mode": "write"}]).json
        self.assertGreater(converted["Token"], grant["Token"])
        listed = api.call("ListLocks", Session=session["Session"]).json["Locks"]
        self.assertEqual([(row["Resource"], row["Mode"]) for row in listed], [("a", "write"), ("b", "write")])
        sessions = api.call("ListSessions").json["Sessions"]
        self.assertEqual([(row["Principal"], row["Grants"], row["Metadata"]) for row in sessions],
                         [("ann", 1, {"k": "v"})])
        self.assertEqual(api.call("Release", **proof, Grant=grant["Grant"]).json, {"Outcome": "released"})
        self.assertEqual(api.call("Release", **proof, Grant=grant["Grant"]).json["Outcome"],
                         "already_released")
        again = api.call("Acquire", **proof, Locks=[{"Resource": "c"}]).json
        self.assertEqual(api.call("CloseSession", **proof).json, {"Released": [again["Grant"]]})
        ended = api.call("RenewSession", **proof)
        self.assertEqual((ended.status, ended.error), (400, ended.error))
        self.assertIn(ended.error, ("SessionExpiredException", "SessionNotFoundException"))

    def test_a_deadline_is_the_same_on_both_clocks_in_every_response(self):
        api = self.api()
        session = api.call("OpenSession", Principal="ann", LeaseMs=600_000).json
        proof = {"Session": session["Session"], "Secret": session["Secret"]}

        def apart(answer):
            wall = datetime.fromisoformat(answer["Deadline"])
            return round(wall.timestamp() * 1000) - answer["DeadlineBootMs"]

        differences = [apart(api.call("RenewSession", **proof).json) for _ in range(200)]
        # The system clock may have drifted by a millisecond just now.
        self.assertLessEqual(sum(one != other for one, other in zip(differences, differences[1:])), 1, differences)
        grant = api.call("Acquire", **proof, Locks=[{"Resource": "a"}]).json
        listed = {api.call("ListLocks").json["Locks"][0]["Deadline"] for _ in range(200)}
        self.assertLessEqual(len(listed | {grant["Deadline"]}), 2)

    def test_a_conflict_names_the_current_holders(self):
        api = self.api()
        held = api.call("Acquire", Principal="ann", LeaseMs=60_000, Note="why", Locks=[{"Resource": "a"}]).json
        refused = api.call("Acquire", Principal="bob", Locks=[{"Resource": "a"}])
        self.assertEqual((refused.status, refused.error), (400, "LockConflictException"))
        blocker = refused.json["Blockers"][0]
        self.assertEqual((blocker["Principal"], blocker["Grant"], blocker["Note"], blocker["Mode"]),
                         ("ann", held["Grant"], "why", "write"))
        self.assertEqual((blocker["Pid"], blocker["Uid"]), (os.getpid(), os.getuid()))
        self.assertNotIn("Secret", refused.body.decode())

    def test_the_first_available_of_several_modes_is_granted(self):
        api = self.api()

        def modes(**members):
            answer = api.call("Acquire", **members)
            return answer.error or [lock["Mode"] for lock in answer.json["Locks"]]

        either = {"Resource": "a", "Modes": ["write", "read"]}
        ann = api.call("Acquire", Principal="ann", Locks=[{"Resource": "a", "Mode": "read"}]).json
        both = [either, {"Resource": "b", "Modes": ["exclusive", "read"]}]
        self.assertEqual(modes(Principal="bob", RequestId="r", Locks=both), ["read", "exclusive"])
        api.call("Release", Session=ann["Session"], Secret=ann["Secret"], Grant=ann["Grant"])
        # A retry returns the modes that were granted, not those that would be possible now.
        self.assertEqual(modes(Principal="bob", RequestId="r", Locks=both), ["read", "exclusive"])
        self.assertEqual(modes(Principal="bob", RequestId="r", Locks=both[::-1]),
                         "IdempotentParameterMismatchException")
        self.assertEqual(modes(Principal="ann", Locks=[{"Resource": "b", "Modes": ["write", "read"]}]),
                         "LockConflictException")
        for wrong, message in ((["write", "write"], "the mode write is given twice"), ([], "Modes is empty"),
                            (["edit"], "Locks[0].Modes[0] must be one of read, write, exclusive"),
                            ("read", "Locks[0].Modes must be an array")):
            refused = api.call("Acquire", Principal="ann", Locks=[{"Resource": "c", "Modes": wrong}])
            self.assertEqual(refused.error, "ValidationException")
            self.assertIn(message, refused.json["message"])
        refused = api.call("Acquire", Principal="ann", Locks=[{**either, "Mode": "read"}])
        self.assertIn("give exactly one of Modes, Mode and To", refused.json["message"])

    def test_another_session_of_the_same_principal_is_marked(self):
        api = self.api()
        api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}])
        self.assertTrue(api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}]).json["You"])

    def test_the_same_request_id_gets_the_same_grant(self):
        api = self.api()
        request = {"Principal": "ann", "RequestId": "r1", "Locks": [{"Resource": "a"}]}
        first = api.call("Acquire", **request).json
        second = api.call("Acquire", **request).json
        self.assertEqual((first["Grant"], first["Session"], first["Secret"]),
                         (second["Grant"], second["Session"], second["Secret"]))
        other = api.call("Acquire", **request | {"Locks": [{"Resource": "b"}]})
        self.assertEqual(other.error, "IdempotentParameterMismatchException")

    def test_transfer_and_steal(self):
        api = self.api()
        ann = api.call("OpenSession", Principal="ann").json
        bob = api.call("OpenSession", Principal="bob").json
        grant = api.call("Acquire", Session=ann["Session"], Secret=ann["Secret"], Locks=[{"Resource": "a"}]).json
        moved = api.call("Transfer", Session=ann["Session"], Secret=ann["Secret"], Grant=grant["Grant"],
                         To=bob["Session"]).json
        self.assertGreater(moved["Token"], grant["Token"])
        stolen = api.call("Steal", Session=ann["Session"], Secret=ann["Secret"], Grant=moved["Grant"],
                          Reason="mine").json
        self.assertGreater(stolen["Token"], moved["Token"])
        lost = api.call("RenewSession", Session=bob["Session"], Secret=bob["Secret"]).json["Lost"]
        self.assertEqual((lost[0]["Grant"], lost[0]["Outcome"], lost[0]["By"]),
                         (moved["Grant"], "stolen", "ann"))

    def test_classes(self):
        api = self.api()
        put = api.call("PutClass", Pattern="orders/*", Policy="read_write", MaxLeaseMs=60_000).json
        self.assertEqual(put["Policy"], "read_write")
        self.assertEqual(api.call("ListClasses").json["Classes"][0]["MaxLeaseMs"], 60_000)
        held = api.call("Acquire", Principal="ann", Locks=[{"Resource": "orders/1", "To": "read"}]).json
        self.assertEqual(held["Locks"][0]["Mode"], "read")
        self.assertEqual(api.call("ShowLock", Resource="orders/1").json["Class"]["Pattern"], "orders/*")
        self.assertEqual(api.call("DeleteClass", Pattern="orders/*").status, 200)

    def test_ping(self):
        answer = self.api().call("Ping").json
        self.assertEqual((answer["Pid"], answer["Store"]), (self.daemon_pid(), "memory"))

    def test_statistics_and_outliers(self):
        api = self.api()
        ann, ben = (api.call("OpenSession", Principal=name).json for name in ("ann", "ben"))
        ann, ben = ({"Session": one["Session"], "Secret": one["Secret"]} for one in (ann, ben))
        grants = [api.call("Acquire", **ann, Locks=[{"Resource": name, "Mode": mode}]).json["Grant"]
                  for name, mode in (("a", "exclusive"), ("b", "read"))]
        api.call("Acquire", **ben, Locks=[{"Resource": "a"}], PatienceMs=1)
        api.call("Release", **ann, Grant=grants[1])
        api.call("RenewSession", **ann)
        counts = api.call("ShowStatistics").json
        self.assertEqual([counts[name] for name in ("ReadLocksGranted", "WriteLocksGranted", "ExclusiveLocksGranted",
                                                    "PermitsGranted", "SessionsOpened", "Renewals", "QueueFull")],
                         [1, 0, 1, 0, 2, 1, 0])
        self.assertGreater(counts["EventsKept"], 0)
        for name, count in (("WaitTimes", 0), ("HoldTimes", 1), ("RenewMargins", 1), ("AcquireTimes", 2)):
            histogram = counts[name]
            self.assertEqual(sum(histogram["Counts"]), count, name)
            self.assertEqual(len(histogram["Counts"]), len(histogram["BoundsUs"]) + 1)
        # The rest of a lease of thirty seconds counts in the matching bucket and in the sum.
        margins = counts["RenewMargins"]
        self.assertEqual(margins["Counts"][margins["BoundsUs"].index(30_000_000)], 1)
        self.assertLessEqual(margins["SumUs"], 30_000_000)
        outliers = api.call("ListOutliers", Limit=5).json
        self.assertEqual([(row["Resource"], row["Grant"]) for row in outliers["LongestHeld"]], [("a", grants[0])])
        self.assertEqual(outliers["Hottest"], [{"Resource": "a", "Waits": 1}])
        self.assertEqual(api.call("ListOutliers", Limit=0).error, "ValidationException")
        you = [row.get("You") for row in api.call("ListLocks", Asker="ann").json["Locks"]]
        self.assertEqual(you, [True])

    def test_lists_have_pages(self):
        api = self.api()
        for number in range(5):
            api.call("Acquire", Principal="ann", Locks=[{"Resource": f"r{number}"}])
        for verb, key in (("ListLocks", "Locks"), ("ListSessions", "Sessions")):
            seen, page = [], {"Next": ""}
            while "Next" in page:
                page = api.call(verb, Limit=2, **({"Next": page["Next"]} if page["Next"] else {})).json
                self.assertLessEqual(len(page[key]), 2)
                seen += page[key]
            self.assertEqual(len({row["Session"] for row in seen}), 5)

    def test_a_page_ends_when_its_texts_reach_a_megabyte(self):
        api = self.api()
        for _ in range(300):
            opened = api.call("OpenSession", Principal="p" * 1000, LeaseMs=600_000, Note="x" * 4000).json
            proof = {"Session": opened["Session"], "Secret": opened["Secret"]}
            grant = api.call("Acquire", Locks=[{"Resource": "a" * 1000}], Note="y" * 4000, **proof).json["Grant"]
            self.assertEqual(api.call("Release", Grant=grant, **proof).status, 200)
        for verb, rows, members in (("ListSessions", "Sessions", {"Limit": 10_000}),
                                    ("ListHistory", "Rows", {"Limit": 1000, "Resource": "a" * 1000})):
            first = api.call(verb, **members).json
            self.assertTrue(150 < len(first[rows]) < 250, (verb, len(first[rows])))
            second = api.call(verb, Next=first["Next"], **members).json
            self.assertEqual(len(first[rows]) + len(second[rows]), 300, verb)
            self.assertNotIn("Next", second)
        # Each event has the name of the resource and the principal.
        first = api.call("Watch", After=0, Limit=10_000).json
        self.assertTrue(500 < len(first["Events"]) < 550, len(first["Events"]))
        second = api.call("Watch", After=first["After"], Limit=10_000).json
        self.assertEqual(len(first["Events"]) + len(second["Events"]), 600)


class Refusals(Sandbox):
    def test_errors_of_malformed_requests_list_the_allowed_values(self):
        api = self.api()
        lock = [{"Resource": "a"}]
        cases = [
            ({"Locks": lock}, "Principal"),
            ({"Principal": "ann"}, "Locks is missing"),
            ({"Principal": "ann", "Locks": []}, "1"),
            ({"Principal": "ann", "Locks": lock, "Patience": 3}, "Patience is not a known member; the known members are"),
            ({"Principal": "ann", "Locks": [{"Resource": "a", "Mod": "read"}]}, "Locks[0].Mod is not a known member"),
            ({"Principal": "ann", "Locks": [{"Resource": 7}]}, "Locks[0].Resource must be a string"),
            ({"Principal": "ann", "Locks": [{"Resource": "a", "Mode": "rw"}]}, "read, write, exclusive"),
            ({"Principal": "ann", "Locks": [{"Resource": "a", "Mode": "read", "To": "read"}]}, "not both"),
            ({"Principal": "ann", "Locks": lock, "PatienceMs": -2}, "-1: wait without a limit"),
            ({"Principal": "ann", "Locks": lock, "PatienceMs": 1.5}, "PatienceMs must be a whole number"),
            ({"Principal": "ann", "Locks": lock, "LeaseMs": 5}, "100"),
            ({"Principal": "ann", "Locks": [{"Resource": ""}]}, "1"),
            ({"Principal": "ann", "Locks": [{"Resource": "x" * 1025}]}, "1"),
            ({"Principal": "ann", "Locks": [{"Resource": "a\0b"}]}, "NUL"),
            ({"Principal": "ann", "Locks": lock * 2}, "twice"),
            ({"Principal": "ann", "Locks": [{"Resource": str(n)} for n in range(101)]}, "100"),
            ({"Principal": "ann", "Locks": lock, "Note": "x" * 4097}, "4"),
            ({"Principal": "ann", "Locks": lock, "Metadata": {"a": 1}}, "object of strings"),
            ({"Principal": "ann", "Locks": lock, "Held": "maybe"}, "refuse, join, count"),
            ({"Principal": "ann", "Locks": lock, "Pid": 3}, "Bound: process"),
            ({"Session": "x", "Secret": "y", "Locks": lock}, "22 characters"),
            ({"Principal": "", "Locks": lock}, "1"),
        ]
        for members, text in cases:
            answer = api.call("Acquire", **members)
            self.assertEqual(answer.status, 400, members)
            self.assertIn(answer.error, ("ValidationException", "LimitExceededException"), members)
            self.assertIn(text, answer.json["message"], members)
        self.assertEqual(api.call("ListLocks").json["Locks"], [])

    def test_bodies_that_are_not_json_objects(self):
        api = self.api()
        for body in (b"{", b"[]", b"nonsense", b'{"Principal":"\xff"}', b"[" * 200):
            api.send("Acquire", body)
            self.assertEqual(api.receive().error, "ValidationException", body)
        api.send("Acquire", b'{"Principal":"\xff"}')
        self.assertEqual(api.receive().json["message"], "Principal is not valid UTF-8")
        self.assertEqual(api.call("Ping").status, 200)
        self.assertIn("this request has no members", api.call("Ping", Other=1).json["message"])

    def test_a_request_id_opens_one_session(self):
        api = self.api()
        asked = {"Principal": "ann", "RequestId": "x", "LeaseMs": 60_000}
        first = api.call("OpenSession", **asked).json["Session"]
        self.assertEqual(api.call("OpenSession", **asked).json["Session"], first)
        for other in ({"LeaseMs": 50_000}, {"Bound": "connection"}):
            self.assertEqual(api.call("OpenSession", **asked | other).error,
                             "IdempotentParameterMismatchException", other)

    def test_the_history_of_an_empty_name_is_refused(self):
        api = self.api()
        for name in ("", "x" * 1025):
            self.assertEqual(api.call("ListHistory", Resource=name).error, "ValidationException")
        self.assertEqual(self.rocklock("history", "x" * 1025).returncode, 64)

    def test_unknown_verbs_and_paths(self):
        api = self.api()
        self.assertEqual(api.call("Dance").error, "UnknownOperationException")
        api.send("x", {}, headers="X-Amz-Target: DynamoDB_20120810.PutItem\r\n")
        self.assertEqual(api.receive().status, 400)
        api.socket.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(api.receive().status, 404)
        api.socket.sendall(b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(api.receive().status, 405)
        self.assertEqual(api.call("Ping").status, 200)

    def test_another_users_secret_or_grant_changes_nothing(self):
        api = self.api()
        ann = api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}]).json
        bob = api.call("Acquire", Principal="bob", Locks=[{"Resource": "b"}]).json
        for verb in ("Release", "Convert"):
            extra = {"Mode": "read"} if verb == "Convert" else {}
            foreign = api.call(verb, Session=bob["Session"], Secret=bob["Secret"], Grant=ann["Grant"], **extra)
            self.assertEqual(foreign.error, "NotOwnerException")
            wrong = api.call(verb, Session=ann["Session"], Secret=bob["Secret"], Grant=ann["Grant"], **extra)
            self.assertEqual(wrong.error, "NotOwnerException")
        self.assertEqual(len(api.call("ListLocks").json["Locks"]), 2)

    def test_administration_is_for_the_daemons_user_and_root(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        api = self.api()
        grant = api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}]).json["Grant"]
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)
        code = ("import json,socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
                "for verb,body in (('Break',{'Grant':int(sys.argv[2]),'Reason':'x'}),('EndSessions',{'Principal':'ann','Reason':'x'}),"
                "('PutClass',{'Pattern':'x'}),('Ping',{})):\n"
                " d=json.dumps(body).encode()\n"
                " s.sendall(b'POST / HTTP/1.1\\r\\nX-Amz-Target: Rocklock_20261121.%s\\r\\n"
                "Content-Length: %d\\r\\n\\r\\n'%(verb.encode(),len(d))+d)\n"
                " print(s.recv(9999).decode().splitlines()[-1])\n")
        done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                               "/usr/bin/python3", "-c", code, str(self.socket), str(grant)],
                              capture_output=True, text=True, timeout=60, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line.get("__type") for line in lines],
                         ["rocklock#AccessDeniedException"] * 3 + [None])


class EndingSessions(Sandbox):
    """An administrator ends sessions of other users."""

    def hold(self, api, principal, *resources):
        opened = api.call("OpenSession", Principal=principal, LeaseMs=600_000).json
        session = {"Session": opened["Session"], "Secret": opened["Secret"]}
        grants = [api.call("Acquire", Locks=[{"Resource": one}], **session).json["Grant"]
                  for one in resources]
        return session, grants

    def test_one_ends_with_all_of_its_grants(self):
        api = self.api()
        session, grants = self.hold(api, "ann", "a", "b")
        other, _ = self.hold(api, "ann", "c")
        ended = api.call("EndSession", Session=session["Session"], Reason="ann has left")
        self.assertEqual(ended.json["Released"], grants)
        renewal = api.call("RenewSession", **session)
        self.assertEqual(renewal.error, "SessionExpiredException")
        self.assertIn("ann has left", renewal.body.decode())
        released = api.call("Release", Grant=grants[0], **session).json
        self.assertEqual((released["Outcome"], released["Reason"]), ("broken", "ann has left"))
        audit = api.call("ListAudit").json["Rows"]
        self.assertEqual([(row["Outcome"], row["Grant"]) for row in audit],
                         [("broken", grant) for grant in grants])
        self.assertEqual(api.call("RenewSession", **other).status, 200)
        again = api.call("EndSession", Session=session["Session"], Reason="x")
        self.assertEqual(again.error, "SessionExpiredException")

    def test_all_of_a_principal_end_and_stay_ended(self):
        self.serve()
        api = self.connect()
        for number in range(300):
            self.hold(api, "ann", f"a{number}")
        bob, _ = self.hold(api, "bob", "b")
        ended = api.call("EndSessions", Principal="ann", Reason="ann has left")
        self.assertEqual(ended.json, {"Sessions": 300})
        self.assertEqual(len(api.call("ListSessions").json["Sessions"]), 1)
        self.assertEqual(api.call("EndSessions", Principal="ann", Reason="x").json, {"Sessions": 0})
        self.kill_daemon()
        self.serve()
        again = self.connect()
        self.assertEqual([row["Principal"] for row in again.call("ListLocks").json["Locks"]], ["bob"])
        self.assertEqual(again.call("RenewSession", **bob).status, 200)

    def test_all_of_a_user_end(self):
        api = self.api()
        self.hold(api, "ann", "a")
        self.hold(api, "bob", "b")
        other = os.getuid() + 1
        self.assertEqual(api.call("EndSessions", Uid=other, Reason="x").json, {"Sessions": 0})
        self.assertEqual(len(api.call("ListLocks").json["Locks"]), 2)
        done = self.rocklock("session", "end", "--uid", other, "--reason", "x")
        self.assertEqual((done.returncode, done.stdout), (0, "0 sessions ended\n"), done.stderr)
        done = self.rocklock("session", "end", "--uid", os.getuid(), "--reason", "the user has left")
        self.assertEqual((done.returncode, done.stdout), (0, "2 sessions ended\n"), done.stderr)
        self.assertEqual(api.call("ListLocks").json["Locks"], [])
        for words in (("--uid", "ann"), ("--uid", "-1"), ("--uid", "4294967296"), ("--uid", ""),
                      ("--uid", "0", "--principal", "ann")):
            self.assertEqual(self.rocklock("session", "end", *words, "--reason", "x").returncode, 64, words)

    def test_a_reason_and_a_name_are_needed(self):
        api = self.api()
        session, _ = self.hold(api, "ann", "a")
        for verb, members in (("EndSession", {"Session": session["Session"], "Reason": ""}),
                              ("EndSession", {"Session": session["Session"]}),
                              ("EndSession", {"Reason": "x"}),
                              ("EndSessions", {"Principal": "ann", "Reason": ""}),
                              ("EndSessions", {"Principal": "", "Reason": "x"}),
                              ("EndSessions", {"Reason": "x"}),
                              ("EndSessions", {"Uid": -1, "Reason": "x"}),
                              ("EndSessions", {"Uid": 0}),
                              ("EndSessions", {"Principal": "ann", "Uid": 0, "Reason": "x"})):
            self.assertEqual(api.call(verb, **members).error, "ValidationException", members)
        self.assertEqual(api.call("RenewSession", **session).status, 200)

    def test_the_verb_of_the_program(self):
        api = self.api()
        session, _ = self.hold(api, "ann", "a")
        self.hold(api, "bob", "b")
        self.hold(api, "bob", "c")
        done = self.rocklock("session", "end", session["Session"], "--reason", "for today")
        self.assertEqual((done.returncode, done.stdout), (0, "session ended, with 1 grant\n"))
        done = self.rocklock("session", "end", "--principal", "bob", "--reason", "for today", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, {"Sessions": 2}))
        self.assertEqual(api.call("ListSessions").json["Sessions"], [])
        for words in (("--reason", "x"), (session["Session"],), ("nonsense", "--reason", "x"),
                      (session["Session"], "--principal", "bob", "--reason", "x")):
            self.assertEqual(self.rocklock("session", "end", *words).returncode, 64, words)


class Http(Sandbox):
    def test_requests_in_one_piece_are_answered_in_order(self):
        api = self.api()
        body = b'{"Principal":"ann"}'
        one = (b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.%s\r\nContent-Length: %d\r\n\r\n%s")
        api.socket.sendall(b"".join(one % (b"OpenSession", len(body), body) + one % (b"Ping", 2, b"{}")
                                    for _ in range(50)))
        for _ in range(50):
            self.assertIn("Session", api.receive().json)
            self.assertIn("Pid", api.receive().json)

    def test_a_request_may_come_byte_by_byte(self):
        api = self.api()
        for byte in b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\nContent-Length: 2\r\n\r\n{}":
            api.socket.sendall(bytes([byte]))
        self.assertEqual(api.receive().status, 200)

    def test_a_refusal_keeps_the_connection_and_close_ends_it(self):
        api = self.api()
        self.assertEqual(api.call("Acquire").status, 400)
        api.send("Ping", {}, headers="Connection: close\r\n")
        self.assertEqual(api.receive().status, 200)
        self.assertEqual(api.file.read(), b"")

    def test_limits(self):
        self.api()
        api = self.connect()
        api.socket.sendall(b"POST / HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n\r\n")
        self.assertEqual(api.receive().status, 431)
        api = self.connect()
        api.socket.sendall(b"POST / HTTP/1.1\r\nContent-Length: 16777217\r\n\r\n")
        self.assertEqual(api.receive().status, 413)
        api = self.connect()
        api.send("Ping", b" " * (16 << 20))
        self.assertEqual(api.receive().status, 400)
        self.assertEqual(api.call("Ping").status, 200)
        api = self.connect()
        api.socket.sendall(b"HELLO\r\n\r\n")
        self.assertEqual(api.receive().status, 400)

    def test_chunks_and_continue(self):
        api = self.api()
        api.socket.sendall(b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")
        self.assertEqual(api.receive().status, 200)
        api.socket.sendall(b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\n"
                           b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        self.assertEqual(api.file.readline(), b"HTTP/1.1 100 Continue\r\n")
        api.file.readline()
        api.socket.sendall(b"{}")
        self.assertEqual(api.receive().status, 200)

    def test_a_client_that_does_not_read_does_not_delay_others(self):
        api = self.api()
        slow = self.connect()
        slow.socket.setblocking(False)
        request = (b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\nContent-Length: 2\r\n\r\n{}")
        try:
            while True:
                slow.socket.send(request * 100)
        except BlockingIOError:
            pass
        start = time.monotonic()
        self.assertEqual(api.call("Ping").status, 200)
        self.assertLess(time.monotonic() - start, 1)

    def test_a_thousand_connections(self):
        self.api()
        connections = [self.connect() for _ in range(1000)]
        for connection in connections:
            connection.send("Ping", {})
        for connection in connections:
            self.assertEqual(connection.receive().status, 200)


class HangingUp(Sandbox):
    def waiters(self, api):
        return len(api.call("ShowLock", Resource="a").json["Waiters"])

    # W6: the wait has no timeout, so only the end of the connection removes the waiter.
    def test_a_waiter_that_hangs_up_leaves_the_queue(self):
        api = self.api()
        api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}])
        other = self.connect()
        other.send("Acquire", {"Principal": "bob", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
        wait_until(lambda: self.waiters(api) == 1, "bob waits")
        other.close()
        wait_until(lambda: self.waiters(api) == 0, "bob is gone")

    def test_an_undelivered_grant_is_released(self):
        api = self.api()
        for _ in range(50):
            held = api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}]).json
            self.assertIn("Grant", held)
            other = self.connect()
            other.send("Acquire", {"Principal": "bob", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
            wait_until(lambda: self.waiters(api) == 1, "bob waits")
            api.send("Release", {"Session": held["Session"], "Secret": held["Secret"], "Grant": held["Grant"]})
            other.close()
            api.receive()
            wait_until(lambda: not api.call("ListLocks").json["Locks"], "nothing is held")

    def test_a_session_of_a_connection_ends_with_it(self):
        api = self.api()
        other = self.connect()
        other.call("Acquire", Principal="bob", Bound="connection", LeaseMs=600_000, Locks=[{"Resource": "a"}])
        self.assertEqual(len(api.call("ListLocks").json["Locks"]), 1)
        other.close()
        wait_until(lambda: not api.call("ListLocks").json["Locks"], "it has ended")

    def test_a_session_of_a_process_ends_with_it(self):
        api = self.api()
        child = subprocess.Popen(["sleep", "1000"])
        try:
            session = api.call("OpenSession", Principal="bob", Bound="process", Pid=child.pid).json
            api.call("Acquire", Session=session["Session"], Secret=session["Secret"], Locks=[{"Resource": "a"}])
            self.assertEqual(len(api.call("ListLocks").json["Locks"]), 1)
        finally:
            child.kill()
            child.wait()
        wait_until(lambda: not api.call("ListLocks").json["Locks"], "it has ended")

    def test_a_session_ends_when_the_last_of_its_processes_does(self):
        api = self.api()
        first, second = (subprocess.Popen(["sleep", "1000"]) for _ in range(2))
        try:
            session = api.call("OpenSession", Principal="bob", Bound="process", Pid=first.pid).json
            proof = {"Session": session["Session"], "Secret": session["Secret"]}
            joined = api.call("JoinProcess", **proof, Pid=second.pid)
            self.assertEqual(joined.status, 200, joined.json)
            first.kill()
            first.wait()
            self.assertEqual(api.call("RenewSession", **proof).status, 200)
        finally:
            second.kill()
            second.wait()
            first.kill()
        wait_until(lambda: not api.call("ListSessions").json["Sessions"], "it has ended")

    def test_a_process_that_does_not_exist_is_refused(self):
        answer = self.api().call("OpenSession", Principal="bob", Bound="process", Pid=2**22 + 1)
        self.assertEqual(answer.error, "ValidationException")


if __name__ == "__main__":
    tap.main()
