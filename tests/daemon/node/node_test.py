"""Nodes of a cluster: the manager, standbys that relay their clients, and takeovers."""

import json
import signal
import threading
import time
import unittest

import tap
from cluster import STORE, Cluster, ask_member, encoded
from harness import SLOWNESS, Connection, wait_until


class Roles(Cluster):
    def test_clients_of_all_nodes_share_the_locks(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        self.acquire_at(first, "x", "--lease", "1m")
        self.acquire_at(second, "y", "--lease", "1m")
        for node in (first, second):
            self.assertEqual(self.resources(node), ["x", "y"])
        refused = self.at(second, "run", "--no-wait", "x", "--", "true")
        self.assertEqual(refused.returncode, 75, refused.stderr)
        self.assertIn("this node is the manager now", first.log())
        self.assertIn("relaying clients", second.log())

    def test_a_standby_takes_over_when_the_manager_stops(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        grant, _ = self.acquire_at(first, "x", "--lease", "1m")
        began = time.monotonic()
        first.process.send_signal(signal.SIGTERM)
        later, _ = self.acquire_at(second, "y")
        # Without waiting for the lease of etcd.
        self.assertLess(time.monotonic() - began, self.ttl_s)
        self.assertEqual(first.process.wait(), 0)
        self.assertEqual(self.resources(second), ["x", "y"])
        self.assertGreater(later["Token"], grant["Token"])

    def test_a_standby_takes_over_when_the_manager_is_killed(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        grant, session = self.acquire_at(second, "x", "--lease", "1m")
        first.stop(signal.SIGKILL)
        renewed = self.at(second, "renew", "--json", str(grant["Grant"]), environment=session)
        self.assertEqual(renewed.returncode, 0, renewed.stderr + second.log())
        later, _ = self.acquire_at(second, "y")
        self.assertGreater(later["Token"], grant["Token"])
        # A node that starts again is a standby.
        first = self.node("a")
        self.assertEqual(self.resources(first), ["x", "y"])
        released = self.at(first, "release", str(grant["Grant"]), environment=session)
        self.assertEqual(released.returncode, 0, released.stderr)
        self.assertEqual(self.resources(second), ["y"])

    def test_a_command_keeps_its_lock_when_the_manager_is_killed(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        holder = self.hold("job", "--lease", "8s", "--on-lost", "kill",
                           environment={"ROCKLOCK_SOCKET": str(second.socket)})
        waiter = self.start("run", "job", "--", "true", environment={"ROCKLOCK_SOCKET": str(second.socket)})
        wait_until(lambda: json.loads(self.at(second, "show", "--json", "job").stdout)["Waiters"], "a waiter")
        first.stop(signal.SIGKILL)
        self.wait_for_manager(second)
        # Longer than the lease: the command would have been killed if it were not renewed.
        time.sleep(9)
        self.assertIsNone(holder.poll())
        self.assertIsNone(waiter.poll())
        held = json.loads(self.at(second, "show", "--json", "job").stdout)["Holders"][0]
        self.at(second, "break", str(held["Grant"]), "--reason", "test")
        self.assertEqual(waiter.wait(), 0, waiter.stderr.read())

    def test_a_lock_is_granted_soon_after_a_kill(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        self.acquire_at(second, "x")
        first.process.kill()
        began = time.monotonic()
        self.acquire_at(second, "y")
        # The goal is TTL + 1.5 s; other programs can delay the takeover.
        self.assertLess(time.monotonic() - began, self.ttl_s + 1.5 + 5 * SLOWNESS, second.log())


class Identity(Cluster):
    """The clients of a node stay the same users when the manager changes."""

    def acquire_with_id(self, node, resource):
        connection = Connection(node.socket)
        try:
            answer = connection.call("Acquire", Principal="ann", LeaseMs=60_000, RequestId="1",
                                     Locks=[{"Resource": resource}])
        finally:
            connection.close()
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json["Grant"]

    def test_a_repeated_request_gets_its_grant_after_a_takeover(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        grants = [self.acquire_with_id(node, node.name) for node in (first, second)]
        first.stop(signal.SIGKILL)
        self.wait_for_manager(second)
        first = self.node("a")
        self.assertEqual([self.acquire_with_id(node, node.name) for node in (first, second)], grants)

    def test_two_nodes_cannot_have_the_same_name(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b", "--node", "a", ready=False)
        second.wait_for("which has the same name")
        self.acquire_at(first, "x")


class Stop(Cluster):
    def test_all_nodes_stop_at_the_same_time(self):
        self.etcd()
        # The standby gets the signal before, while and after it notices that the manager has ended.
        for delay_ms in range(10):
            first = self.node("a")
            second = self.node("b")
            first.process.send_signal(signal.SIGTERM)
            time.sleep(delay_ms / 1000)
            second.process.send_signal(signal.SIGTERM)
            for node in (first, second):
                with self.subTest(node=node.name, delay_ms=delay_ms):
                    self.assertEqual(node.process.wait(timeout=30 * SLOWNESS), 0, node.log())


class Deposed(Cluster):
    def test_a_paused_manager_steps_down_and_relays(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        self.acquire_at(first, "x", "--lease", "1m")
        self.pause(first)
        self.wait_for_manager(second)
        self.acquire_at(second, "y", "--lease", "1m")
        self.resume(first)
        first.wait_for("another node is, or may be, the manager")
        self.acquire_at(first, "z", "--lease", "1m")
        for node in (first, second):
            self.assertEqual(self.resources(node), ["x", "y", "z"])
        self.assertEqual(first.log().count("the store is open"), 1)

    def test_a_call_in_progress_is_sent_to_the_next_manager(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        self.acquire_at(second, "x", "--lease", "1m")
        self.pause(first)
        job = self.start("run", "job", "--", "true", environment={"ROCKLOCK_SOCKET": str(second.socket)})
        self.wait_for_manager(second)
        self.assertEqual(job.wait(timeout=60), 0, job.stderr.read())
        self.resume(first)

    def test_a_paused_manager_does_not_answer_from_memory(self):
        self.etcd()
        first = self.node("a")
        second = self.node("b")
        grant, _ = self.acquire_at(second, "x", "--lease", "1m")
        self.pause(first)
        self.wait_for_manager(second)
        broken = self.at(second, "break", str(grant["Grant"]), "--reason", "test")
        self.assertEqual(broken.returncode, 0, broken.stderr)
        # The requests wait in the sockets of the paused manager, in whose memory x is held.
        answers = []

        def ask(*words):
            answers.append(self.at(first, *words))

        threads = [threading.Thread(target=ask, args=words)
                   for words in (("ls",), ("show", "x"), ("run", "--no-wait", "x", "--", "true"))]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        self.resume(first)
        for thread in threads:
            thread.join()
        for answer in answers:
            self.assertEqual(answer.returncode, 0, answer.stderr)
            # No answer lists the grant. `show` also names it as the last token.
            listed = [line for line in answer.stdout.splitlines() if "last token" not in line]
            self.assertNotIn(str(grant["Grant"]), "".join(listed))

    def test_a_manager_that_cannot_reach_etcd_steps_down(self):
        self.etcd()
        node = self.node("a", "--etcd-timeout", "1s")
        self.acquire_at(node, "x", "--lease", "1m")
        self.members[0].process.send_signal(signal.SIGSTOP)
        failed = self.at(node, "acquire", "y", "--patience", "0")
        self.assertNotEqual(failed.returncode, 0)
        node.wait_for("another node is, or may be, the manager")
        self.members[0].process.send_signal(signal.SIGCONT)
        self.wait_for_manager(node, 2)
        self.assertIn("x", self.resources(node))


class Copies(Cluster):
    def test_a_copy_on_disk_is_used_again(self):
        self.etcd()
        directory = self.folder / "copy of b"
        first = self.node("a")
        self.acquire_at(first, "x", "--lease", "1m")
        second = self.node("b", "--copy", directory)
        self.acquire_at(first, "y", "--lease", "1m")
        second.stop(signal.SIGKILL)
        self.acquire_at(first, "z", "--lease", "1m")
        second = self.node("b", "--copy", directory)
        first.stop(signal.SIGKILL)
        self.wait_for_manager(second)
        self.assertEqual(self.resources(second), ["x", "y", "z"])
        second.stop(signal.SIGTERM)
        # The copy is not a store of its own, because it may lack later changes.
        for at, reason in ((directory / "etcd-copy", "only a copy of a store on etcd"), (directory, "no store")):
            refused = self.rocklock("serve", "--db", at, "--socket", self.folder / "s")
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(reason, refused.stderr)


class Start(Cluster):
    def test_a_node_waits_for_etcd(self):
        self.etcd()
        self.members[0].kill()
        node = self.node("a", ready=False)
        node.wait_for("the store cannot be opened yet")
        self.members[0].start()
        self.wait_for_manager(node)
        self.acquire_at(node, "x")

    def test_clients_of_a_node_without_etcd_get_the_reason(self):
        self.etcd()
        self.members[0].kill()
        node = self.node("a", "--relay-timeout", "1s", ready=False)
        node.wait_for("listening on")
        # The first call arrives while the node tries to open the store for the first time.
        for words in (("status",), ("ls",), ("run", "x", "--", "true")):
            refused = self.at(node, *words)
            self.assertNotEqual(refused.returncode, 0, words)
            self.assertIn("the store cannot be opened yet: cannot connect to etcd at", refused.stderr, words)
        self.members[0].start()
        self.wait_for_manager(node)
        self.acquire_at(node, "x")

    def test_deleted_keys_are_not_replaced_by_an_empty_store(self):
        self.etcd()
        first, second = self.node("a"), self.node("b")
        self.acquire_at(second, "x", "--lease", "1m")
        wait_until(lambda: "standby" in self.at(first, "node", "ls").stdout, "the copy is current")
        ask_member(self.members[0].port, "/v3/kv/deleterange",
                   {"key": encoded(STORE), "range_end": encoded(STORE[:-1] + "0")})
        refused = self.at(first, "acquire", "y")
        self.assertNotEqual(refused.returncode, 0)
        for node in (first, second):
            wait_until(lambda: node.process.poll() is not None, "the node ends")  # pylint: disable=cell-var-from-loop
            self.assertEqual(node.process.returncode, 70, node.log())
        self.assertIn("restore a backup or a snapshot of etcd", second.log())
        self.assertIsNone(self.manager())

    def test_a_damaged_key_lead_ends_no_standby(self):
        self.etcd()
        first, second = self.node("a"), self.node("b")
        self.acquire_at(first, "x", "--lease", "1m")
        ask_member(self.members[0].port, "/v3/kv/put",
                   {"key": encoded(STORE + "lead"), "value": encoded("garbage"), "ignore_lease": True})
        second.wait_for("names no node")
        self.assertIsNone(second.process.poll())
        self.assertEqual(self.resources(first), ["x"])
        first.stop(signal.SIGTERM)
        self.wait_for_manager(second)
        self.assertEqual(self.resources(second), ["x"])

    def test_three_members_survive_the_loss_of_one(self):
        self.etcd(3)
        node = self.node("a")
        self.acquire_at(node, "x", "--lease", "1m")
        for member in self.members:
            member.kill()
            self.acquire_at(node, f"y-{member.name}", "--lease", "1m")
            member.start()
            wait_until(member.answers, "the member answers")
        self.assertEqual(self.resources(node), ["x", "y-m0", "y-m1", "y-m2"])
        self.assertEqual(node.log().count("the store is open"), 1)

    def test_invalid_options_are_refused(self):
        for words, reason in (
                (("--store", "http://127.0.0.1:1"), "write etcd://"),
                (("--store", "etcd://127.0.0.1"), "write etcd://"),
                (("--store", "etcd://127.0.0.1:1", "--db", "x"), "only one of them"),
                (("--store", "etcd://127.0.0.1:1", "--memory"), "only one of them"),
                (("--memory", "--lead-ttl", "3s"), "lead-ttl has an effect only together with a store on etcd"),
                (("--store", "etcd://127.0.0.1:1", "--relay", "127.0.0.1:2"), "both set"),
                (("--store", "etcd://127.0.0.1:1", "--lead-ttl", "1s"), "lead-ttl is 1s: it must be 2s to 60s"),
                (("--store", "etcd://127.0.0.1:1", "--etcd-timeout", "10ms"),
                 "etcd-timeout is 10ms: it must be at least 1s"),
                (("--store", "etcd://127.0.0.1:1", "--node", "a b"), "'a b' is not a name of a node: use 1 to 64 letters"),
                (("--store", "etcd://127.0.0.1:1", "--peer-address", "foo"), "peer-address"),
                (("--store", "etcd://127.0.0.1:1", "--peer-address", "0.0.0.0:7070"),
                 "is 0.0.0.0:7070, to which other nodes cannot connect"),
                (("--store", "etcd://127.0.0.1:1", "--peer-listen", "0.0.0.0:7070"),
                 "is 0.0.0.0:7070, to which other nodes cannot connect"),
                (("--store", "etcd://127.0.0.1:1", "--etcd-ca", "x"), "append ?tls to store"),
                (("--store", "etcd://127.0.0.1:1", "--etcd-user", "ann"), "must be given together"),
                (("--store", "etcd://127.0.0.1:1", "--etcd-password-file", "absent"), "must be given together"),
                (("--store", "etcd://127.0.0.1:1", "--etcd-user", "ann", "--etcd-password-file", "absent"),
                 "cannot be read")):
            done = self.rocklock("serve", "--socket", self.folder / "s", *words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    tap.main()
