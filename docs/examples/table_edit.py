#!/usr/bin/python3
"""Records which user edits which table of master data, with one transaction of conditional updates.

    table_edit.py ENDPOINT begin TABLE EDITOR
    table_edit.py ENDPOINT end TABLE EDITOR
    table_edit.py ENDPOINT show

The status of a table is `normal`, `editing` with the name of its editor, or `locked` by the editor of
another table with foreign keys that refer to it. `begin` changes the rows of the table and of those
that it refers to, all or none. `end` changes them back; only the same editor can do that. If another
editor has one of the rows, both print the rows, and the exit status is 75.
"""

import contextlib
import itertools
import random
import sys
import time

import boto3
from botocore.exceptions import ClientError

TABLE = "edited_tables"
ATTEMPTS = 20
# The tables to which the foreign keys of each table refer.
REFERS_TO = {"countries": [], "currencies": [], "customers": ["countries", "currencies"],
             "suppliers": ["countries"], "orders": ["customers"]}


def client_for(endpoint):
    return boto3.client("dynamodb", endpoint_url=endpoint, region_name="local", aws_access_key_id="any",
                        aws_secret_access_key="any")


def prepare(client):
    """Creates the table of statuses and its rows if they do not exist. New rows are `normal`."""
    with contextlib.suppress(client.exceptions.ResourceInUseException):
        client.create_table(TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                            AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
                            KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}])
    for name in REFERS_TO:
        with contextlib.suppress(client.exceptions.ConditionalCheckFailedException):
            patiently(client.put_item, TableName=TABLE, Item={"name": {"S": name}, "status": {"S": "normal"}},
                      ConditionExpression="attribute_not_exists(#n)", ExpressionAttributeNames={"#n": "name"})


def patiently(write, **members):
    """Calls `write`. Retries it if it conflicts with another transaction on the same rows."""
    for attempt in itertools.count(1):
        try:
            return write(**members)
        except ClientError as refused:
            reasons = refused.response.get("CancellationReasons", [{"Code": refused.response["Error"]["Code"]}])
            conflict = any(reason["Code"].startswith("TransactionConflict") for reason in reasons)
            if not conflict or attempt == ATTEMPTS:
                raise
            time.sleep(random.uniform(0, 0.05 * attempt))


def change(name, expression, condition, **values):
    """Returns one action of a transaction. `#s` and `#e` stand for the status and the editor."""
    used = f"{expression} {condition}"
    return {"Update": {
        "TableName": TABLE, "Key": {"name": {"S": name}},
        "UpdateExpression": expression, "ConditionExpression": condition,
        "ExpressionAttributeNames": {key: name for key, name in (("#s", "status"), ("#e", "by")) if key in used},
        "ExpressionAttributeValues": {f":{key}": {"S": value} for key, value in values.items()},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}


def begin(client, name, editor):
    """Returns an empty list if the editor has the table now, otherwise the rows that prevent it."""
    return change_all(client, name, editor, "SET #s = :taken, #e = :by", "#s = :normal")


def end(client, name, editor):
    return change_all(client, name, editor, "SET #s = :normal REMOVE #e", "#s = :taken AND #e = :by")


def change_all(client, name, editor, expression, condition):
    """Changes the rows of the table and of those that it refers to, in one transaction."""
    taken = {name: "editing", **{other: "locked" for other in REFERS_TO[name]}}
    actions = [change(each, expression, condition, taken=status, by=editor, normal="normal")
               for each, status in taken.items()]
    try:
        patiently(client.transact_write_items, TransactItems=actions)
    except client.exceptions.TransactionCanceledException as refused:
        in_the_way = [plain(reason["Item"]) for reason in refused.response["CancellationReasons"] if "Item" in reason]
        # If no row prevented it, the transaction failed for another reason.
        if not in_the_way:
            raise
        return in_the_way
    return []


def plain(item):
    return {name: value["S"] for name, value in item.items()}


def rows(client):
    return sorted((plain(item) for item in client.scan(TableName=TABLE)["Items"]), key=lambda row: row["name"])


def description(row):
    return f"{row['name']}: {row['status']}" + (f" by {row['by']}" if "by" in row else "")


def main(arguments):
    if len(arguments) < 2 or (arguments[1] != "show" and len(arguments) != 4):
        sys.exit(__doc__)
    endpoint, verb, *words = arguments
    client = client_for(endpoint)
    prepare(client)
    if verb == "show":
        print("\n".join(map(description, rows(client))))
        return 0
    if words[0] not in REFERS_TO:
        sys.exit(f"there is no table {words[0]}; there are: {', '.join(REFERS_TO)}")
    in_the_way = {"begin": begin, "end": end}[verb](client, *words)
    for row in in_the_way:
        print(description(row))
    return 75 if in_the_way else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ClientError as error:
        sys.exit(str(error))
