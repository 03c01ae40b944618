#!/usr/bin/env python3
"""Measures a cluster: three members of etcd and three nodes on this machine, next to etcd's own mutex.

    run.py --program ROCKLOCK [--clients PROGRAM] [--quick] [--rounds N] [--seconds S]
           [--directory DIR] [--locks N] [--only WORD]
    run.py --list

Prints the lines that scripts/bench reads (see bench/report/results.py), and its progress to stderr.
`--locks` sets the number of held locks for the measurement of a takeover; `--only` measures the rows
whose names contain the word. If etcd or the library for it is missing, the cluster is left out.
"""

import argparse
import json
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from servers import Cluster, Failed

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
# A measurement of a cluster is longer than those of other scenarios, because a commit takes longer.
LONGER = 5
TTL_S = 3
MUTEX = "etcd's own mutex"
SCENARIO = {
    "kind": "scenario", "name": "cluster", "title": "A cluster on etcd", "charts": [],
    "says": "Three members of etcd and three nodes run on this machine, and share its processors and its "
            "disk. The store is on etcd. The first rows compare Rocklock's locks with the mutex of etcd's "
            "client for Go, on the same members. The time of a hand-off is that from the start of a release "
            "to the next grant. The last rows show how long clients wait when the manager changes."}


def spread(values):
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "rounds": values}


class Bench:
    def __init__(self, arguments, cluster, peer):
        self.arguments, self.cluster, self.peer = arguments, cluster, peer
        self.seconds = LONGER * arguments.seconds

    # ---- Output ----

    def print(self, kind, **members):
        print(json.dumps({"kind": kind, "scenario": "cluster"} | members, ensure_ascii=False), flush=True)

    def wants(self, *names):
        return any(self.arguments.only in name for name in names)

    def compare(self, name, unit, ours, against, theirs, target=None, less=False):
        """Prints a row with a ratio: how many times better `ours` is."""
        ratios = [(b / a if less else a / b) for a, b in zip(ours, theirs)]
        row = {"name": name, "unit": unit, "ours": spread(ours), "against": against, "theirs": spread(theirs),
               "ratio": spread(ratios)}
        if target is not None:
            row |= {"target": target, "reached": statistics.median(ratios) >= target}
        self.print("row", **row)

    def alone(self, name, unit, values, most=None):
        row = {"name": name, "unit": unit, "ours": spread(values), "better": "less"}
        if most is not None:
            row |= {"target": most, "reached": statistics.median(values) <= most}
        self.print("row", **row)

    def progress(self, text):
        print(f"cluster: {text}", file=sys.stderr, flush=True)

    # ---- Measurements ----

    def ours(self, node, *words):
        return self.result([self.arguments.clients, node.socket, *words])

    def theirs(self, *words):
        return self.result([self.peer, self.cluster.endpoints, *words])

    def result(self, words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{words}: {done.stderr}")
        return json.loads(done.stdout)

    def in_turn(self, *measurements):
        """Runs all measurements once in each round, after a round that is not counted. Returns the
        results of each."""
        results = [[] for _ in measurements]
        for round_ in range(self.arguments.rounds + 1):
            # The order rotates, so that no measurement always runs first.
            for index in range(len(measurements)):
                turn = (index + round_) % len(measurements)
                result = measurements[turn]()
                if round_ > 0:
                    results[turn].append(result)
        return results

    def locks(self):
        for kind, clients, target in (("own", 64, 5), ("own", 1, 1.5), ("same", 16, 3)):
            name = f"pairs, {clients} client{'s' * (clients > 1)}" if kind == "own" else "hand-off, 16 on one"
            if not self.peer or not self.wants(name):
                continue
            manager = self.cluster.manager()
            ours, theirs = self.in_turn(lambda: self.ours(manager, kind, clients, self.seconds),
                                        lambda: self.theirs(self.seconds, kind, clients))

            def of(results, value):
                return [result[value] for result in results]
            self.compare(name, "pairs/s" if kind == "own" else "hand-offs/s", of(ours, "rate"), MUTEX,
                         of(theirs, "rate"), target)
            if kind == "same":
                self.compare(f"{name}, p50", "µs", of(ours, "p50_us"), MUTEX,
                             of(theirs, "p50_us"), 2, less=True)
            else:
                self.compare(f"{name}, p50 to acquire", "µs", of(ours, "p50_us"), MUTEX, of(theirs, "p50_us"),
                             less=True)
            self.progress(name)

    def relay(self):
        for clients, target in ((1, 0.77), (64, None)):
            name = f"through a standby, {clients} client{'s' * (clients > 1)}"
            if not self.wants(name):
                continue
            manager, standby = self.cluster.manager(), self.cluster.standbys()[0]
            ours, theirs = self.in_turn(lambda: self.ours(standby, "own", clients, self.seconds),
                                        lambda: self.ours(manager, "own", clients, self.seconds))
            self.compare(name + ", p50 to acquire", "µs", [each["p50_us"] for each in ours], "at the manager",
                         [each["p50_us"] for each in theirs], target, less=True)
            self.compare(name, "pairs/s", [each["rate"] for each in ours], "at the manager",
                         [each["rate"] for each in theirs])
            self.progress(name)

    def group_commit(self):
        name = "writes of etcd, 256 clients"
        if not self.peer or not self.wants(name):
            return
        manager, member = self.cluster.manager(), self.cluster.members[0]

        def writes():
            # Counted only while all clients work: they need about a second to open their sessions and
            # to close them.
            start_s = 1.5
            words = [self.arguments.clients, manager.socket, "own", 256, self.seconds + 2 * start_s]
            with subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL) as clients:
                time.sleep(start_s)
                before, began = member.writes(), time.monotonic()
                time.sleep(self.seconds)
                rate = (member.writes() - before) / (time.monotonic() - began)
            if clients.returncode != 0:
                raise Failed("the clients of the manager failed")
            return rate
        ours, theirs = self.in_turn(writes, lambda: self.theirs(self.seconds, "chain", 128)["rate"])
        self.compare(name, "writes/s", ours, "chained transactions of 128 puts", theirs, 0.5)
        self.progress(name)

    def probe(self, node):
        process = subprocess.Popen([self.arguments.clients, str(node.socket), "probe"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        if process.stdout.readline() != "ready\n":
            raise Failed(f"the probe at {node.name} did not start")
        return process

    def change_manager(self, change):
        """Calls `change` with the manager while a client of a standby acquires and releases. Returns the
        seconds from the change to the first grant of a new client, including the start of its process, and
        the longest time without a grant of the other client."""
        manager, standby = self.cluster.manager(), self.cluster.standbys()[0]
        probe = self.probe(standby)
        time.sleep(0.5)
        began = time.monotonic()
        change(manager)
        # Until another node is the manager, this waits.
        subprocess.run([self.arguments.program, "run", "--quiet", "--socket", str(standby.socket), "changed",
                        "--", "true"], check=True)
        to_grant = time.monotonic() - began
        if manager.process.poll() is not None:
            manager.start()
        manager.wait()
        time.sleep(1)
        output, _ = probe.communicate("\n")
        if probe.returncode != 0:
            raise Failed(f"the probe failed: {output}")
        result = json.loads(output)
        return to_grant, result["gap_ended"] - result["gap_began"]

    def hold(self, first, locks):
        began = time.monotonic()
        self.ours(self.cluster.manager(), "hold", first, locks)
        self.progress(f"{locks} locks are held, after {time.monotonic() - began:.1f} s")

    def takeovers(self):
        few = 100 if self.arguments.quick else 10_000
        kill = f"kill -9 with {few} locks held, to the next grant, minus the TTL"
        handed = f"node yield with {few} locks held, longest gap of a client"
        many = f"node yield with {self.arguments.locks} locks held, longest gap of a client"
        cold = f"start without a copy with {self.arguments.locks} locks held"
        if not self.wants(kill, handed, many, cold):
            return
        self.hold(0, few)
        if self.wants(kill):
            times = [1000 * (self.change_manager(lambda node: node.end(signal.SIGKILL))[0] - TTL_S)
                     for _ in range(self.arguments.rounds)]
            self.alone(kill, "ms", times, 1500)
            self.progress(kill)
        if self.wants(handed):
            times = [1000 * self.change_manager(self.hand_over)[1] for _ in range(self.arguments.rounds)]
            self.alone(handed, "ms", times, 300)
            self.progress(handed)
        if self.wants(many, cold):
            self.hold(few, self.arguments.locks - few)
        if self.wants(many):
            times = [1000 * self.change_manager(self.hand_over)[1] for _ in range(self.arguments.rounds)]
            self.alone(many, "ms", times)
            self.progress(many)
        if self.peer and self.wants(cold):
            self.cold_start(cold)

    def cold_start(self, name):
        """Measures the time from the start of a process to its open store, if it has no copy and no other
        node runs."""
        for node in self.cluster.nodes:
            node.end(signal.SIGTERM)
        node = self.cluster.nodes[0]

        def start():
            began = time.monotonic()
            node.start()
            node.wait()
            seconds = time.monotonic() - began
            node.end(signal.SIGTERM)
            return seconds
        ours, theirs = self.in_turn(start, lambda: self.theirs("/bench/", "read")["seconds"])
        self.compare(name, "s", ours, "one read of all keys by etcd's client for Go", theirs, 0.33, less=True)
        self.progress(name)

    def hand_over(self, node):
        subprocess.run([self.arguments.program, "node", "yield", "--socket", str(node.socket)], check=True,
                       stdout=subprocess.DEVNULL)

    def run(self):
        self.locks()
        self.relay()
        self.group_commit()
        self.takeovers()


def build_peer(arguments, folder):
    """Returns the program that uses etcd directly, or the reason why there is none."""
    if shutil.which("go") is None:
        return None, "go is not installed"
    program = folder / "etcd_peer"
    done = subprocess.run(["go", "build", "-mod=readonly", "-o", str(program), "."], cwd=FOLDER / "etcd_peer",
                          capture_output=True, text=True, check=False)
    return (program, "") if done.returncode == 0 else (None, f"go build failed: {done.stderr.strip()[-300:]}")


def has_etcd(program):
    """Returns whether etcd is installed and the program can load its client."""
    if shutil.which("etcd") is None:
        return False
    done = subprocess.run([program, "serve", "--store", "etcd://127.0.0.1:1/x", "--socket", "/nonexistent/s",
                           "--peer-listen", "0.0.0.0:0", "--peer-address", "127.0.0.1:1"],
                          capture_output=True, text=True, check=False)
    return "no support for etcd" not in done.stderr


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--program", default=str(ROOT / "build/daemon/rocklock"))
    parser.add_argument("--clients", default=str(ROOT / "build/bench/bench_cluster"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--directory", default=tempfile.gettempdir())
    parser.add_argument("--locks", type=int)
    parser.add_argument("--only", default="")
    # For other scenarios.
    parser.add_argument("--dynalite")
    parser.add_argument("--dynamodb-local")
    parser.add_argument("scenario", nargs="?", choices=["cluster"])
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (1 if arguments.quick else 5)
    arguments.seconds = arguments.seconds or (0.05 if arguments.quick else 0.4)
    arguments.locks = arguments.locks or (200 if arguments.quick else 100_000)
    return arguments


def stopped(*_):
    raise SystemExit(143)


def main():
    arguments = read_arguments()
    print(json.dumps(SCENARIO, ensure_ascii=False), flush=True)
    if arguments.list:
        return 0
    if not has_etcd(arguments.program):
        print(json.dumps({"kind": "left_out", "scenario": "cluster", "contestant": "Rocklock, on etcd",
                          "why": "etcd or gRPC is not installed; scripts/setup installs them"}))
        return 0
    signal.signal(signal.SIGTERM, stopped)
    # The paths of Unix sockets are short.
    with tempfile.TemporaryDirectory(prefix="rl-", dir=arguments.directory) as place:
        folder = pathlib.Path(place)
        peer, why = build_peer(arguments, folder)
        with Cluster(arguments.program, folder) as cluster:
            bench = Bench(arguments, cluster, peer)
            if not peer:
                bench.print("left_out", contestant=MUTEX, why=why)
            bench.run()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"cluster: {error}")
