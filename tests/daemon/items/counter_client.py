"""Increments counters under locks until it is killed: one of the processes of counter_test.py.

    counter_client.py WAY SOCKET NAME COUNTERS

Each round locks one of the counters, reads it, waits, and writes the value plus one with the
process's own name and the number of the round. Prints `try N` before the write, and `done N` or
`refused N` after it. The test relies on these lines to decide whether a write was done.
"""

import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Connection  # noqa: E402  (one folder above)

LEASE_MS = 300


def key_of(counter):
    return {"id": {"S": counter}}


def counted(item, counter, name, number):
    """Returns the counter plus one. The item contains the last round of each process."""
    last = {**(item or {}).get("last", {"M": {}})["M"], name: {"N": str(number)}}
    value = int((item or {}).get("value", {"N": "0"})["N"]) + 1
    return {**key_of(counter), "value": {"N": str(value)}, "last": {"M": last}}


class Api(Connection):
    """A connection that ends if it is unknown whether a request was executed."""

    def receive(self):
        answer = super().receive()
        if answer.status >= 500:
            raise ConnectionError(answer.body)
        return answer


class Client:
    """The lock API. Subclasses define how items are read and written."""

    def __init__(self, socket, name):
        self.api = Api(socket)
        self.name = name

    def acquire(self, counter):
        answer = self.api.call("Acquire", Principal=self.name, LeaseMs=LEASE_MS, PatienceMs=2_000,
                               Locks=[{"Resource": f"counters/{counter}", "Mode": "write"}])
        return answer.json if answer.status == 200 else None

    def release(self, grant):
        self.api.call("Release", Session=grant["Session"], Secret=grant["Secret"], Grant=grant["Grant"])

    def tables(self, operation, grant, **members):
        return self.api.call_tables(operation, members, grant)


class Headers(Client):
    """DynamoDB's API, with the lock in headers."""

    def begin(self, counter):
        grant = self.acquire(counter)
        if grant:
            grant["Item"] = self.tables("GetItem", grant, TableName="counters", Key=key_of(counter),
                                        ConsistentRead=True).json.get("Item")
        return grant

    def save(self, grant, item):
        return self.tables("PutItem", grant, TableName="counters", Item=item).status == 200

    def end(self, grant):
        self.release(grant)


class Transactions(Headers):
    """The same in a transaction, which also releases the lock."""

    def save(self, grant, item):
        return self.tables("TransactWriteItems", grant,
                           TransactItems=[{"Put": {"TableName": "counters", "Item": item}}]).status == 200


class Edits(Client):
    """The lock API alone: an edit that is saved and ended in one commit."""

    def begin(self, counter):
        answer = self.api.call("BeginEdit", Principal=self.name, LeaseMs=LEASE_MS, PatienceMs=2_000,
                               Items=[{"TableName": "counters", "Key": key_of(counter)}])
        if answer.status != 200:
            return None
        return {**answer.json, "Item": answer.json["Items"][0].get("Item")}

    def save(self, grant, item):
        return self.api.call("SaveEdit", Session=grant["Session"], Secret=grant["Secret"], Token=grant["Token"],
                             TransactItems=[{"Put": {"TableName": "counters", "Item": item}}],
                             After="release").status == 200

    def end(self, grant):
        pass


WAYS = {"headers": Headers, "transactions": Transactions, "edits": Edits}


def main(way, socket, name, counters):
    client = WAYS[way](socket, name)
    choice = random.Random(name)
    for number in range(1, 10**9):
        counter = choice.choice(counters.split(","))
        grant = client.begin(counter)
        if grant is None:
            continue
        item = counted(grant["Item"], counter, name, number)
        time.sleep(choice.random() * 0.004)
        print(f"try {number} {counter}", flush=True)
        done = client.save(grant, item)
        print(f"{'done' if done else 'refused'} {number}", flush=True)
        client.end(grant)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, KeyboardInterrupt):
        os._exit(1)
