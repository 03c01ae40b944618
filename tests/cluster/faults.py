"""Faults of the processes and ways of a cluster, as a seed determines."""

import collections
import contextlib
import http.client
import random
import signal
import time

from clients import boot_time
from cluster import ask_member
from proxied_cluster import NODES
from proxy import TO_CLIENT, TO_TARGET

DURATIONS_S = (0.1, 0.5, 2, 8)


class Fault:
    """A fault that lasts: `end` ends it, and `is_over` says whether its subject works again."""

    def __init__(self, kind, subject, seconds, end, is_over=lambda: True):
        self.kind = kind
        self.subject = subject
        self.seconds = seconds
        self.began = boot_time()
        self.end = end
        self.is_over = is_over
        self.ended = False

    def update(self):
        """Ends the fault at its time. Returns whether it is over."""
        if not self.ended:
            if boot_time() < self.began + self.seconds:
                return False
            self.end()
            self.ended = True
        return self.is_over()

    def __str__(self):
        return f"{self.kind} {self.subject} for {self.seconds} s"


class Faults:
    """Begins faults. Two members never have faults at the same time, and a node has one fault of each
    sort at most."""

    def __init__(self, cluster, observer, seed):
        self.cluster = cluster
        self.observer = observer
        self.random = random.Random(seed)
        self.running = []
        self.counts = collections.Counter()
        self.log = []

    def begin_one(self):
        """Begins a fault that is drawn. Returns None if its subject already has a fault."""
        kinds = {"kill node": 3, "pause node": 3, "kill member": 2, "pause member": 2, "stop the manager": 2,
                 "yield": 2, "stop ways": 2, "stop one direction": 2, "cut ways": 2, "stop link": 1,
                 "stop link one way": 1, "cut link": 1, "compact": 2}
        kind = self.random.choices(list(kinds), kinds.values())[0]
        name = self.cluster.manager() if kind in ("stop the manager", "yield") else self.random.choice(NODES)
        return self.begin(kind, name, self.random.choice(DURATIONS_S) * self.random.uniform(0.5, 1))

    def begin_at_manager(self):
        """Begins a long fault that can require another manager."""
        kind = self.random.choice(("kill node", "pause node", "stop ways", "cut ways", "stop one direction",
                                   "kill member", "pause member"))
        return self.begin(kind, self.cluster.manager(), DURATIONS_S[-1])

    def begin(self, kind, name, seconds):
        sort, function = {
            "kill node": ("process", self.kill_node), "pause node": ("process", self.pause_node),
            "stop the manager": ("process", self.stop_manager), "yield": ("process", self.yield_role),
            "kill member": ("member", self.kill_member), "pause member": ("member", self.pause_member),
            "stop ways": ("ways", self.stop_ways), "stop one direction": ("ways", self.stop_direction),
            "cut ways": ("ways", self.cut_ways), "stop link": ("link", self.stop_link),
            "stop link one way": ("link", self.stop_link_direction), "cut link": ("link", self.cut_link),
            "compact": ("compaction", self.compact)}[kind]
        if sort == "member":
            name = self.random.randrange(3)
        subject = (sort, "any" if sort == "member" else name)
        if name is None or any(fault.subject == subject for fault in self.running):
            return None
        end, *is_over = function(name, seconds)
        fault = Fault(kind, subject, seconds, end, *is_over)
        self.counts[kind] += 1
        self.log.append((fault.began, f"{fault} ({name})"))
        self.running.append(fault)
        return fault

    def update(self):
        self.running = [fault for fault in self.running if not fault.update()]

    def end_all(self, patience_s=60):
        """Ends all faults, and waits until all processes answer."""
        for fault in self.running:
            fault.seconds = 0
        until = time.monotonic() + patience_s
        while self.running:
            self.update()
            if time.monotonic() > until:
                raise AssertionError(f"not over: {[str(fault) for fault in self.running]}")
            time.sleep(0.02)

    # ---- Processes. Each function begins a fault, and returns the function that ends it. ----

    def kill_node(self, name, _seconds):
        self.cluster.nodes[name].stop(signal.SIGKILL)
        return (lambda: self.cluster.start_node(name),)

    def stop_manager(self, name, _seconds):
        node = self.cluster.nodes[name]
        node.process.send_signal(signal.SIGTERM)

        def end():
            # A node that cannot reach etcd takes longer.
            with contextlib.suppress(Exception):
                node.process.wait(timeout=15)
            if node.process.poll() is None:
                self.cluster.slow_stops.append(name)
                node.stop(signal.SIGKILL)
            self.cluster.start_node(name)
        return (end,)

    def yield_role(self, name, _seconds):
        """The manager hands its role over. It fails if no other node can take it."""
        self.cluster.start("node", "yield", environment={"ROCKLOCK_SOCKET": str(self.cluster.nodes[name].socket)})
        return (lambda: None,)

    def pause_node(self, name, _seconds):
        node = self.cluster.nodes[name]
        self.cluster.pause(node)
        return (lambda: self.cluster.resume(node),)

    def kill_member(self, number, _seconds):
        member = self.cluster.members[number]
        member.kill()
        return member.start, member.answers

    def pause_member(self, number, _seconds):
        member = self.cluster.members[number]
        member.process.send_signal(signal.SIGSTOP)
        return (lambda: member.process.send_signal(signal.SIGCONT)), member.answers

    # ---- The network ----

    def some_ways(self, name):
        """Returns the proxies to all members, or to one."""
        ways = self.cluster.ways[name]
        return ways if self.random.random() < 0.6 else [self.random.choice(ways)]

    def stop(self, proxies, *directions):
        for proxy in proxies:
            proxy.stop(*directions)
        return (lambda: [proxy.resume() for proxy in proxies],)

    def cut(self, proxies):
        for proxy in proxies:
            proxy.cut()
        return (lambda: [proxy.mend() for proxy in proxies],)

    def stop_ways(self, name, _seconds):
        return self.stop(self.some_ways(name))

    def stop_direction(self, name, _seconds):
        return self.stop(self.some_ways(name), self.random.choice((TO_TARGET, TO_CLIENT)))

    def cut_ways(self, name, _seconds):
        return self.cut(self.some_ways(name))

    def stop_link(self, name, _seconds):
        return self.stop([self.cluster.links[name]])

    def stop_link_direction(self, name, _seconds):
        return self.stop([self.cluster.links[name]], self.random.choice((TO_TARGET, TO_CLIENT)))

    def cut_link(self, name, _seconds):
        return self.cut([self.cluster.links[name]])

    def compact(self, _name, _seconds):
        """Compacts the history up to the last revision that the observer has read."""
        for member in self.cluster.members:
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                done = ask_member(member.port, "/v3/kv/compaction", {"revision": str(self.observer.revision)}, 1)
                if "header" in done or "compacted" in str(done):
                    break
        return (lambda: None,)
