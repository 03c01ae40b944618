"""Holds one lock in a process of its own, which the test can stop or kill.

    lock_holder.py ENDPOINT HEARTBEAT_S LEASE_S EXPIRY_S

Prints "held" when it has the lock. After it has lost the lock, prints the codes of the callbacks and
of the release, and the status of the lock.
"""

import datetime
import sys
import threading

import boto3
from python_dynamodb_lock.python_dynamodb_lock import DynamoDBLockClient, DynamoDBLockError


def main():
    endpoint = sys.argv[1]
    heartbeat, lease, expiry = (datetime.timedelta(seconds=float(word)) for word in sys.argv[2:])
    resource = boto3.resource("dynamodb", endpoint_url=endpoint, region_name="local", aws_access_key_id="any",
                              aws_secret_access_key="any")
    client = DynamoDBLockClient(resource, owner_name="holder", heartbeat_period=heartbeat, lease_duration=lease,
                                safe_period=lease, expiry_period=expiry)
    notified = threading.Event()
    codes = []

    def lost(code, _):
        codes.append(code)
        notified.set()

    lock = client.acquire_lock("moe", app_callback=lost)
    print("held", flush=True)
    notified.wait()
    try:
        lock.release(best_effort=False)
    except DynamoDBLockError as error:
        codes.append(error.code)
    print(*codes, lock.status, flush=True)


main()
