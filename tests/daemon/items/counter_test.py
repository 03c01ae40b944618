"""Counters under locks in processes that are stopped and killed: no increment is lost or invented.

Sixteen processes use the same counters: through DynamoDB's API with headers, by transactions, and
by edits of the lock API. Each reports its attempts and their results. At the end, each counter must
equal the number of writes that were reported as done, plus those whose process was killed before it
read the response and that the item itself records.

A longer run: ROCKLOCK_COUNTER_SECONDS=600.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import tap
from counter_client import WAYS
from guard_test import Guarded
from harness import SLOWNESS

CLIENT = pathlib.Path(__file__).resolve().parent / "counter_client.py"
CLIENTS = 16
COUNTERS = ["a", "b", "c"]
SECONDS = float(os.environ.get("ROCKLOCK_COUNTER_SECONDS", "5")) * SLOWNESS


class Counting:
    """A process and its output."""

    def __init__(self, way, socket, name):
        self.name = name
        self.process = subprocess.Popen([sys.executable, CLIENT, way, socket, name, ",".join(COUNTERS)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()

    def tries(self):
        """Returns the attempts by round: the counter, and the result or None if it is unknown."""
        tries = {}
        for line in self.lines:
            verb, number, *counter = line.split()
            if verb == "try":
                tries[int(number)] = [counter[0], None]
            else:
                tries[int(number)][1] = verb == "done"
        return tries


def find_loss(items, everybody):
    """Returns a description of an error in the counters, or None.

    items      by counter, its value and the last round of each process
    everybody  by name, the attempts in the form of Counting.tries()
    """
    for counter, (value, last) in items.items():
        done = 0
        for name, tries in everybody.items():
            own = {number: came for number, (where, came) in tries.items() if where == counter}
            done += sum(came is True for came in own.values())
            remembered = last.get(name, 0)
            if remembered and own.get(remembered) is False:
                return f"{counter} has a write that was refused: {remembered} of {name}"
            if any(came is True and number > remembered for number, came in own.items()):
                return f"{counter} has forgotten a write of {name}"
            done += remembered > 0 and own.get(remembered) is None
        if value != done:
            return f"{counter} is {value}, and {done} writes were done"
    return None


class Counters(Guarded):
    def item(self, counter):
        item = self.client.get_item(TableName="counters", Key={"id": {"S": counter}}, ConsistentRead=True).get("Item")
        if item is None:
            return 0, {}
        return int(item["value"]["N"]), {name: int(number["N"]) for name, number in item["last"]["M"].items()}

    def test_are_exact_although_holders_are_killed_and_stopped(self):
        self.client.create_table(TableName="counters", BillingMode="PAY_PER_REQUEST",
                                 AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                                 KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}])
        self.assertEqual(self.api.call("BindTable", TableName="counters", Resource="counters/{id}").status, 200)
        chance = random.Random(7)
        started = 0

        def start(place):
            nonlocal started
            started += 1
            return Counting(sorted(WAYS)[place % len(WAYS)], self.socket, f"client-{started}")

        running = [start(place) for place in range(CLIENTS)]
        ended, stops = [], 0
        over = time.monotonic() + SECONDS
        try:
            while time.monotonic() < over:
                place = chance.randrange(CLIENTS)
                if chance.random() < 0.4:
                    running[place].end()
                    ended.append(running[place])
                    running[place] = start(place)
                else:
                    # Stops the processes for longer than their leases, at an arbitrary point.
                    stopped = chance.sample(running, 5)
                    for each in stopped:
                        each.send(signal.SIGSTOP)
                    time.sleep(0.35)
                    for each in stopped:
                        each.send(signal.SIGCONT)
                    stops += len(stopped)
        finally:
            for each in running:
                each.end()
        everybody = {each.name: each.tries() for each in [*ended, *running]}
        # Writes of killed processes have been decided by now, or will never be.
        self.client.list_tables()
        items = {counter: self.item(counter) for counter in COUNTERS}
        self.assertIsNone(find_loss(items, everybody))
        done = sum(came is True for tries in everybody.values() for _, came in tries.values())
        refused = sum(came is False for tries in everybody.values() for _, came in tries.values())
        unread = sum(came is None for tries in everybody.values() for _, came in tries.values())
        print(f"# {done} done, {refused} refused, {unread} not read; {len(ended)} killed, {stops} stopped", flush=True)
        self.assertGreater(done, CLIENTS)

    def test_would_detect_a_lost_update(self):
        tries = {"one": {1: ["a", True], 2: ["a", False], 3: ["a", None]}, "two": {1: ["a", True]}}
        self.assertIsNone(find_loss({"a": (3, {"one": 3, "two": 1})}, tries))
        self.assertIsNone(find_loss({"a": (2, {"one": 1, "two": 1})}, tries))
        for value, last, said in ((2, {"one": 3, "two": 1}, "is 2, and 3"), (4, {"one": 3, "two": 1}, "is 4, and 3"),
                                  (2, {"one": 2, "two": 1}, "refused"), (1, {"one": 1}, "forgotten")):
            self.assertIn(said, find_loss({"a": (value, last)}, tries))


if __name__ == "__main__":
    tap.main()
