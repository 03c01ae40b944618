#!/usr/bin/python3
"""Orders that are edited under a lock, with boto3: the lock is shown in headers, and checked with the write.

    guard.py ENDPOINT edit ORDER EDITOR SECONDS   0: done; 75: another edits it; 1: the lock was lost
    guard.py ENDPOINT show ORDER

The new text is a line on standard input; who takes longer for it than so many seconds has lost the
lock, and overwrites nobody. The table is to be bound, so that nobody can forget to lock (over the
daemon's own socket, as who administers it):

    curl --unix-socket "$ROCKLOCK_SOCKET" localhost/ -H 'X-Amz-Target: Rocklock_20261121.BindTable' \\
        -d '{"TableName": "orders", "Resource": "orders/{id}"}'
"""

import contextlib
import json
import sys
import urllib.error
import urllib.request

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

TABLE = "orders"


class Refused(Exception):
    """By the lock API; `facts` has the members of the answer."""

    def __init__(self, facts):
        super().__init__(facts["message"])
        self.facts = facts


def call(endpoint, verb, **members):
    """A call of the lock API, which the endpoint of the tables takes too."""
    request = urllib.request.Request(endpoint, json.dumps(members).encode(), {
        "Content-Type": "application/json", "X-Amz-Target": f"Rocklock_20261121.{verb}"})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise Refused(json.load(error)) from None


def acquire(endpoint, order, editor, seconds):
    return call(endpoint, "Acquire", Principal=editor, LeaseMs=int(float(seconds) * 1000),
                Locks=[{"Resource": f"orders/{order}"}])


def release(endpoint, grant):
    call(endpoint, "Release", Session=grant["Session"], Secret=grant["Secret"], Grant=grant["Grant"])


def lock_headers(grant):
    return {"X-Rocklock-Session": f"{grant['Session']}:{grant['Secret']}", "X-Rocklock-Token": str(grant["Token"])}


@contextlib.contextmanager
def shown(client, headers):
    """What the client asks for meanwhile shows them, in whatever thread."""
    def add(params, **_):
        params["headers"].update(headers)

    client.meta.events.register("before-call.dynamodb", add)
    try:
        yield
    finally:
        client.meta.events.unregister("before-call.dynamodb", add)


def add_facts(http_response, parsed, **_):
    """Of a refusal the SDK tells code and message; who holds the lock now, and how it was lost, is in the body."""
    if http_response.status_code == 400:
        parsed["Facts"] = json.loads(http_response.content)


def client_for(endpoint):
    """Makes the table too, unless it is there."""
    # A write on condition of a version that got no answer may have been done. Sent again by the SDK,
    # it would be refused because of the version that it has written itself.
    client = boto3.client("dynamodb", endpoint_url=endpoint, region_name="local", aws_access_key_id="any",
                          aws_secret_access_key="any", config=Config(retries={"total_max_attempts": 1}))
    client.meta.events.register("after-call.dynamodb", add_facts)
    with contextlib.suppress(client.exceptions.ResourceInUseException):
        client.create_table(TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}])
    return client


def write(client, order, text, headers):
    with shown(client, headers):
        client.put_item(TableName=TABLE, Item={"id": {"S": order}, "text": {"S": text}})


def read(client, order):
    """The text, and the version that a write may be made on condition of: 0 where there is no order yet."""
    got = client.get_item(TableName=TABLE, Key={"id": {"S": order}}, ConsistentRead=True)
    version = int(got["ResponseMetadata"]["HTTPHeaders"]["x-rocklock-version"])
    return got.get("Item", {}).get("text", {}).get("S"), version


def write_if_unchanged(client, order, text, version, headers):
    """False when somebody has written since."""
    try:
        write(client, order, text, {**headers, "X-Rocklock-Version": str(version)})
    except client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def edit(endpoint, order, editor, seconds):
    client = client_for(endpoint)
    try:
        grant = acquire(endpoint, order, editor, seconds)
    except Refused as refused:
        print(refused)
        return 75
    print(f"{editor} edits orders/{order}: {read(client, order)[0]}", flush=True)
    try:
        write(client, order, sys.stdin.readline().rstrip("\n"), lock_headers(grant))
    except ClientError as error:
        if error.response["Error"]["Code"] != "StaleTokenException":
            raise
        print(error.response["Error"]["Message"])
        return 1
    release(endpoint, grant)
    return 0


def main(arguments):
    if len(arguments) == 5 and arguments[1] == "edit":
        endpoint, _, *words = arguments
        return edit(endpoint, *words)
    if len(arguments) == 3 and arguments[1] == "show":
        print(read(client_for(arguments[0]), arguments[2])[0])
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
