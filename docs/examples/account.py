#!/usr/bin/python3
"""Withdrawals from one account by whoever comes: the version that was read is the condition of the write.

    account.py ENDPOINT open NAME BALANCE OVERDRAFT
    account.py ENDPOINT withdraw NAME AMOUNT     0: done, and the new balance; 1: not enough
    account.py ENDPOINT show NAME
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
    """The table, which is made unless it is there."""
    # A write that got no answer may have been done. The SDK would send it again, be refused because
    # of the version that it has written itself, and the money would go twice.
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
    """Changes what was read; False when somebody was faster."""
    try:
        accounts.update_item(Key={"name": account["name"]},
                             UpdateExpression="SET balance = :b, version = version + :one",
                             ConditionExpression=Attr("version").eq(account["version"]),
                             ExpressionAttributeValues={":b": balance, ":one": 1})
    except accounts.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def withdraw(accounts, name, amount):
    """The new balance. Decides anew on fresh data as long as others are faster."""
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
