"""Sessions that are bound to processes of the nodes, across takeovers.

The node `b` is in a pid namespace of its own. It does not see the processes of the node `a`, as if it were on another
host.
"""

import json
import signal
import subprocess
import unittest

import tap
from cluster import Cluster
from harness import wait_until

APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def can_separate():
    return subprocess.run([*APART, "true"], check=False, capture_output=True).returncode == 0


@unittest.skipUnless(can_separate(), "the rights for a pid namespace are missing")
class Processes(Cluster):
    def cluster(self):
        self.etcd()
        return self.node("a"), self.node("b", prefix=APART)

    def hold_at(self, node, resource):
        return self.hold(resource, "--lease", "5m", environment={"ROCKLOCK_SOCKET": str(node.socket)})

    def hand_over(self, manager, other, count=1):
        done = self.at(manager, "node", "yield")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_for_manager(other, count)

    def test_a_command_at_the_old_manager_keeps_its_lock(self):
        first, second = self.cluster()
        holder = self.hold_at(first, "job")
        self.hand_over(first, second)
        self.assertEqual(self.resources(second), ["job"])
        # The relay of its host watches the process.
        wait_until(lambda: "connected to the manager" in first.log(), "a relays")
        self.assertEqual(self.resources(second), ["job"])
        self.assertIsNone(holder.poll())
        holder.send_signal(signal.SIGKILL)
        wait_until(lambda: self.resources(second) == [], "the process has ended")

    def test_a_session_is_local_when_its_node_is_the_manager(self):
        first, second = self.cluster()
        self.hand_over(first, second)
        wait_until(lambda: "connected to the manager" in first.log(), "a relays")
        holder = self.hold_at(first, "job")
        self.hand_over(second, first, 2)
        self.assertEqual(self.resources(first), ["job"])
        status = json.loads(self.at(first, "status", "--json").stdout)
        self.assertEqual(status["ManagerNode"], "a")
        self.assertEqual([(user["Node"], user["Name"]) for user in status["Users"]], [("a", "root")])
        holder.send_signal(signal.SIGKILL)
        wait_until(lambda: self.resources(first) == [], "the process has ended")

    def test_a_session_whose_process_ended_during_the_takeover_ends(self):
        first, second = self.cluster()
        holder = self.hold_at(first, "job")
        first.stop(signal.SIGKILL)
        holder.kill()
        self.wait_for_manager(second)
        # While the node is away, its processes are not known.
        self.assertEqual(self.resources(second), ["job"])
        first = self.node("a")
        wait_until(lambda: self.resources(second) == [], "the process has ended")


if __name__ == "__main__":
    tap.main()
