"""A bank that must not lose money: 64 clients transfer while the daemon is killed repeatedly.

A transfer reads two accounts and decides. It then writes both on condition of their versions, and
an entry in a journal, in one transaction with an idempotency token. A client that gets no response
retries with the same token until it gets one. At the end, the accounts must agree with the journal,
and the journal with the responses.

A longer run: ROCKLOCK_BANK_SECONDS=600, with a kill every second.
"""

import collections
import json
import os
import random
import threading
import time
import unittest

import tap
from dynamodb_test import call, exception
from harness import SLOWNESS, Sandbox
from http_test import Web

CLIENTS = 64
ACCOUNTS = 24
OPENING = 1000
LIMIT = -500
ALL = bool(os.environ.get("ROCKLOCK_TEST_ALL"))
SECONDS = float(os.environ.get("ROCKLOCK_BANK_SECONDS", "60" if ALL else "0"))
DEATHS = 4


Transfer = collections.namedtuple("Transfer", "source target amount source_version target_version")
Account = collections.namedtuple("Account", "balance version")


def find_loss(accounts, journal, done, refused):
    """Returns a description of lost or created money, or None.

    accounts  by name, each with balance and version, all opened with OPENING at version 0
    journal   by id, the transfers that were stored
    done      by id, the transfers that were answered as done
    refused   ids of the transfers that were answered as not done
    """
    total = sum(account.balance for account in accounts.values())
    if total != OPENING * len(accounts):
        return f"the balances are {total} together"
    for name, transfer in done.items():
        if journal.get(name) != transfer:
            return f"{name} was answered as {transfer} and is {journal.get(name)}"
    for name in journal:
        if name in refused:
            return f"{name} was refused and is there"
        if name not in done:
            return f"{name} is there and was not answered"
    changes = collections.defaultdict(dict)
    for name, transfer in journal.items():
        for account, change, version in ((transfer.source, -transfer.amount, transfer.source_version),
                                         (transfer.target, transfer.amount, transfer.target_version)):
            if version in changes[account]:
                return f"version {version} of {account} was replaced twice: {name}"
            changes[account][version] = change
    for name, account in accounts.items():
        if sorted(changes[name]) != list(range(account.version)):
            return f"{name} is at version {account.version}, with transfers from {sorted(changes[name])[-3:]}"
        balance = OPENING
        for version in range(account.version):
            balance += changes[name][version]
            if balance < LIMIT:
                return f"{name} was overdrawn at version {version}: {balance}"
        if balance != account.balance:
            return f"{name} has {account.balance}, and {balance} by the journal"
    return None


def number(value):
    return {"N": str(value)}


def table(name):
    return {"TableName": name, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}


def account_name(place):
    return f"a{place}"


def account_of(item):
    return Account(int(item["balance"]["N"]), int(item["version"]["N"]))


def booking(name, amount, version, condition="version = :version", **values):
    return {"Update": {
        "TableName": "accounts", "Key": {"id": {"S": name}},
        "UpdateExpression": "SET balance = balance + :amount, version = version + :one",
        "ConditionExpression": condition,
        "ExpressionAttributeValues": {":amount": number(amount), ":one": number(1), ":version": number(version),
                                      **{f":{key}": number(value) for key, value in values.items()}}}}


def entry(name, transfer):
    return {"Put": {"TableName": "journal", "ConditionExpression": "attribute_not_exists(id)", "Item": {
        "id": {"S": name}, "source": {"S": transfer.source}, "target": {"S": transfer.target},
        "amount": number(transfer.amount), "source_version": number(transfer.source_version),
        "target_version": number(transfer.target_version)}}}


def transfer_of(item):
    return Transfer(item["source"]["S"], item["target"]["S"], int(item["amount"]["N"]),
                    int(item["source_version"]["N"]), int(item["target_version"]["N"]))


class Client(threading.Thread):
    """Transfers until the bank closes. Repeats each request until there is a response."""

    def __init__(self, bank, place):
        super().__init__()
        self.bank = bank
        self.place = place
        self.random = random.Random(place)
        self.web = None
        self.done = {}
        self.refused = set()
        self.asked_again = 0
        self.known_again = 0
        self.audits = 0
        self.problem = None

    def run(self):
        try:
            while not self.bank.closed.is_set():
                if self.place == 0:
                    self.audit()
                else:
                    self.transfer()
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = f"{type(problem).__name__}: {problem}"
            self.bank.closed.set()
        finally:
            if self.web:
                self.web.close()

    def ask(self, operation, members):
        """Returns the response, and whether the request was sent more than once."""
        again = False
        while True:
            try:
                self.web = self.web or Web(self.bank.socket)
            except OSError:
                if time.monotonic() > self.bank.gives_up:
                    raise
                time.sleep(0.002)
                continue
            try:
                answer = call(self.web, operation, members)
                if len(answer.body) == int(answer.headers["content-length"]):
                    return answer, again
            # The response has no status or no length.
            except (OSError, IndexError, KeyError):
                pass
            self.web.close()
            self.web = None
            again = True

    def read(self, names):
        answer, _ = self.ask("TransactGetItems", {"TransactItems": [
            {"Get": {"TableName": "accounts", "Key": {"id": {"S": name}}}} for name in names]})
        if answer.status != 200:
            raise AssertionError(answer.text)
        return [account_of(found["Item"]) for found in json.loads(answer.text)["Responses"]]

    def audit(self):
        total = sum(account.balance for account in self.read([account_name(place) for place in range(ACCOUNTS)]))
        if total != OPENING * ACCOUNTS:
            raise AssertionError(f"at one moment the balances were {total} together")
        self.audits += 1

    def transfer(self):
        names = [account_name(place) for place in self.random.sample(range(ACCOUNTS), 2)]
        source, target = self.read(names)
        amount = self.random.randrange(1, 400)
        name = f"{self.place}-{len(self.done) + len(self.refused)}"
        transfer = Transfer(*names, amount, source.version, target.version)
        answer, again = self.ask("TransactWriteItems", {"ClientRequestToken": name, "TransactItems": [
            booking(names[0], -amount, source.version, "version = :version AND balance >= :least",
                    least=LIMIT + amount),
            booking(names[1], amount, target.version), entry(name, transfer)]})
        self.asked_again += again
        if answer.status == 200:
            self.done[name] = transfer
            self.known_again += again
        elif exception(answer).endswith("#TransactionCanceledException"):
            reasons = [reason["Code"] for reason in json.loads(answer.text)["CancellationReasons"]]
            if not set(reasons[:2]) & {"ConditionalCheckFailed"} or reasons[2] != "None":
                raise AssertionError(answer.text)
            self.refused.add(name)
        else:
            raise AssertionError(answer.text)


class Bank(Sandbox):
    def setUp(self):
        super().setUp()
        self.closed = threading.Event()
        self.gives_up = time.monotonic() + 120 * SLOWNESS + SECONDS

    def open(self):
        self.state.mkdir()
        self.daemon = self.serve()
        web = Web(self.socket)
        self.connections.append(web)
        for name in ("accounts", "journal"):
            self.assertEqual(call(web, "CreateTable", table(name)).status, 200)
        for place in range(ACCOUNTS):
            item = {"id": {"S": account_name(place)}, "balance": number(OPENING), "version": number(0)}
            self.assertEqual(call(web, "PutItem", {"TableName": "accounts", "Item": item}).status, 200)

    def scan(self, name):
        web = Web(self.socket)
        items = []
        start = {}
        while True:
            page = json.loads(call(web, "Scan", {"TableName": name, **start}).text)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                web.close()
                return {item["id"]["S"]: item for item in items}
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def kill_now_and_then(self, clients):
        """Kills the daemon repeatedly, each time after at least one more transfer."""
        deaths = 0
        end = time.monotonic() + SECONDS
        while (deaths < DEATHS or time.monotonic() < end) and not self.closed.is_set():
            before = sum(len(client.done) for client in clients)
            pause = time.monotonic() + 0.5 + random.random()
            while not self.closed.is_set() and (
                    time.monotonic() < pause or sum(len(client.done) for client in clients) < before + 20):
                time.sleep(0.005)
            self.daemon.kill()
            self.daemon.wait()
            self.daemon = self.serve()
            deaths += 1
        return deaths

    def test_loses_no_money_when_the_daemon_is_killed(self):
        self.open()
        clients = [Client(self, place) for place in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            deaths = self.kill_now_and_then(clients)
        finally:
            self.closed.set()
            for client in clients:
                client.join()
        self.assertEqual([client.problem for client in clients if client.problem], [])
        done = {name: transfer for client in clients for name, transfer in client.done.items()}
        refused = set().union(*(client.refused for client in clients))
        accounts = {name: account_of(item) for name, item in self.scan("accounts").items()}
        journal = {name: transfer_of(item) for name, item in self.scan("journal").items()}
        again = sum(client.asked_again for client in clients)
        known = sum(client.known_again for client in clients)
        print(f"# {deaths} deaths, {len(done)} transfers, {len(refused)} refused, {again} asked again and "
              f"{known} of them done, {sum(client.audits for client in clients)} audits")
        self.assertEqual(len(accounts), ACCOUNTS)
        self.assertIsNone(find_loss(accounts, journal, done, refused))
        # Otherwise, the test has tested nothing.
        self.assertGreater(again, 0)
        self.assertGreater(len(refused), 0)


class Judge(unittest.TestCase):
    """find_loss() must detect errors in the accounts."""

    def setUp(self):
        self.accounts = {"a": Account(OPENING - 30, 2), "b": Account(OPENING + 30, 2), "c": Account(OPENING, 0)}
        self.done = {"1": Transfer("a", "b", 50, 0, 0), "2": Transfer("b", "a", 20, 1, 1)}

    def loss(self, refused=(), journal=None, **accounts):
        return find_loss(self.accounts | accounts, self.done if journal is None else journal, self.done, set(refused))

    def test_accepts_a_correct_history(self):
        self.assertIsNone(self.loss(refused={"3"}))

    def test_finds_a_lost_transfer(self):
        without = {"1": self.done["1"]}
        self.assertIn("2 was answered", self.loss(journal=without))
        self.assertIn("2 was answered", self.loss(journal=without, a=Account(OPENING - 50, 1),
                                                  b=Account(OPENING + 50, 1)))

    def test_finds_half_a_transfer(self):
        self.assertIn("together", self.loss(a=Account(OPENING - 50, 1)))
        self.assertIn("with transfers from", self.loss(a=Account(OPENING - 30, 3)))

    def test_finds_a_transfer_made_twice(self):
        twice = {"a": Account(OPENING - 80, 3), "b": Account(OPENING + 80, 3)}
        self.assertIn("with transfers from", self.loss(**twice))
        again = self.done | {"1b": Transfer("a", "b", 50, 2, 2)}
        self.assertIn("was not answered", self.loss(journal=again, **twice))

    def test_finds_a_refused_transfer_that_was_executed(self):
        self.assertIn("was refused", self.loss(refused={"3"}, journal=self.done | {"3": self.done["1"]}))

    def test_finds_a_lost_update(self):
        self.done["3"] = Transfer("a", "c", 10, 1, 0)
        self.assertIn("replaced twice", self.loss(a=Account(OPENING - 40, 2), c=Account(OPENING + 10, 1)))

    def test_finds_a_transfer_to_a_wrong_account(self):
        self.assertIn("by the journal", self.loss(a=Account(OPENING - 40, 2), b=Account(OPENING + 40, 2)))

    def test_finds_an_overdrawn_account(self):
        self.done["1"] = Transfer("a", "b", 1501, 0, 0)
        self.assertIn("overdrawn", self.loss(a=Account(OPENING - 1481, 2), b=Account(OPENING + 1481, 2)))


if __name__ == "__main__":
    tap.main()
