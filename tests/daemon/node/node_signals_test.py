"""Signals, the service manager and the socket file of nodes that wait, and of standbys."""

import signal
import socket

import tap
from cluster import Cluster
from harness import wait_until


class Waiting(Cluster):
    def test_sigterm_ends_a_node_that_waits_for_etcd(self):
        self.etcd()
        self.members[0].kill()
        for number in (signal.SIGTERM, signal.SIGINT):
            node = self.node("a", ready=False)
            node.wait_for("the store cannot be opened yet")
            node.stop(number)
            self.assertEqual(node.process.returncode, 0, node.log())
            self.assertIn("shutting down", node.log())
            self.assertFalse(node.socket.exists())

    def test_sigterm_ends_a_node_whose_etcd_does_not_answer(self):
        self.etcd()
        self.members[0].process.send_signal(signal.SIGSTOP)
        node = self.node("a", ready=False)
        node.wait_for("listening on")
        node.stop(signal.SIGTERM)
        self.assertEqual(node.process.returncode, 0, node.log())

    def test_sigterm_ends_a_node_that_cannot_relay(self):
        self.etcd()
        manager = self.daemon("manager", "--store", self.url, "--node", "manager", "--lead-ttl", "2s")
        manager.wait_for("the store is open")
        node = self.node("b", ready=False)
        node.wait_for("does not accept other nodes")
        node.stop(signal.SIGTERM)
        self.assertEqual(node.process.returncode, 0, node.log())

    def test_is_ready_for_the_service_manager(self):
        self.etcd()
        self.members[0].kill()
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
            notified.bind(str(path))
            notified.settimeout(60)
            node = self.node("a", ready=False, environment={"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "300000"})
            seen = []

            def receives(text):
                while text not in seen:
                    seen.append(notified.recv(4096).decode())
                seen.clear()

            receives("READY=1\nSTATUS=waiting for etcd")
            for _ in range(3):
                receives("WATCHDOG=1")
            self.members[0].start()
            receives("READY=1\nSTATUS=serving locks")
            receives("WATCHDOG=1")
            node.stop(signal.SIGTERM)
            receives("STOPPING=1")
        self.assertEqual(node.process.returncode, 0)


class Roles(Cluster):
    def test_sigterm_ends_each_role(self):
        self.etcd()
        manager = self.node("a")
        standby = self.node("b")
        for node in (standby, manager):
            node.stop(signal.SIGTERM)
            self.assertEqual(node.process.returncode, 0, node.log())

    def test_a_node_whose_socket_file_was_removed_ends(self):
        self.etcd()
        manager = self.node("a")
        standby = self.node("b")
        for node in (standby, manager):
            node.socket.unlink()
            wait_until(lambda process=node.process: process.poll() is not None, "the node has ended")
            self.assertNotEqual(node.process.returncode, 0)
            self.assertIn("was removed or replaced", node.log())


if __name__ == "__main__":
    tap.main()
