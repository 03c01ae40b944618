"""Writes of holders after the end of their locks, while the manager is paused for longer than its TTL.

In each round, holders write under their locks when the manager is paused. Another node takes over, and
gives the locks to other clients, which write. Writes of the first holders wait in the sockets of the
paused manager, and are sent to all nodes before and after it continues. None of them may succeed, and no
node may then show an earlier value.

The number of these writes is in STALE_WRITES; scripts/stale --cluster sends more of them.
"""

import contextlib
import os
import threading
import time

import tap
from cluster import Cluster
from harness import Connection

NODES = ("a", "b", "c")
WRITES = int(os.environ.get("STALE_WRITES", "600"))
ITEMS = 40


class Holder:
    """A client that has locked an item, and its grant."""

    def __init__(self, number, path):
        self.id = str(number)
        connection = Connection(path)
        with contextlib.closing(connection):
            answer = connection.call("Acquire", Principal="holder", LeaseMs=600_000, PatienceMs=30_000,
                                     Locks=[{"Resource": f"orders/{number}"}])
        if answer.status != 200:
            raise AssertionError(answer.body)
        self.grant = answer.json

    def send(self, connection, value):
        connection.send_tables("PutItem", {"TableName": "orders", "Item": {"id": {"S": self.id}, "by": {"S": value}}},
                               self.grant)


class Stale(Cluster):
    def test_holders_write_nothing(self):
        self.etcd(3)
        self.nodes = {name: self.node(name) for name in NODES}
        self.create_table("orders", "orders/{id}")
        self.results = {"refused": 0, "without a response": 0}
        self.in_time = 0
        self.reads = 0
        rounds = 0
        while sum(self.results.values()) < WRITES:
            rounds += 1
            self.play(rounds)
        print(f"# {rounds} managers paused, {self.in_time} writes before the takeover; stale writes: " +
              ", ".join(f"{count} {result}" for result, count in self.results.items()) + f"; {self.reads} reads answered", flush=True)
        self.assertGreater(self.in_time, 0)
        self.assertGreater(self.results["refused"], WRITES / 2)

    def play(self, number):
        paused = self.manager()
        others = [name for name in NODES if name != paused]
        holders = [Holder(item, self.nodes[paused].socket) for item in range(ITEMS)]
        self.write_until_paused(holders, self.nodes[paused])
        # These writes wait in the sockets of the paused manager.
        waiting = []
        for holder in holders:
            waiting.append(Connection(self.nodes[paused].socket))
            holder.send(waiting[-1], f"stale {number}")
        manager = self.wait_for_another_manager(paused)
        self.wait_until_answered(self.nodes[manager])
        self.break_all(holders, self.nodes[manager])
        later = [Holder(item, self.nodes[others[item % 2]].socket) for item in range(ITEMS)]
        for holder in later:
            self.assertEqual(self.write(holder, others[0], f"later {number}"), "done")
        for name in others:
            self.write_stale(holders, name, number)
        # These reads also wait in the sockets of the paused manager.
        reading = [self.send_read(holder, paused) for holder in holders]
        self.resume(self.nodes[paused])
        for connection in reading:
            self.check_read(connection, f"later {number}")
        for name in NODES:
            self.write_stale(holders, name, number)
        for connection in waiting:
            with contextlib.closing(connection):
                self.add_result(self.result_of(connection))
        self.nodes[paused].wait_for("another node is, or may be, the manager")
        for name in NODES:
            found = self.call_tables(name, "Scan", TableName="orders", ConsistentRead=True).json["Items"]
            self.assertEqual({item["by"]["S"] for item in found}, {f"later {number}"})
        self.break_all(later, self.nodes[manager])

    def write_until_paused(self, holders, node):
        """Pauses the node while the holders write."""
        threads = [threading.Thread(target=self.write_on, args=(holders[part::4], node)) for part in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        self.pause(node)
        for thread in threads:
            thread.join()

    def write_on(self, holders, node):
        """Writes until the node does not answer."""
        connection = Connection(node.socket, timeout_s=1)
        with contextlib.closing(connection), contextlib.suppress(TimeoutError):
            while True:
                for holder in holders:
                    holder.send(connection, "early")
                    self.assertEqual(connection.receive().status, 200)
                    self.in_time += 1

    def send_read(self, holder, name):
        connection = Connection(self.nodes[name].socket)
        connection.send_tables("GetItem", {"TableName": "orders", "Key": {"id": {"S": holder.id}},
                                           "ConsistentRead": True})
        return connection

    def check_read(self, connection, value):
        """The read returns the value, or has no response."""
        with contextlib.closing(connection), contextlib.suppress(OSError):
            answer = connection.receive()
            self.reads += 1
            if answer.status < 500:
                self.assertEqual(answer.json.get("Item", {}).get("by"), {"S": value}, answer.body)

    def wait_until_answered(self, node):
        self.acquire_at(node, f"free{time.monotonic()}")

    def break_all(self, holders, node):
        connection = Connection(node.socket)
        with contextlib.closing(connection):
            for holder in holders:
                answer = connection.call("Break", Grant=holder.grant["Grant"], Reason="test")
                self.assertEqual(answer.status, 200, answer.body)

    def result_of(self, connection):
        try:
            answer = connection.receive()
        except OSError:
            return "without a response"
        if answer.status >= 500:
            return "without a response"
        self.assertIn(answer.error if answer.status != 200 else "", ("", "StaleTokenException"), answer.body)
        return "refused" if answer.status != 200 else "done"

    def write(self, holder, name, value):
        try:
            connection = Connection(self.nodes[name].socket)
        except OSError:
            return "without a response"
        with contextlib.closing(connection):
            try:
                holder.send(connection, value)
            except OSError:
                return "without a response"
            return self.result_of(connection)

    def write_stale(self, holders, name, number):
        for holder in holders:
            self.add_result(self.write(holder, name, f"stale {number}"))

    def add_result(self, result):
        self.assertNotEqual(result, "done", "a stale write succeeded")
        self.results[result] += 1


if __name__ == "__main__":
    tap.main()
