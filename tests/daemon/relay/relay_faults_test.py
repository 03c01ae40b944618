"""Faults of a relay, of the manager and of the network between them, while clients of both use locks.

The number of faults is in RELAY_FAULTS; scripts/relay_faults runs more of them.
"""

import os
import pathlib
import random
import signal
import threading
import time

import tap
from harness import Connection, wait_until
from proxy import TO_CLIENT, TO_TARGET, Proxy
from relayed import Relays, free_port

FAULTS = int(os.environ.get("RELAY_FAULTS", "6"))
SEED = int(os.environ.get("RELAY_SEED", "1"))
LEASE_MS = 20_000
# Each call must end with a result within this time after the last fault, which takes up to 8 s.
MAX_CALL_S = 45


class Worker(threading.Thread):
    """Acquires and releases locks. Records what contradicts the guarantees."""

    def __init__(self, number, path, folder):
        super().__init__(daemon=True)
        self.number = number
        self.path = path
        self.folder = folder
        self.ends = False
        self.grants = 0
        self.errors = 0
        self.problems = []
        self.random = random.Random(SEED * 1000 + number)
        # The request whose response has not arrived.
        self.request = None

    def run(self):
        while not self.ends:
            connection = None
            try:
                connection = Connection(self.path, timeout_s=MAX_CALL_S)
                while not self.ends:
                    self.lock_once(connection)
            except TimeoutError:
                self.problems.append(f"worker {self.number}: a call had no result for {MAX_CALL_S} s")
            except (OSError, ValueError, ConnectionError):
                self.errors += 1
                time.sleep(0.05)
            finally:
                if connection:
                    connection.close()

    # The request id lets the worker get the grant of a call whose response was lost.
    def lock_once(self, connection):
        if self.request is None:
            self.request = (f"r{self.random.randrange(3)}", f"w{self.number}-{self.random.random()}")
        resource, request_id = self.request
        marker = self.folder / resource
        sent = time.monotonic()
        got = connection.call("Acquire", Locks=[{"Resource": resource}], Principal=f"w{self.number}",
                              LeaseMs=LEASE_MS, PatienceMs=5000, RequestId=request_id)
        self.request = None
        if got.status != 200:
            self.errors += 1
            return
        if "Outcome" in got.json:
            return
        self.grants += 1
        # The holder has the lock until its lease ends on its own clock, counted from the request if
        # it did not wait.
        until = sent + LEASE_MS / 1000 if not got.json["Waited"] else time.monotonic() + LEASE_MS / 2000
        try:
            marker.mkdir()
        except FileExistsError:
            self.problems.append(f"worker {self.number}: {resource} has two holders")
            return
        time.sleep(self.random.uniform(0, 0.01))
        marker.rmdir()
        self.release(got.json, until)

    def release(self, grant, until):
        while time.monotonic() < until - 1:
            try:
                connection = Connection(self.path, timeout_s=MAX_CALL_S)
                try:
                    done = connection.call("Release", Session=grant["Session"], Secret=grant["Secret"],
                                           Grant=grant["Grant"])
                finally:
                    connection.close()
            except (OSError, ValueError, ConnectionError):
                time.sleep(0.05)
                continue
            if time.monotonic() < until - 1 and done.status != 200 and done.error != "ServiceUnavailableException" \
                    and done.status != 503:
                self.problems.append(f"worker {self.number}: its grant was lost: {done.body}")
            return


class Faults(Relays):
    def test_no_fault_breaks_a_guarantee(self):
        chooser = random.Random(SEED)
        port = free_port()
        store = ("--db", self.folder / "db")
        main = self.manager(port=port, store=store)
        proxy = Proxy(port)
        web = self.relay(f"127.0.0.1:{proxy.port}")
        markers = pathlib.Path(self.folder, "markers")
        markers.mkdir()
        workers = [Worker(number, (web if number % 2 else main).socket, markers) for number in range(6)]
        for worker in workers:
            worker.start()
        for number in range(FAULTS):
            time.sleep(chooser.uniform(0.2, 1))
            fault = chooser.choice(("kill manager", "kill relay", "pause manager", "pause relay", "stop to manager",
                                    "stop to relay", "stop both", "reset"))
            seconds = chooser.choice((0.1, 0.5, 2, 8)) if number % 3 else 0.3
            if fault.startswith("kill"):
                victim = main if "manager" in fault else web
                victim.stop(signal.SIGKILL)
                time.sleep(seconds / 4)
                if "manager" in fault:
                    main = self.manager(port=port, store=store)
                else:
                    web = self.relay(f"127.0.0.1:{proxy.port}", connected=False)
            elif fault.startswith("pause"):
                victim = main if "manager" in fault else web
                victim.process.send_signal(signal.SIGSTOP)
                time.sleep(seconds)
                victim.process.send_signal(signal.SIGCONT)
            elif fault == "reset":
                proxy.reset()
            else:
                if fault != "stop to relay":
                    proxy.stop(TO_TARGET)
                if fault != "stop to manager":
                    proxy.stop(TO_CLIENT)
                time.sleep(seconds)
                proxy.resume()
        before = [worker.grants for worker in workers]
        wait_until(lambda: all(worker.grants > count + 2 for worker, count in zip(workers, before)),
                   "all workers get locks again")
        for worker in workers:
            worker.ends = True
        for worker in workers:
            worker.join(MAX_CALL_S + 10)
            self.assertFalse(worker.is_alive())
        proxy.close()
        self.assertEqual([problem for worker in workers for problem in worker.problems], [])
        print(f"# {FAULTS} faults, {sum(worker.grants for worker in workers)} grants, "
              f"{sum(worker.errors for worker in workers)} errors")


if __name__ == "__main__":
    tap.main()
