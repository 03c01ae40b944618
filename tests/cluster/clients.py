"""Clients that increment counters under locks, through all nodes of a cluster, and record what they see.

Each counter is an item, bound to a resource. A client locks it, reads it, and writes it with the value
plus one, its own name and the number of its round. Each request goes to a node that is chosen at random. If a response is lost, the client repeats the request with the same request id. Requests with a request
id go to one node, because the users of another node are other users.
"""

import collections
import random
import threading
import time

from counter_client import counted, key_of
from harness import Connection
from judge import Grant, GuardedWrite

TABLE = "counters"
# Longer than all faults and a takeover.
MAX_CALL_S = 60
ATTEMPT_S = 4


def boot_time():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Unknown(Exception):
    """There is no response that says whether the request was executed."""


class NotSent(Unknown):
    """The node accepts no connection."""


class Door:
    """A node, as one client uses it."""

    def __init__(self, path):
        self.path = path
        self.connection = None

    def call(self, verb, members, timeout_s=ATTEMPT_S):
        """Calls the lock API."""
        return self._call(lambda connection: connection.call(verb, **members), timeout_s)

    def call_tables(self, operation, members, grant=None, timeout_s=ATTEMPT_S):
        """Calls DynamoDB's API."""
        return self._call(lambda connection: connection.call_tables(operation, members, grant), timeout_s)

    def _call(self, function, timeout_s):
        try:
            self.connection = self.connection or Connection(self.path, timeout_s)
        except OSError as error:
            raise NotSent(str(error)) from error
        try:
            answer = function(self.connection)
        except (OSError, ValueError, IndexError) as error:
            self.close()
            raise Unknown(str(error)) from error
        if answer.status >= 500:
            raise Unknown(str(answer.body))
        return answer

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Journal:
    """What all clients have seen."""

    def __init__(self):
        self.mutex = threading.Lock()
        self.grants = []
        self.writes = []
        # The current grant by resource, for breaks.
        self.current = {}
        self.problems = []
        self.unknown = 0
        self.replays = 0
        self.breaks = 0
        self.stale = 0
        self.ended = 0

    def add(self, grant):
        with self.mutex:
            self.grants.append(grant)
            self.current[grant.resource] = grant


class Client(threading.Thread):
    """Base of the clients: requests through random nodes until there is a response."""

    def __init__(self, name, paths, journal, seed):
        super().__init__(daemon=True, name=name)
        self.doors = [Door(path) for path in paths]
        self.journal = journal
        self.random = random.Random(f"{seed}-{name}")
        self.home = self.random.choice(self.doors)
        self.stopping = False

    def run(self):
        try:
            while not self.stopping:
                self.round()
        except Exception as error:  # pylint: disable=broad-except
            self.journal.problems.append(f"{self.name}: {type(error).__name__}: {error}")
            raise
        finally:
            for door in self.doors:
                door.close()

    def once(self, function):
        """Calls a function of a door. Returns the response."""
        try:
            return function(self.random.choice(self.doors))
        except Unknown as unknown:
            if not isinstance(unknown, NotSent):
                self.journal.unknown += 1
            raise

    def until_answered(self, function):
        give_up = time.monotonic() + MAX_CALL_S
        while True:
            try:
                return self.once(function)
            except Unknown as unknown:
                if time.monotonic() > give_up:
                    raise AssertionError(f"no response for {MAX_CALL_S} s: {unknown}") from unknown
                time.sleep(0.02)

    def call(self, verb, **members):
        return self.until_answered(lambda door: door.call(verb, members))


class Counter(Client):
    """Increments counters."""

    def __init__(self, name, paths, journal, seed, counters):
        super().__init__(name, paths, journal, seed)
        self.counters = counters
        self.number = 0
        # In the form of find_loss() in counter_test.py.
        self.tries = {}
        # The round with a write that has no known result.
        self.open_round = None
        self.requests = 0
        # Earlier requests, and the grants in their responses.
        self.granted = collections.deque(maxlen=20)

    def finish(self):
        """After the run: determines the result of the last write."""
        self.stopping = False
        while self.open_round is not None:
            self.round()

    def round(self):
        counter = self.tries[self.open_round][0] if self.open_round else self.random.choice(self.counters)
        grant, recorded = self.acquire(counter)
        if grant is None:
            return
        item = self.until_answered(lambda door: door.call_tables(
            "GetItem", {"TableName": TABLE, "Key": key_of(counter), "ConsistentRead": True})).json.get("Item")
        if self.open_round and self.still_holds(grant, recorded):
            # No write of an earlier grant can succeed any more.
            last = int((item or {}).get("last", {"M": {}})["M"].get(self.name, {"N": "0"})["N"])
            self.tries[self.open_round][1] = last == self.open_round
            self.open_round = None
        if not self.open_round:
            self.edit(counter, grant, recorded, item)
        self.release(grant, recorded)

    def still_holds(self, grant, recorded):
        """Renews the session. Returns whether the grant was still held."""
        # A renewal whose response is lost can take effect.
        recorded.may_last = float("inf")
        answer = self.call("RenewSession", Session=grant["Session"], Secret=grant["Secret"])
        if answer.status == 200 and not any(lost["Grant"] == grant["Grant"] for lost in answer.json.get("Lost", ())):
            recorded.deadline = max(recorded.deadline, answer.json["DeadlineBootMs"] / 1000)
            return True
        self.ended(recorded, answer)
        return False

    def ended(self, recorded, answer):
        with self.journal.mutex:
            self.journal.ended += 1
        if answer.status == 200:
            return
        reason = answer.json.get("CancellationReasons", [answer.json])[0]
        if "Outcome" in reason:
            recorded.ends.append((boot_time(), reason["Outcome"]))
        else:
            self.journal.problems.append(f"{self.name}: {recorded}: {answer.json}")

    def acquire(self, counter):
        self.requests += 1
        members = {"Principal": self.name, "LeaseMs": self.random.choice((1_000, 3_000, 10_000)),
                   "PatienceMs": self.random.choice((0, 1_000, 3_000)), "RequestId": f"{self.name}-{self.requests}",
                   "Locks": [{"Resource": f"counters/{counter}", "Mode": "write"}]}
        sent = boot_time()
        # A request id belongs to a user of one node.
        answer = self.until_answered(lambda door: self.home.call("Acquire", members))
        received = boot_time()
        if answer.status != 200:
            if answer.error not in ("LockConflictException", "PatienceExpiredException", "CancelledException"):
                self.journal.problems.append(f"{self.name}: {answer.json}")
            time.sleep(0.01)
            return None, None
        grant = answer.json
        recorded = Grant(self.name, f"counters/{counter}", grant["Grant"], grant["Token"], sent, received,
                         grant["DeadlineBootMs"] / 1000)
        recorded.may_last = recorded.deadline
        if "Outcome" in grant:
            recorded.given_up = received
            self.journal.add(recorded)
            return None, None
        self.journal.add(recorded)
        self.granted.append((members, grant))
        if self.random.random() < 0.3:
            self.repeat(*self.random.choice(self.granted))
        return grant, recorded

    def repeat(self, members, grant):
        """The same request has the same result, also if another node has become the manager."""
        again = self.until_answered(lambda door: self.home.call("Acquire", members)).json
        self.journal.replays += 1
        if (again.get("Grant"), again.get("Token")) != (grant["Grant"], grant["Token"]):
            self.journal.problems.append(f"{self.name}: a repeated request has another result: {grant}, {again}")

    def edit(self, counter, grant, recorded, item):
        if self.random.random() < 0.1:
            self.still_holds(grant, recorded)
        # Some writes are sent after the end of the lease.
        time.sleep(self.random.choice((0, 0, 0.005, 0.02)) if self.random.random() < 0.95 else 1.2)
        self.number += 1
        self.tries[self.number] = [counter, None]
        item = counted(item, counter, self.name, self.number)
        if self.random.random() < 0.5:
            operation, members = "PutItem", {"TableName": TABLE, "Item": item}
        else:
            operation = "TransactWriteItems"
            members = {"TransactItems": [{"Put": {"TableName": TABLE, "Item": item}}]}
        sent = boot_time()
        try:
            answer = self.once(lambda door: door.call_tables(operation, members, grant))
        except Unknown:
            self.open_round = self.number
            return
        self.tries[self.number][1] = answer.status == 200
        if answer.status == 200:
            with self.journal.mutex:
                self.journal.writes.append(GuardedWrite(self.name, recorded.resource, grant["Token"], sent))
        else:
            self.journal.stale += 1
            self.ended(recorded, answer)

    def release(self, grant, recorded):
        recorded.given_up = min(recorded.given_up, boot_time())
        answer = self.call("Release", Session=grant["Session"], Secret=grant["Secret"], Grant=grant["Grant"])
        if answer.status == 200:
            recorded.ends.append((boot_time(), answer.json["Outcome"]))
        else:
            self.ended(recorded, answer)


class Breaker(Client):
    """Breaks grants of other clients."""

    def round(self):
        time.sleep(self.random.uniform(0.1, 0.4))
        with self.journal.mutex:
            grants = list(self.journal.current.values())
        if not grants:
            return
        grant = self.random.choice(grants)
        grant.break_sent = min(grant.break_sent, boot_time())
        answer = self.call("Break", Grant=grant.grant, Reason="test")
        # The clients of a standby have no right to break a lock.
        if answer.status == 200:
            grant.break_answered = boot_time()
            self.journal.breaks += 1


class Probe(Client):
    """Writes an item through one node, to see when it is answered."""

    def __init__(self, name, path, journal, seed):
        super().__init__(name, [path], journal, seed)
        # The times of the request and of the response of each write that succeeded.
        self.answers = []

    def round(self):
        sent = boot_time()
        try:
            answer = self.doors[0].call_tables("PutItem", {"TableName": "probes", "Item": {"id": {"S": self.name}}},
                                               timeout_s=1)
            if answer.status == 200:
                self.answers.append((sent, boot_time()))
            else:
                self.journal.problems.append(f"{self.name}: {answer.json}")
        except Unknown:
            pass
        time.sleep(0.1)
