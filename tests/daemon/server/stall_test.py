"""A daemon that is stopped for longer than a lease, and many clients that die at the same time."""

import os
import pathlib
import select
import signal
import tempfile
import threading
import time

import tap
from harness import SLOWNESS, Connection, Sandbox, wait_until


class Holder(threading.Thread):
    """A client that renews every third of its lease, and records the responses."""

    def __init__(self, path, number, lease_ms):
        super().__init__()
        self.connection = Connection(path)
        self.resource = f"r/{number}"
        self.lease_ms = lease_ms
        answer = self.connection.call("OpenSession", Principal=f"holder-{number}", LeaseMs=lease_ms)
        self.session = {"Session": answer.json["Session"], "Secret": answer.json["Secret"]}
        answer = self.connection.call("Acquire", Locks=[{"Resource": self.resource}], **self.session)
        assert answer.status == 200, answer.body
        self.answers = []
        self.enough = threading.Event()

    def run(self):
        while not self.enough.wait(self.lease_ms / 3000):
            self.answers.append(self.connection.call("RenewSession", **self.session))

    def stop(self):
        self.enough.set()
        self.join()
        self.connection.close()


class Unheard(Sandbox):
    """The log is not read in these tests, so slow-wait messages are off: a full pipe would block
    the daemon.
    """

    def setUp(self):
        super().setUp()
        self.environment["ROCKLOCK_SLOW_WAIT"] = "0"


class StoppedDaemon(Unheard):
    def test_a_session_renewed_on_time_keeps_every_lock(self):
        lease_ms = int(3000 * max(1, SLOWNESS / 2))
        self.api()
        holders = [Holder(self.socket, number, lease_ms) for number in range(100)]
        waiters = []
        for holder in holders:
            waiter = self.connect()
            waiter.send("Acquire", {"Principal": "next", "PatienceMs": -1,
                                    "Locks": [{"Resource": holder.resource}]})
            waiters.append(waiter)
        self.wait_for_waiters(holders[-1].resource, 1)
        for holder in holders:
            holder.start()
        wait_until(lambda: all(len(holder.answers) >= 1 for holder in holders), "all have renewed")
        daemon = self.daemon_pid()
        os.kill(daemon, signal.SIGSTOP)
        counts = [len(holder.answers) for holder in holders]
        # Sleeping is intended: the pause is the subject of the test.
        time.sleep(2 * lease_ms / 1000)
        os.kill(daemon, signal.SIGCONT)
        wait_until(lambda: all(len(holder.answers) >= count + 2
                               for holder, count in zip(holders, counts)), "all have renewed again")
        for holder in holders:
            holder.stop()
        refused = [answer.body for holder in holders for answer in holder.answers
                   if answer.status != 200 or answer.json.get("Lost")]
        self.assertEqual(refused, [])
        answered = select.select([waiter.socket for waiter in waiters], [], [], 0)[0]
        self.assertEqual(len(answered), 0)

    def test_a_session_not_renewed_loses_its_locks_to_waiters(self):
        api = self.api()
        holder = Holder(self.socket, 1, 1000)
        waiter = self.connect()
        waiter.send("Acquire", {"Principal": "next", "PatienceMs": -1, "Locks": [{"Resource": "r/1"}]})
        self.wait_for_waiters("r/1", 1)
        daemon = self.daemon_pid()
        os.kill(daemon, signal.SIGSTOP)
        time.sleep(2)
        os.kill(daemon, signal.SIGCONT)
        self.assertEqual(waiter.receive().status, 200)
        self.assertEqual(holder.connection.call("RenewSession", **holder.session).error,
                         "SessionExpiredException")
        self.assertEqual(api.call("ShowLock", Resource="r/1").json["Holders"][0]["Principal"], "next")
        holder.connection.close()


class Crowd(Unheard):
    def crowd(self, clients, waits):
        """Starts processes with `waits` waiting requests each; the first one has one fewer."""
        pids = []
        # A new folder per call, because a test can measure several times.
        ready = pathlib.Path(tempfile.mkdtemp(prefix="ready-", dir=self.folder))
        for number in range(clients):
            pid = os.fork()
            if pid == 0:
                try:
                    connection = Connection(self.socket)
                    for _ in range(waits - (number == 0)):
                        connection.send("Acquire", {"PatienceMs": -1, "Principal": f"crowd-{number}",
                                                    "LeaseMs": 600_000, "Bound": "connection",
                                                    "Locks": [{"Resource": "hot"}]})
                    (ready / str(os.getpid())).touch()
                    signal.pause()
                finally:
                    os._exit(1)
            pids.append(pid)
        wait_until(lambda: len(os.listdir(ready)) == clients, "all have asked")
        return pids

    def handed_on(self, holder_dies):
        """Kills a thousand waiters and, if `holder_dies`, the holder. Returns the time from the
        last death to the grant of a living client.
        """
        clients = int(1000 / SLOWNESS)
        waits = 10
        api = self.connect()
        first = None
        if not holder_dies:
            first = api.call("Acquire", Principal="first", LeaseMs=600_000, Locks=[{"Resource": "hot"}]).json
        pids = self.crowd(clients, waits)
        waiting = clients * waits - (2 if holder_dies else 1)
        self.wait_for_waiters("hot", waiting)
        last = self.connect()
        last.send("Acquire", {"Principal": "last", "PatienceMs": -1, "LeaseMs": 600_000,
                              "Locks": [{"Resource": "hot"}]})
        self.wait_for_waiters("hot", waiting + 1)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)
        start = time.monotonic()
        if first:
            api.send("Release", {name: first[name] for name in ("Grant", "Session", "Secret")})
        answer = last.receive()
        took = time.monotonic() - start
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.show("hot")["Waiters"], [])
        last.call("Release", Grant=answer.json["Grant"], Session=answer.json["Session"],
                  Secret=answer.json["Secret"])
        return took

    def test_the_next_live_waiter_is_granted_within_100_ms_after_1000_clients_are_killed(self):
        self.api()
        self.assert_within(0.1, lambda: self.handed_on(holder_dies=False))

    def test_also_if_the_holder_is_among_the_killed_clients(self):
        self.api()
        self.assert_within(0.1, lambda: self.handed_on(holder_dies=True))


tap.main()
