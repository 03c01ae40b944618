"""Stealing locks: the policies of classes, over the socket and with the program."""

import json
import os
import signal
import subprocess
import time

import tap
from harness import PROGRAM, Sandbox, wait_until

# Longer than any test takes.
LONG_MS = 600_000


class Stealing(Sandbox):
    def open(self, api, principal, **more):
        session = api.call("OpenSession", Principal=principal, LeaseMs=LONG_MS, **more).json
        return {"Session": session["Session"], "Secret": session["Secret"]}

    def put_class(self, api, **members):
        answer = api.call("PutClass", Pattern="a", **members)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def taken(self, api, proof, resource="a", **more):
        answer = api.call("Acquire", **proof, Locks=[{"Resource": resource}], **more)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json["Grant"]

    def refused(self, api, proof, grant, policy):
        """Tries to steal and checks that this is refused. Returns when to retry, in
        milliseconds."""
        answer = api.call("Steal", **proof, Grant=grant, Reason="needed")
        self.assertEqual((answer.status, answer.error, answer.json.get("Policy")),
                         (400, "StealRefusedException", policy), answer.body)
        self.assertEqual(answer.json["Blockers"][0]["Grant"], grant)
        return answer.json.get("RetryAfterMs")


class Policies(Stealing):
    def test_a_class_is_returned_as_it_was_saved(self):
        api = self.api()
        put = self.put_class(api, Steal="ask", StealAfterMs=5000)
        self.assertEqual((put["Steal"], put["StealAfterMs"]), ("ask", 5000))
        self.assertEqual(api.call("ListClasses").json["Classes"], [put])
        self.assertEqual(api.call("PutClass", Pattern="b", Steal="idle").error, "ValidationException")
        self.assertEqual(api.call("PutClass", Pattern="b", Steal="never", StealAfterMs=1).error,
                         "ValidationException")

    def test_notices_are_received_when_they_are_decided(self):
        api = self.api()
        self.put_class(api, Steal="ask", StealAfterMs=LONG_MS)
        ann, bob = self.open(api, "ann"), self.open(api, "bob")
        grant = self.taken(api, ann)
        self.assertEqual(api.call("AwaitNotices", **ann).json, {"After": 0})
        self.assertEqual(api.call("AwaitNotices", Session=ann["Session"], Secret=bob["Secret"]).error,
                         "NotOwnerException")
        holder, asker = self.connect(), self.connect()
        holder.send("AwaitNotices", {**ann, "PatienceMs": -1})
        self.refused(api, bob, grant, "ask")
        notices = holder.receive().json
        wanted, = notices["Wanted"]
        self.assertEqual((wanted["Grant"], wanted["By"], wanted["Reason"]), (grant, "bob", "needed"))
        self.assertIn("AnswerBy", wanted)
        self.assertEqual(notices["After"], wanted["Number"])
        # The notice is returned again until it is confirmed.
        self.assertEqual(api.call("AwaitNotices", **ann).json, notices)
        asker.send("AwaitNotices", {**bob, "PatienceMs": -1})
        self.assertEqual(api.call("AnswerWanted", **ann, Grant=grant, Allow=False).status, 200)
        answer, = asker.receive().json["Answers"]
        self.assertEqual((answer["Grant"], answer["By"], answer["Allowed"]), (grant, "ann", False))
        self.assertIn("AskAgain", answer)
        holder.send("AwaitNotices", {**ann, "After": notices["After"], "PatienceMs": -1})
        self.assertEqual(api.call("Break", Grant=grant, Reason="maintenance").status, 200)
        lost, = holder.receive().json["Lost"]
        self.assertEqual((lost["Grant"], lost["Outcome"], lost["Reason"]), (grant, "broken", "maintenance"))
        # The end of the session ends the wait.
        holder.send("AwaitNotices", {**ann, "After": lost["Number"], "PatienceMs": -1})
        self.assertEqual(api.call("CloseSession", **ann).status, 200)
        self.assertEqual(holder.receive().error, "SessionExpiredException")

    def test_a_holder_is_asked_and_its_answers_count(self):
        api = self.api()
        self.put_class(api, Steal="ask", StealAfterMs=LONG_MS)
        ann, bob = self.open(api, "ann"), self.open(api, "bob")
        grant = self.taken(api, ann)
        self.assertLessEqual(self.refused(api, bob, grant, "ask"), LONG_MS)
        wanted = api.call("RenewSession", **ann).json["Wanted"]
        self.assertEqual([(w["Grant"], w["Resource"], w["By"], w["Mode"]) for w in wanted],
                         [(grant, "a", "bob", "write")])
        self.assertIn("AnswerBy", wanted[0])
        # A second request does not notify the holder again.
        self.refused(api, bob, grant, "ask")
        self.assertNotIn("Wanted", api.call("RenewSession", **ann).json)
        self.assertEqual(api.call("AnswerWanted", **bob, Grant=grant, Allow=True).error, "NotOwnerException")
        no = api.call("AnswerWanted", **ann, Grant=grant, Allow=False)
        self.assertEqual(no.json, {"Outcome": "held"})
        self.refused(api, bob, grant, "ask")
        yes = api.call("AnswerWanted", **ann, Grant=grant, Allow=True)
        self.assertEqual(yes.json, {"Outcome": "held"})
        stolen = api.call("Steal", **bob, Grant=grant, Reason="needed")
        self.assertEqual(stolen.status, 200, stolen.body)
        self.assertGreater(stolen.json["Token"], grant)
        # The former holder is notified once, and its later requests for the grant are refused.
        lost = api.call("RenewSession", **ann).json["Lost"]
        self.assertEqual([(l["Grant"], l["Outcome"], l["By"], l["Reason"]) for l in lost],
                         [(grant, "stolen", "bob", "needed")])
        self.assertNotIn("Lost", api.call("RenewSession", **ann).json)
        self.assertEqual(api.call("Convert", **ann, Grant=grant, Mode="read").error, "GrantEndedException")
        released = api.call("Release", **ann, Grant=grant).json
        self.assertEqual((released["Outcome"], released["By"], released["Reason"]), ("stolen", "bob", "needed"))
        self.assertEqual(api.call("AnswerWanted", **ann, Grant=grant, Allow=True).error, "GrantEndedException")

    def test_no_answer_allows_it_in_time(self):
        api = self.api()
        self.put_class(api, Steal="ask", StealAfterMs=400)
        ann, bob = self.open(api, "ann"), self.open(api, "bob")
        grant = self.taken(api, ann)
        began = time.monotonic()
        self.assertLessEqual(self.refused(api, bob, grant, "ask"), 400)
        wait_until(lambda: api.call("Steal", **bob, Grant=grant, Reason="needed").status == 200, "stolen")
        self.assertGreaterEqual(time.monotonic() - began, 0.4)

    def test_an_active_holder_does_not_count_as_idle(self):
        api = self.api()
        self.put_class(api, Steal="idle", StealAfterMs=LONG_MS)
        ann, bob = self.open(api, "ann"), self.open(api, "bob")
        grant = self.taken(api, ann)
        wait_until(lambda: self.refused(api, bob, grant, "idle") <= LONG_MS - 100, "time passes")
        api.call("RenewSession", **ann)
        self.assertLessEqual(self.refused(api, bob, grant, "idle"), LONG_MS - 100)
        before = time.monotonic()
        self.assertEqual(api.call("RenewSession", **ann, Active=True).status, 200)
        left = self.refused(api, bob, grant, "idle")
        self.assertGreaterEqual(left, LONG_MS - (time.monotonic() - before) * 1000 - 1)
        self.put_class(api, Steal="idle", StealAfterMs=50)
        wait_until(lambda: api.call("Steal", **bob, Grant=grant, Reason="needed").status == 200, "stolen")

    def test_a_holder_may_release_it_to_the_waiters(self):
        api = self.api()
        ann = self.open(api, "ann")
        grant = self.taken(api, ann)
        waiter = self.connect()
        waiter.send("Acquire", {"Principal": "bob", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
        self.wait_for_waiters("a", 1)
        wanted = api.call("RenewSession", **ann).json["Wanted"]
        self.assertEqual([(w["By"], "AnswerBy" in w) for w in wanted], [("bob", False)])
        self.assertEqual(api.call("AnswerWanted", **ann, Grant=grant, Allow=False).json, {"Outcome": "held"})
        self.assertEqual(api.call("AnswerWanted", **ann, Grant=grant, Allow=True).json, {"Outcome": "released"})
        answer = waiter.receive()
        self.assertEqual((answer.status, answer.json["Waited"]), (200, True))
        self.assertNotIn("Lost", api.call("RenewSession", **ann).json)

    def test_a_broken_lock_can_be_reacquired_if_it_was_not_granted_since(self):
        api = self.api()
        ann = self.open(api, "ann")
        grant = self.taken(api, ann)
        self.assertEqual(api.call("Break", Grant=grant, Reason="by mistake").status, 200)
        wrong = api.call("Reacquire", Session=ann["Session"], Secret="A" * 43, Grant=grant)
        self.assertEqual(wrong.error, "NotOwnerException")
        again = api.call("Reacquire", **ann, Grant=grant)
        self.assertEqual(again.status, 200, again.body)
        self.assertGreater(again.json["Token"], grant)
        self.assertEqual([lock["Resource"] for lock in again.json["Locks"]], ["a"])
        api.call("Break", Grant=again.json["Grant"], Reason="by mistake")
        api.call("Release", **ann, Grant=self.taken(api, ann))
        late = api.call("Reacquire", **ann, Grant=again.json["Grant"])
        self.assertEqual(late.error, "PreconditionFailedException")

    def test_only_administrators_may_force_a_steal_and_never_refuses_all_others(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        api = self.api()
        grants = [self.taken(api, self.open(api, "ann"), name) for name in ("a", "never")]
        self.put_class(api, Steal="ask", StealAfterMs=LONG_MS)
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)
        bob = self.open(api, "bob")
        code = ("import json,socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
                "for body in json.loads(sys.argv[2]):\n"
                " d=json.dumps(body).encode()\n"
                " s.sendall(b'POST / HTTP/1.1\\r\\nX-Amz-Target: Rocklock_20261121.Steal\\r\\n"
                "Content-Length: %d\\r\\n\\r\\n'%len(d)+d)\n"
                " print(s.recv(9999).decode().splitlines()[-1])\n")
        tries = [bob | {"Grant": grants[1], "Reason": "r"},
                 bob | {"Grant": grants[1], "Reason": "r", "Force": True},
                 bob | {"Grant": grants[0], "Reason": "r"}]
        done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                               "/usr/bin/python3", "-c", code, str(self.socket), json.dumps(tries)],
                              capture_output=True, text=True, timeout=60, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(line.get("__type"), line.get("Policy"), "RetryAfterMs" in line) for line in lines],
                         [("rocklock#StealRefusedException", "never", False),
                          ("rocklock#AccessDeniedException", None, False),
                          ("rocklock#StealRefusedException", "ask", True)])
        # Administrators are subject to the current policy of the class, unless they use force.
        self.refused(api, bob, grants[0], "ask")
        for grant, force in ((grants[0], True), (grants[1], False)):
            forced = api.call("Steal", **bob, Grant=grant, Reason="r", Force=force)
            self.assertEqual(forced.status, 200, forced.body)


class Answering(Stealing):
    # Runs the program with these arguments when the file exists, and then keeps running.
    AWAIT = 'while ! test -e "$0"; do sleep 0.01; done; "$@"; exec sleep 1000'

    def hold_and_ask(self, *options, command=("sleep", "1000"), **more):
        """Starts a `run` whose lock ben has asked for. Also returns a function that asks again."""
        self.put_class(self.api(), Steal="ask", StealAfterMs=LONG_MS)
        holder = self.hold("a", "--lease", "2s", "--principal", "ann", *options, command=command, **more)
        grant = self.show("a")["Holders"][0]["Grant"]

        def ask():
            return self.rocklock("steal", grant, "--reason", "r", "--principal", "ben")

        self.assertEqual(ask().returncode, 77)
        return holder, grant, ask

    def test_run_prints_the_request_to_steal_and_its_command_answers(self):
        for answer, said, status in (("--refuse", "refused", 77), ("--allow", "allowed", 0)):
            with self.subTest(answer):
                go, said_so = self.folder / f"go{answer}", self.folder / f"said{answer}"
                command = ("sh", "-c", self.AWAIT, go, "sh", "-c",
                           '"$0" answer "$ROCKLOCK_GRANT" "$1" > "$2.new"; mv "$2.new" "$2"',
                           PROGRAM, answer, said_so)
                holder, grant, ask = self.hold_and_ask(command=command)
                self.assertRegex(
                    holder.stderr.readline(),
                    r"^rocklock: ben asks to take over a, and may do so in (10m00s|9m\d\ds), at 20\S+Z, "
                    rf"if the holder does not answer: rocklock answer {grant} --allow, or --refuse, "
                    r"with the ROCKLOCK_SESSION")
                go.touch()
                wait_until(said_so.exists, "the command has answered")
                self.assertEqual(said_so.read_text(), said + "\n")
                again = ask()
                self.assertEqual(again.returncode, status, again.stderr)
                if status == 77:
                    self.assertIn("ann refused to release it", again.stderr)
                    holder.terminate()
                self.assertEqual(holder.wait(60), 128 + signal.SIGTERM if status == 77 else 76)
                # The message was printed only once.
                self.assertNotIn("asks", holder.stderr.read())
                self.stop_daemon()

    def test_quiet_prints_nothing_but_the_status_descriptor_reports_it(self):
        reading, writing = os.pipe()
        holder, _, _ = self.hold_and_ask("--quiet", "--json-status", writing, pass_fds=(writing,))
        os.close(writing)
        with os.fdopen(reading) as events:
            self.assertEqual(json.loads(events.readline())["Event"], "granted")
            wanted = json.loads(events.readline())
        self.assertRegex(wanted.pop("AnswerBy"), r"^20\S+Z$")
        self.assertEqual(wanted, {"Event": "wanted", "By": "ben", "Resource": "a", "Mode": "write"})
        holder.terminate()
        self.assertEqual(holder.wait(60), 128 + signal.SIGTERM)
        self.assertEqual(holder.stderr.read(), "")

    def test_renew_prints_the_request_to_steal(self):
        api = self.api()
        self.put_class(api, Steal="ask", StealAfterMs=LONG_MS)
        grant, proof = self.acquire("a", "--principal", "ann")
        waiter = self.connect()
        waiter.send("Acquire", {"Principal": "cy", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
        self.wait_for_waiters("a", 1)
        self.refused(api, self.open(api, "ben"), grant["Grant"], "ask")
        renewed = self.rocklock("renew", grant["Grant"], environment=proof)
        self.assertEqual(renewed.stderr.count("\n"), 1, renewed.stderr)
        self.assertIn("ben asks to take over a, and may do so in ", renewed.stderr)
        self.refused(api, self.open(api, "dan"), grant["Grant"], "ask")
        quiet = self.rocklock("renew", "--quiet", grant["Grant"], environment=proof)
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "", ""))

    def test_an_allowed_lock_is_released_to_the_waiters(self):
        api = self.api()
        grant, proof = self.acquire("a", "--principal", "ann")
        waiter = self.connect()
        waiter.send("Acquire", {"Principal": "ben", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
        self.wait_for_waiters("a", 1)
        no = self.rocklock("answer", grant["Grant"], "--refuse", environment=proof)
        self.assertEqual((no.returncode, no.stdout), (0, "refused\n"), no.stderr)
        self.assertEqual(self.show("a")["Holders"][0]["Principal"], "ann")
        yes = self.rocklock("answer", grant["Grant"], "--allow", "--json", environment=proof)
        self.assertEqual((yes.returncode, json.loads(yes.stdout)), (0, {"Outcome": "released"}), yes.stderr)
        self.assertTrue(waiter.receive().json["Waited"])
        late = self.rocklock("answer", grant["Grant"], "--allow", environment=proof)
        self.assertEqual((late.returncode, late.stdout), (76, ""), late.stderr)
        self.assertIn("released", late.stderr)

    def test_an_answer_needs_a_session_and_one_option(self):
        grant, proof = self.acquire("a")
        for words in ((), ("--allow", "--refuse")):
            self.assertEqual(self.rocklock("answer", grant["Grant"], *words, environment=proof).returncode, 64)
        self.assertEqual(self.rocklock("answer", grant["Grant"], "--allow").returncode, 64)
        _, other = self.acquire("b")
        self.assertEqual(self.rocklock("answer", grant["Grant"], "--allow", environment=other).returncode, 77)
        quiet = self.rocklock("answer", grant["Grant"], "--allow", "--quiet", environment=proof)
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "", ""))
        # No session wanted the lock.
        self.assertEqual(self.show("a")["Holders"][0]["Grant"], grant["Grant"])


class Program(Stealing):
    def test_steal_takes_over_a_grant_and_prints_it_like_acquire(self):
        grant, loser = self.acquire("a", "--principal", "ann")
        stolen = self.rocklock("steal", grant["Grant"], "--reason", "ann is away", "--principal", "bob",
                               "--lease", "1m")
        self.assertEqual(stolen.returncode, 0, stolen.stderr)
        lines = dict(line.removeprefix("export ").split("=", 1) for line in stolen.stdout.splitlines())
        self.assertEqual(set(lines), {"ROCKLOCK_GRANT", "ROCKLOCK_TOKEN", "ROCKLOCK_SESSION"})
        self.assertGreater(int(lines["ROCKLOCK_TOKEN"]), grant["Token"])
        holder = self.show("a")["Holders"][0]
        self.assertEqual((holder["Principal"], holder["Grant"]), ("bob", int(lines["ROCKLOCK_GRANT"])))
        # The printed credentials can release the lock; those of the former holder cannot.
        late = self.rocklock("release", grant["Grant"], environment=loser)
        self.assertEqual(late.returncode, 76)
        self.assertIn("stolen", late.stderr)
        renewed = self.rocklock("renew", grant["Grant"], environment=loser)
        self.assertEqual(renewed.returncode, 76)
        self.assertIn("stolen by bob", renewed.stderr)
        self.assertIn("ann is away", renewed.stderr)
        proof = {"ROCKLOCK_SESSION": lines["ROCKLOCK_SESSION"]}
        done = self.rocklock("release", lines["ROCKLOCK_GRANT"], environment=proof)
        self.assertEqual((done.returncode, done.stdout), (0, "released\n"), done.stderr)

    # C8: the verb `steal`, with `--json`.
    def test_steal_for_an_existing_session(self):
        grant, _ = self.acquire("a", "--principal", "ann")
        other, proof = self.acquire("b", "--principal", "bob")
        both = self.rocklock("steal", grant["Grant"], "--reason", "r", "--principal", "cy", environment=proof)
        self.assertEqual(both.returncode, 64)
        stolen = self.rocklock("steal", grant["Grant"], "--reason", "r", "--json", environment=proof)
        self.assertEqual(stolen.returncode, 0, stolen.stderr)
        self.assertEqual(json.loads(stolen.stdout)["Session"], other["Session"])

    def test_a_refused_steal_names_the_policy_and_the_time_to_retry(self):
        api = self.api()
        self.put_class(api, Steal="ask", StealAfterMs=90_000)
        ann = self.open(api, "ann")
        grant = self.taken(api, ann)
        # Two calls are two sessions of the same principal.
        for _ in range(2):
            refused = self.rocklock("steal", grant, "--reason", "r", "--principal", "bob")
            self.assertEqual((refused.returncode, refused.stdout), (77, ""))
            self.assertIn("ann was asked to release it", refused.stderr)
            self.assertRegex(refused.stderr, r"try again in 1m\d\ds|try again in \d+s")
            self.assertIn("policy for stealing: ask", refused.stderr)
        self.assertEqual([row["Principal"] for row in api.call("ListSessions").json["Sessions"]], ["ann"])
        api.call("AnswerWanted", **ann, Grant=grant, Allow=True)
        stolen = self.rocklock("steal", grant, "--reason", "r", "--principal", "bob")
        self.assertEqual(stolen.returncode, 0, stolen.stderr)

    def test_force_does_not_ask(self):
        api = self.api()
        self.put_class(api, Steal="idle", StealAfterMs=LONG_MS)
        grant = self.taken(api, self.open(api, "ann"))
        self.assertEqual(self.rocklock("steal", grant, "--reason", "r").returncode, 77)
        forced = self.rocklock("steal", grant, "--reason", "r", "--force")
        self.assertEqual(forced.returncode, 0, forced.stderr)

    def test_renew_active_marks_the_session_as_active(self):
        api = self.api()
        self.put_class(api, Steal="idle", StealAfterMs=LONG_MS)
        grant, proof = self.acquire("a", "--principal", "ann", "--lease", "10m")
        bob = self.open(api, "bob")
        wait_until(lambda: self.refused(api, bob, grant["Grant"], "idle") <= LONG_MS - 100, "time passes")
        before = time.monotonic()
        renewed = self.rocklock("renew", grant["Grant"], "--active", environment=proof)
        self.assertEqual(renewed.returncode, 0, renewed.stderr)
        left = self.refused(api, bob, grant["Grant"], "idle")
        self.assertGreaterEqual(left, LONG_MS - (time.monotonic() - before) * 1000 - 1)

    def test_a_steal_without_a_reason_or_a_grant_is_refused(self):
        grant, _ = self.acquire("a")
        self.assertEqual(self.rocklock("steal", grant["Grant"]).returncode, 64)
        self.assertEqual(self.rocklock("steal", "a", "--reason", "r").returncode, 64)
        self.assertEqual(self.rocklock("steal", 12345, "--reason", "r").returncode, 76)
        self.assertEqual(self.show("a")["Holders"][0]["Grant"], grant["Grant"])

    def test_a_run_whose_lock_is_stolen_stops_its_command_with_its_next_renewal(self):
        for verb, how in (("steal", "stolen by bob"), ("break", "broken by")):
            with self.subTest(verb):
                holder = self.hold("a", "--lease", "2s")
                grant = self.show("a")["Holders"][0]["Grant"]
                more = ["--principal", "bob"] if verb == "steal" else []
                taken = self.rocklock(verb, grant, "--reason", "to test it", *more)
                self.assertEqual(taken.returncode, 0, taken.stderr)
                self.assertEqual(holder.wait(60), 76)
                errors = holder.stderr.read()
                self.assertIn(how, errors)
                self.assertIn("to test it", errors)
                if verb == "steal":
                    thief = dict(line.removeprefix("export ").split("=", 1)
                                 for line in taken.stdout.splitlines())
                    self.rocklock("release", thief["ROCKLOCK_GRANT"],
                                  environment={"ROCKLOCK_SESSION": thief["ROCKLOCK_SESSION"]})


if __name__ == "__main__":
    tap.main()
