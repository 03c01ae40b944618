#!/usr/bin/python3
"""Who edits which table of master data: one transaction of conditional updates for all that it touches.

    table_edit.py ENDPOINT begin TABLE EDITOR     0: yours; 75: somebody else's, and whose
    table_edit.py ENDPOINT end TABLE EDITOR
    table_edit.py ENDPOINT show

A table's row says `normal`, `editing` with its editor, or `locked` by the editor of one whose foreign
keys refer to it. To begin changes the table's own row and those it refers to, all or none. To end asks
for the editor too: who was not asked to begin cannot end for another.
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
# Which tables the foreign keys of each refer to.
REFERS_TO = {"countries": [], "currencies": [], "customers": ["countries", "currencies"],
             "suppliers": ["countries"], "orders": ["customers"]}


def client_for(endpoint):
    return boto3.client("dynamodb", endpoint_url=endpoint, region_name="local", aws_access_key_id="any",
                        aws_secret_access_key="any")


def prepare(client):
    """Makes what is not there of the table of statuses, with each of them normal."""
    with contextlib.suppress(client.exceptions.ResourceInUseException):
        client.create_table(TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                            AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
                            KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}])
    for name in REFERS_TO:
        with contextlib.suppress(client.exceptions.ConditionalCheckFailedException):
            patiently(client.put_item, TableName=TABLE, Item={"name": {"S": name}, "status": {"S": "normal"}},
                      ConditionExpression="attribute_not_exists(#n)", ExpressionAttributeNames={"#n": "name"})


def patiently(write, **members):
    """Again where another transaction is at the same rows in the same moment; nothing is done then."""
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
    """One action of a transaction. `#s` and `#e` are the status and who has it."""
    used = f"{expression} {condition}"
    return {"Update": {
        "TableName": TABLE, "Key": {"name": {"S": name}},
        "UpdateExpression": expression, "ConditionExpression": condition,
        "ExpressionAttributeNames": {key: name for key, name in (("#s", "status"), ("#e", "by")) if key in used},
        "ExpressionAttributeValues": {f":{key}": {"S": value} for key, value in values.items()},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}


def begin(client, name, editor):
    """Nothing when the table is the editor's now; else the rows that are in the way, as they were then."""
    return change_all(client, name, editor, "SET #s = :taken, #e = :by", "#s = :normal")


def end(client, name, editor):
    return change_all(client, name, editor, "SET #s = :normal REMOVE #e", "#s = :taken AND #e = :by")


def change_all(client, name, editor, expression, condition):
    """Changes the table's own row and those it refers to, in one step."""
    taken = {name: "editing", **{other: "locked" for other in REFERS_TO[name]}}
    actions = [change(each, expression, condition, taken=status, by=editor, normal="normal")
               for each, status in taken.items()]
    try:
        patiently(client.transact_write_items, TransactItems=actions)
    except client.exceptions.TransactionCanceledException as refused:
        in_the_way = [plain(reason["Item"]) for reason in refused.response["CancellationReasons"] if "Item" in reason]
        # Without one it is something else, and not done.
        if not in_the_way:
            raise
        return in_the_way
    return []


def plain(item):
    return {name: value["S"] for name, value in item.items()}


def rows(client):
    return sorted((plain(item) for item in client.scan(TableName=TABLE)["Items"]), key=lambda row: row["name"])


def told(row):
    return f"{row['name']}: {row['status']}" + (f" by {row['by']}" if "by" in row else "")


def main(arguments):
    if len(arguments) < 2 or (arguments[1] != "show" and len(arguments) != 4):
        sys.exit(__doc__)
    endpoint, verb, *words = arguments
    client = client_for(endpoint)
    prepare(client)
    if verb == "show":
        print("\n".join(map(told, rows(client))))
        return 0
    if words[0] not in REFERS_TO:
        sys.exit(f"there is no table {words[0]}; there are: {', '.join(REFERS_TO)}")
    in_the_way = {"begin": begin, "end": end}[verb](client, *words)
    for row in in_the_way:
        print(told(row))
    return 75 if in_the_way else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ClientError as error:
        sys.exit(str(error))
