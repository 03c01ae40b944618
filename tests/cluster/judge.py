"""The verdict on a run with faults: contradictions between what clients and an observer of etcd recorded.

All times are those of CLOCK_BOOTTIME in seconds. Each function returns a list of descriptions, which
is empty if there is no contradiction.
"""

import dataclasses
import struct

COMMIT = struct.Struct(">QQBQII")
PLAIN = 0


@dataclasses.dataclass
class Grant:
    """A grant that a client received."""

    client: str
    resource: str
    grant: int
    token: int
    # The times of the first request and of the response.
    sent: float
    received: float
    # The end that the last response to the holder has given.
    deadline: float
    # When the holder has asked to release the lock, or gave it up.
    given_up: float = float("inf")
    # Responses that say that the grant has ended: their times and outcomes.
    ends: list = dataclasses.field(default_factory=list)
    # When a break was first requested.
    break_sent: float = float("inf")
    break_answered: float = float("inf")
    # The latest possible end: infinite if the response to a renewal was lost.
    may_last: float = float("inf")

    def until(self):
        """Returns the time until which no other client may have the lock."""
        return min(self.deadline, self.given_up, self.break_sent)


@dataclasses.dataclass
class GuardedWrite:
    """A write that was acknowledged."""

    client: str
    resource: str
    token: int
    sent: float


class Chain:
    """The chain of commits, from all revisions of the keys of the store, in order."""

    def __init__(self, store):
        self.lead = store + b"lead"
        # These keys are not part of the store.
        self.nodes = store + b"node/"
        self.commit = store + b"commit"
        self.epoch = None
        self.number = 0
        self.elections = 0
        self.problems = []

    def add(self, revision, changes):
        """Adds a revision. `changes` are tuples of the key, the create revision (None if the key was
        deleted), and the value."""
        commits = [value for key, _, value in changes if key == self.commit]
        if any(key != self.lead and not key.startswith(self.nodes) for key, _, _ in changes):
            if len(commits) != 1:
                self.problems.append(f"revision {revision} changes the store with {len(commits)} commits")
            else:
                self._add_commit(revision, commits[0])
        for key, created, _ in changes:
            if key != self.lead:
                continue
            if created == revision:
                self.elections += 1
                if self.epoch is not None:
                    self.problems.append(f"revision {revision} makes a manager beside that of {self.epoch}")
            self.epoch = created

    def _add_commit(self, revision, value):
        if value is None or len(value) != COMMIT.size:
            self.problems.append(f"revision {revision} contains no commit record: {value}")
            return
        number, epoch, *_ = COMMIT.unpack(value)
        if number != self.number + 1:
            self.problems.append(f"revision {revision}: commit {number} follows {self.number}")
        if epoch != self.epoch:
            self.problems.append(f"revision {revision}: commit {number} of epoch {epoch}, but the manager is that "
                                 f"of {self.epoch}")
        self.number = number


def by_resource(things):
    sorted_out = {}
    for thing in things:
        sorted_out.setdefault(thing.resource, []).append(thing)
    return sorted_out


def find_two_holders(grants):
    """No client gets a lock before the end that the holder knows."""
    problems = []
    for resource, own in by_resource(grants).items():
        # The response to a request can arrive after the end of the grant.
        own = sorted((grant for grant in own if grant.received < grant.until()), key=lambda grant: grant.received)
        latest = None
        for grant in own:
            if latest is not None and grant.received < latest.until() and grant.grant != latest.grant:
                problems.append(f"{resource} has two holders: {grant} was granted during {latest}")
            if latest is None or grant.until() > latest.until():
                latest = grant
    return problems


def find_token_disorder(grants):
    """A grant that was requested after another one was received has a greater token."""
    problems = []
    for resource, own in by_resource(grants).items():
        received = sorted(own, key=lambda grant: grant.received)
        place, greatest = 0, None
        for grant in sorted(own, key=lambda grant: grant.sent):
            while received[place].received < grant.sent:
                if greatest is None or received[place].token > greatest.token:
                    greatest = received[place]
                place += 1
            if greatest is not None and grant.token <= greatest.token and grant.grant != greatest.grant:
                problems.append(f"{resource}: the token of {grant} does not exceed that of {greatest}")
    return problems


def find_repeated_grants(grants):
    """No two clients have the same grant or token."""
    problems = []
    seen = {}
    for grant in grants:
        for number in {("grant", grant.grant), ("token", grant.resource, grant.token)}:
            other = seen.setdefault(number, grant)
            if other is not grant:
                problems.append(f"{grant} and {other} have the same {number[0]}")
    return problems


def find_stale_writes(grants, writes):
    """No write is acknowledged that was sent after a later grant of the resource was received, after a
    break of its grant was acknowledged, or after the end of its grant."""
    problems = []
    granted = by_resource(grants)
    for write in writes:
        for grant in granted.get(write.resource, ()):
            if grant.token > write.token and grant.received < write.sent:
                problems.append(f"{write} was acknowledged although {grant} existed")
            if grant.token == write.token and write.sent > min(grant.break_answered, grant.may_last):
                problems.append(f"{write} was acknowledged after the end of {grant}")
    return problems


def find_lost_grants(grants):
    """A grant does not end before its deadline, unless its holder or a break ends it."""
    problems = []
    for grant in grants:
        for time, outcome in grant.ends:
            if outcome == "broken" and grant.break_sent < time:
                continue
            if outcome == "expired" and time >= grant.deadline:
                continue
            if outcome in ("released", "already_released") and grant.given_up <= time:
                continue
            problems.append(f"{grant} was lost: {outcome} at {time}")
    return problems


def find_contradictions(grants, writes):
    return [problem for find in (find_two_holders, find_token_disorder, find_repeated_grants, find_lost_grants)
            for problem in find(grants)] + find_stale_writes(grants, writes)
