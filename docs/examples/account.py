#!/usr/bin/python3
"""Concurrent withdrawals from one account. Each write is conditional on the version that was read.

    account.py ENDPOINT open NAME BALANCE OVERDRAFT
    account.py ENDPOINT withdraw NAME AMOUNT
    account.py ENDPOINT show NAME

`withdraw` prints the new balance. If the balance is not sufficient, the exit status is 1.
"""

import sys
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr
from botocore.config import Config

TABLE = "accounts"


class NotEnough(Exception):
    pass


def accounts_at(endpoint):
    """Returns the table. Creates it if it does not exist."""
    # A write without a response may have succeeded. If the SDK retried it, the condition would fail
    # because of the version that the first attempt has written, and the caller would withdraw the
    # money again.
    once = Config(retries={"total_max_attempts": 1})
    resource = boto3.resource("dynamodb", endpoint_url=endpoint, region_name="local", aws_access_key_id="any",
                              aws_secret_access_key="any", config=once)
    if TABLE in (table.name for table in resource.tables.all()):
        return resource.Table(TABLE)
    return resource.create_table(TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                                 AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
                                 KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}])


def open_account(accounts, name, balance, overdraft):
    accounts.put_item(Item={"name": name, "balance": balance, "overdraft": overdraft, "version": 1},
                      ConditionExpression=Attr("name").not_exists())


def read(accounts, name):
    return accounts.get_item(Key={"name": name}, ConsistentRead=True)["Item"]


def write(accounts, account, balance):
    """Writes the new balance. Returns False if the account has been written since it was read."""
    try:
        accounts.update_item(Key={"name": account["name"]},
                             UpdateExpression="SET balance = :b, version = version + :one",
                             ConditionExpression=Attr("version").eq(account["version"]),
                             ExpressionAttributeValues={":b": balance, ":one": 1})
    except accounts.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def withdraw(accounts, name, amount):
    """Returns the new balance. If another client writes first, reads the account again and retries."""
    while True:
        account = read(accounts, name)
        balance = account["balance"] - amount
        if balance < account["overdraft"]:
            raise NotEnough(f"{account['balance']} less {amount} is below {account['overdraft']}")
        if write(accounts, account, balance):
            return balance


def main(arguments):
    if len(arguments) < 3 or len(arguments) != {"open": 5, "withdraw": 4, "show": 3}.get(arguments[1]):
        sys.exit(__doc__)
    endpoint, verb, name, *amounts = arguments
    accounts = accounts_at(endpoint)
    amounts = [Decimal(amount) for amount in amounts]
    if verb == "open":
        open_account(accounts, name, *amounts)
    elif verb == "withdraw":
        try:
            print(withdraw(accounts, name, *amounts))
        except NotEnough as refused:
            print(refused)
            return 1
    else:
        account = read(accounts, name)
        print(f"{account['balance']}, version {account['version']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
