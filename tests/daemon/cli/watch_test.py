"""The stream of events and the history of a resource, over the socket and with the program."""

import json
import signal
import threading
import time

import tap
from harness import Connection, Sandbox, wait_until

FROM_NOW = 2**53 - 1


class Watched(Sandbox):
    def setUp(self):
        super().setUp()
        self.rocklock("ls")

    def connect(self):
        connection = Connection(self.socket)
        self.connections.append(connection)
        return connection

    def brief(self, events):
        return [(event["Type"], event["Resource"], event["Principal"]) for event in events]


class Watch(Watched):
    def test_reports_every_event_of_a_lock(self):
        grant, credentials = self.acquire("a", "--principal", "ann")
        self.assertEqual(self.rocklock("break", grant["Grant"], "--reason", "cleaning up").returncode, 0)
        page = self.connect().call("Watch").json
        self.assertEqual(self.brief(page["Events"]), [("granted", "a", "ann"), ("broken", "a", "ann")])
        first, last = page["Events"]
        self.assertEqual((first["Grant"], first["Token"], first["Mode"]),
                         (grant["Grant"], grant["Token"], "write"))
        self.assertEqual(last["Reason"], "cleaning up")
        self.assertIn("By", last)
        self.assertLess(first["Sequence"], last["Sequence"])
        self.assertEqual(page["After"], last["Sequence"])
        self.assertNotIn("Gap", page)
        self.assertEqual(self.rocklock("release", grant["Grant"], environment=credentials).returncode, 76)
        self.assertEqual(self.connect().call("Watch", After=page["After"]).json["Events"], [])

    def test_waits_for_an_event_that_matches(self):
        connection = self.connect()
        connection.send("Watch", {"Prefix": "b", "After": FROM_NOW, "PatienceMs": -1})
        # The daemon answers the calls of one connection in order; a waiting call does not delay
        # other connections.
        self.acquire("a")
        self.acquire("b/1")
        page = connection.receive().json
        if not page["Events"]:
            raise AssertionError(page)
        self.assertEqual([event["Resource"] for event in page["Events"]], ["b/1"])

    def test_is_empty_when_patience_ends(self):
        start = time.monotonic()
        page = self.connect().call("Watch", After=FROM_NOW, PatienceMs=300).json
        self.assertGreaterEqual(time.monotonic() - start, 0.29)
        self.assertEqual(page["Events"], [])
        self.assertNotIn("Gap", page)

    def test_many_waiters_delay_no_other_client(self):
        watchers = [self.connect() for _ in range(100)]
        for watcher in watchers:
            watcher.send("Watch", {"After": FROM_NOW, "Prefix": "x", "PatienceMs": -1})
        self.acquire("a")
        # If all watchers wait, a single event is sent to all of them.
        done = [None] * len(watchers)

        def read(number):
            done[number] = watchers[number].receive().json

        threads = [threading.Thread(target=read, args=(number,)) for number in range(len(watchers))]
        for thread in threads:
            thread.start()

        def all_notified():
            self.rocklock("run", "x", "--", "true")
            return all(done)

        wait_until(all_notified, "every watcher was notified")
        for thread in threads:
            thread.join()
        for page in done:
            self.assertEqual({event["Resource"] for event in page["Events"]}, {"x"})

    def test_ends_when_the_client_disconnects_or_the_daemon_exits(self):
        gone = self.connect()
        gone.send("Watch", {"After": FROM_NOW, "PatienceMs": -1})
        gone.close()
        self.connections.remove(gone)
        waiting = self.connect()
        waiting.send("Watch", {"After": FROM_NOW, "PatienceMs": -1, "Prefix": "never"})
        self.acquire("a")
        self.stop_daemon()
        answer = waiting.receive()
        self.assertEqual((answer.status, answer.error), (503, "ManagerClosingException"))

    def test_reports_a_gap_after_a_restart_and_numbers_continue(self):
        self.acquire("a")
        before = self.connect().call("Watch").json
        self.kill_daemon()
        self.acquire("b")
        page = self.connect().call("Watch", After=before["After"]).json
        self.assertTrue(page["Gap"])
        self.assertEqual([event["Resource"] for event in page["Events"]], ["b"])
        self.assertGreater(page["Events"][0]["Sequence"], before["After"])
        again = self.connect().call("Watch", After=page["After"]).json
        self.assertNotIn("Gap", again)

    def test_refuses_invalid_requests(self):
        for members in ({"Limit": 0}, {"Limit": 10001}, {"After": -1}, {"Since": 1}):
            self.assertEqual(self.connect().call("Watch", **members).error, "ValidationException")


class Program(Watched):
    def lines_of(self, process, count):
        return [process.stdout.readline() for _ in range(count)]

    # C8: the verb `watch`, with `--json`.
    def test_watch_starts_after_a_given_event(self):
        self.acquire("orders/1", "--principal", "ann")
        process = self.start("watch", "orders/", "--after", "0", "--json")
        first = json.loads(process.stdout.readline())
        self.assertEqual((first["Type"], first["Resource"], first["Principal"]),
                         ("granted", "orders/1", "ann"))
        self.acquire("other")
        self.acquire("orders/2", "--principal", "ben")
        second = json.loads(process.stdout.readline())
        self.assertEqual((second["Resource"], second["Principal"]), ("orders/2", "ben"))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 0)
        again = self.start("watch", "--after", str(second["Sequence"]), "--json")
        self.acquire("last")
        self.assertEqual(json.loads(again.stdout.readline())["Resource"], "last")
        again.send_signal(signal.SIGTERM)
        self.assertEqual(again.wait(60), 0)

    def test_watch_prints_readable_lines(self):
        self.acquire("orders/1", "--principal", "ann")
        process = self.start("watch", "--after", "0")
        line = process.stdout.readline()
        for word in ("granted", "orders/1", "write", "ann"):
            self.assertIn(word, line)
        process.terminate()
        process.wait(60)

    def test_watch_begins_with_the_next_event(self):
        self.acquire("before")
        process = self.start("watch", "--json")
        printed = []
        reader = threading.Thread(target=lambda: printed.append(process.stdout.readline()))
        reader.start()

        def happened():
            self.rocklock("run", "after", "--", "true")
            return printed

        wait_until(happened, "an event was printed")
        reader.join()
        self.assertEqual(json.loads(printed[0])["Resource"], "after")
        process.terminate()
        process.wait(60)

    def test_watch_ends_when_its_output_is_closed(self):
        self.acquire("a")
        process = self.start("watch", "--after", "0")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(60), 0)

    def test_watch_continues_with_the_next_daemon_and_reports_missing_events(self):
        self.acquire("a")
        process = self.start("watch", "--after", "0", "--json")
        self.assertEqual(json.loads(process.stdout.readline())["Resource"], "a")
        self.kill_daemon()
        self.acquire("b")
        lines = [json.loads(process.stdout.readline())]
        if "Gap" not in lines[0]:
            raise AssertionError(lines)
        self.assertEqual(json.loads(process.stdout.readline())["Resource"], "b")
        process.terminate()
        process.wait(60)

    def test_watch_refuses_an_invalid_after(self):
        done = self.rocklock("watch", "--after", "yesterday")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--after", done.stderr)

    def test_history_lists_past_holders(self):
        first, credentials = self.acquire("a", "--principal", "ann")
        self.rocklock("release", first["Grant"], environment=credentials)
        second, _ = self.acquire("a", "--principal", "ben")
        self.rocklock("break", second["Grant"], "--reason", "cleaning up")
        self.acquire("a", "--principal", "cy")
        done = self.rocklock("history", "a", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(row["Principal"], row.get("Outcome")) for row in rows],
                         [("cy", None), ("ben", "broken"), ("ann", "released")])
        self.assertEqual(rows[1]["Reason"], "cleaning up")
        text = self.rocklock("history", "a").stdout
        self.assertTrue(text.startswith("ACQUIRED"))
        self.assertIn("broken by", text)
        self.assertIn("cleaning up", text)
        # The history is in the store.
        self.kill_daemon()
        self.assertEqual(len(self.rocklock("history", "a", "--json").stdout.splitlines()), 3)

    def test_history_is_paged(self):
        for _ in range(5):
            self.rocklock("run", "a", "--", "true")
        connection = self.connect()
        seen = []
        following = {}
        while True:
            page = connection.call("ListHistory", Resource="a", Limit=2, **following).json
            self.assertLessEqual(len(page["Rows"]), 2)
            seen += [row["Grant"] for row in page["Rows"]]
            if "Next" not in page:
                break
            following = {"Next": page["Next"]}
        self.assertEqual(len(seen), 5)
        self.assertEqual(seen, sorted(seen, reverse=True))


if __name__ == "__main__":
    tap.main()
