"""The message of `run` that says why a request waits."""

import tap
from harness import Sandbox


class WaitsFor(Sandbox):
    def said(self, *words, count=1):
        waiter = self.start("run", "--patience", "30s", *words, "--", "true")
        return [waiter.stderr.readline() for _ in range(count)]

    def test_the_holder_of_a_dependant(self):
        self.rocklock("class", "put", "orders/*", "--dependant", "customers/1:write")
        self.hold("customers/1", "--principal", "ann")
        line, = self.said("orders/1")
        self.assertRegex(line, r"^rocklock: waiting for orders/1: customers/1 is held by ann \(write\), for ")

    def test_the_holder_of_a_subtree_above(self):
        self.hold("orders", "--subtree", "--principal", "ann")
        line, = self.said("orders/1/2")
        self.assertRegex(line, r"^rocklock: waiting for orders/1/2: orders is held by ann \(write\), for ")

    def test_a_holder_below_a_subtree(self):
        self.hold("orders/1/2", "--principal", "ann")
        line, = self.said("orders", "--subtree")
        self.assertRegex(line, r"^rocklock: waiting for orders: orders/1/2 is held by ann \(write\), for ")

    def test_that_the_resource_is_closed(self):
        self.assertEqual(self.rocklock("run", "--min-hold", "60s", "job", "--", "true").returncode, 0)
        line, = self.said("job")
        self.assertRegex(line, r"^rocklock: waiting for job: closed for another 5\ds, by a minimum hold or a lock delay$")

    def test_every_alternative(self):
        self.hold("machines/1", "--principal", "ann")
        self.hold("machines/2", "--principal", "ben")
        first, second = self.said("--any", "--lock", "machines/1:write", "--lock", "machines/2:write", count=2)
        self.assertRegex(first, r"^rocklock: waiting for machines/1: held by ann \(write\), for ")
        self.assertRegex(second, r"^rocklock: waiting for machines/2: held by ben \(write\), for ")

    def test_the_resource_of_a_set_that_is_held(self):
        self.hold("b", "--principal", "ann")
        line, = self.said("--lock", "a:write", "--lock", "b:write")
        self.assertRegex(line, r"^rocklock: waiting for b: held by ann \(write\), for ")

    def test_the_writer_that_waits_before_a_reader(self):
        self.hold("a", "--mode", "read", "--principal", "ann")
        self.start("run", "--principal", "ben", "a", "--", "true")
        self.wait_for_waiters("a", 1)
        line, = self.said("--mode", "read", "a")
        self.assertRegex(line, r"^rocklock: waiting for a: 2 requests wait for it, first that of ben \(write\), ")


if __name__ == "__main__":
    tap.main()
