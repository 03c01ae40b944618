#!/usr/bin/python3
"""Edits orders under a lock, with boto3. The lock is presented in headers and checked with the write.

    guard.py ENDPOINT edit ORDER EDITOR SECONDS
    guard.py ENDPOINT show ORDER

`edit` reads the new text from a line of standard input. If that takes longer than SECONDS, the lock
is lost and the order is not overwritten. The exit status is 75 if another editor has the lock, and 1
if the lock was lost.

The table should be bound, so that a program that does not lock cannot write to it. An administrator
binds it over the daemon's own socket:

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
    """The lock API refused a request. `facts` has the members of the response."""

    def __init__(self, facts):
        super().__init__(facts["message"])
        self.facts = facts


def call(endpoint, verb, **members):
    """Sends a request of the lock API, to the same endpoint as the requests for tables."""
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
    """Adds the headers to every request of the client during the block, in any thread."""
    def add(params, **_):
        params["headers"].update(headers)

    client.meta.events.register("before-call.dynamodb", add)
    try:
        yield
    finally:
        client.meta.events.unregister("before-call.dynamodb", add)


def add_facts(http_response, parsed, **_):
    """Keeps the body of an error response, which names the holder of the lock and how it was lost.

    The SDK itself provides only the code and the message.
    """
    if http_response.status_code == 400:
        parsed["Facts"] = json.loads(http_response.content)


def client_for(endpoint):
    """Returns a client. Creates the table if it does not exist."""
    # A conditional write without a response may have succeeded. If the SDK retried it, the condition
    # would fail because of the version that the first attempt has written.
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
    """Returns the text and the version of the order, or version 0 if it does not exist."""
    got = client.get_item(TableName=TABLE, Key={"id": {"S": order}}, ConsistentRead=True)
    version = int(got["ResponseMetadata"]["HTTPHeaders"]["x-rocklock-version"])
    return got.get("Item", {}).get("text", {}).get("S"), version


def write_if_unchanged(client, order, text, version, headers):
    """Returns False if the order has been written since it had this version."""
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
