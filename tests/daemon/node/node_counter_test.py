"""Counters that processes increment through all nodes of a cluster, while the manager is killed.

The clients, and the rule that no increment is lost or invented, are those of counter_test.py. If it is
unknown whether a write was executed, the client ends, and another one with a new name takes its place.
"""

import signal
import time

import tap
from cluster import Cluster
from counter_client import WAYS
from counter_test import COUNTERS, Counting, find_loss

NODES = ("a", "b", "c")
KILLS = 3
# The clients run for this time before each kill, and at the end.
RUN_S = 2


class Counters(Cluster):
    def test_are_exact_although_the_manager_is_killed(self):
        self.etcd(3)
        self.nodes = {name: self.node(name) for name in NODES}
        self.create_table("counters", "counters/{id}")
        self.running, self.ended = [], []
        try:
            self.running = [self.start_client(place) for place in range(len(NODES) * len(WAYS))]
            for _ in range(KILLS):
                self.run_clients(RUN_S)
                killed = self.manager()
                self.nodes[killed].stop(signal.SIGKILL)
                self.wait_for_another_manager(killed)
                self.nodes[killed] = self.node(killed)
            self.run_clients(RUN_S)
        finally:
            for each in self.running:
                each.end()
        everybody = {each.name: each.tries() for each in [*self.ended, *self.running]}
        # Writes of clients that have ended are decided by now, or will never be.
        self.call_tables("a", "ListTables")
        shown = [self.items(node) for node in NODES]
        self.assertEqual(shown, [shown[0]] * len(NODES))
        self.assertIsNone(find_loss(shown[0], everybody))
        results = [result for tries in everybody.values() for _, result in tries.values()]
        print(f"# {KILLS} managers killed; {results.count(True)} writes done, {results.count(False)} refused, "
              f"{results.count(None)} of unknown outcome", flush=True)
        # Clients of all nodes, in all ways, have written.
        self.assertTrue(all(True in [result for _, result in each.tries().values()] for each in self.running))

    def start_client(self, place):
        """Starts a client of a node, with one of the ways to write, for each place."""
        name = f"client-{place}-{len(self.ended)}"
        return Counting(sorted(WAYS)[place // len(NODES)], self.nodes[NODES[place % len(NODES)]].socket, name)

    def run_clients(self, seconds):
        """Replaces clients that have ended."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for place, each in enumerate(self.running):
                if each.process.poll() is not None:
                    each.end()
                    self.ended.append(each)
                    self.running[place] = self.start_client(place)
            time.sleep(0.1)

    def items(self, node):
        """Returns the items as find_loss() takes them."""
        items = {}
        for counter in COUNTERS:
            item = self.call_tables(node, "GetItem", TableName="counters", Key={"id": {"S": counter}},
                                    ConsistentRead=True).json["Item"]
            last = {name: int(number["N"]) for name, number in item["last"]["M"].items()}
            items[counter] = (int(item["value"]["N"]), last)
        return items


if __name__ == "__main__":
    tap.main()
