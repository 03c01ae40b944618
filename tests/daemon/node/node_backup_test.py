"""Backups of a store on etcd, and backups that are restored into one."""

import json
import signal

import tap
from cluster import STORE, Cluster


class Backup(Cluster):
    def setUp(self):
        super().setUp()
        self.etcd()

    def put(self, node, key):
        self.call_tables(node, "PutItem", TableName="orders", Item={"id": {"S": key}})

    def keys(self, node):
        items = self.call_tables(node, "Scan", TableName="orders").json["Items"]
        return sorted(item["id"]["S"] for item in items)

    def with_data(self, name, *options):
        """Starts a node with items, a class and a lock. Returns the node and the grant."""
        node = self.node(name, *options)
        self.wait_for_manager(node)
        self.create_table("orders")
        for number in range(30):
            self.put(name, f"o{number}")
        done = self.at(node, "class", "put", "batch/", "--lease", "3h")
        self.assertEqual(done.returncode, 0, done.stderr)
        grant, _ = self.acquire_at(node, "held", "--lease", "10m")
        return node, grant

    def check_restored(self, node, name, grant):
        """The items and the class are there, the lock has ended, and tokens continue to increase."""
        self.assertEqual(self.keys(name), sorted(f"o{number}" for number in range(30)))
        self.assertIn("batch/", self.at(node, "class", "ls", "--json").stdout)
        self.assertEqual(self.at(node, "ls", "--json").stdout, "")
        history = self.at(node, "history", "held", "--json").stdout
        self.assertIn('"restored"', history)
        again, _ = self.acquire_at(node, "held", "--lease", "10m")
        self.assertGreater(again["Token"], grant["Token"])

    def check_backup(self, *options):
        node, grant = self.with_data("n", *options)
        backup = self.folder / "backup"
        done = self.at(node, "db", "backup", "--json", str(backup))
        self.assertEqual(done.returncode, 0, done.stderr + node.log())
        self.assertGreater(json.loads(done.stdout)["Bytes"], 0)
        self.put("n", "late")
        node.stop(signal.SIGTERM)
        checked = self.rocklock("db", "check", "--db", str(backup))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

        # Into another prefix of the same etcd.
        url = self.url.replace(STORE[:-1], "/restored")
        done = self.rocklock("db", "restore", str(backup), "--store", url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"restored to {url}", done.stdout)
        again = self.rocklock("db", "restore", str(backup), "--store", url)
        self.assertEqual(again.returncode, 64, again.stderr)
        self.assertIn("not overwritten", again.stderr)
        self.url = url
        restored = self.node("r")
        self.check_restored(restored, "r", grant)
        restored.stop(signal.SIGTERM)

        # On disk.
        daemon = self.daemon("d", "--db", str(backup))
        daemon.wait_for("the store is open")
        self.check_restored(daemon, "d", grant)

    def test_a_backup_is_served_from_disk_and_restored_into_etcd(self):
        self.check_backup()

    def test_a_node_with_a_copy_on_disk_makes_a_backup(self):
        self.check_backup("--copy", str(self.folder / "copy"))

    def test_a_store_on_disk_moves_to_etcd(self):
        daemon = self.daemon("local", "--db", str(self.folder / "db"))
        daemon.wait_for("the store is open")
        grant, _ = self.acquire_at(daemon, "held", "--lease", "10m")
        self.assertEqual(self.at(daemon, "class", "put", "batch/", "--lease", "3h").returncode, 0)
        used = self.rocklock("db", "restore", str(self.folder / "db"), "--store", self.url)
        self.assertEqual(used.returncode, 75, used.stderr)
        daemon.stop(signal.SIGTERM)
        done = self.rocklock("db", "restore", str(self.folder / "db"), "--store", self.url, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), {"Store": self.url})
        nodes = [self.node(name) for name in ("a", "b")]
        for node in nodes:
            self.assertIn("batch/", self.at(node, "class", "ls", "--json").stdout)
        again, _ = self.acquire_at(nodes[1], "held", "--lease", "10m")
        self.assertGreater(again["Token"], grant["Token"])

    def test_a_restore_is_refused_while_a_node_is_the_manager(self):
        daemon = self.daemon("local", "--db", str(self.folder / "db"))
        daemon.wait_for("the store is open")
        daemon.stop(signal.SIGTERM)
        node = self.node("a")
        self.wait_for_manager(node)
        refused = self.rocklock("db", "restore", str(self.folder / "db"), "--store", self.url)
        self.assertEqual(refused.returncode, 75, refused.stderr)
        self.assertIn("a", refused.stderr)
        both = self.rocklock("db", "restore", "x", "--store", self.url, "--db", "y")
        self.assertEqual(both.returncode, 64, both.stderr)
        wrong = self.rocklock("db", "restore", "x", "--store", "/tmp/y")
        self.assertEqual(wrong.returncode, 64, wrong.stderr)
        self.assertIn("etcd://HOST:PORT", wrong.stderr)


if __name__ == "__main__":
    tap.main()
