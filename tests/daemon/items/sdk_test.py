"""An unmodified SDK, boto3, against the daemon over TCP; only the endpoint is configured."""

import re

import boto3
import tap
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError
from harness import Sandbox

HASH_AND_RANGE = {
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                             {"AttributeName": "sk", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Sdk(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()
        process = self.serve("--http", "127.0.0.1:0")
        self.endpoint = re.search(r"http://\S+", process.stderr.readline()).group(0)  # tidy: meant
        self.places = {"endpoint_url": self.endpoint, "region_name": "local", "aws_access_key_id": "any",
                       "aws_secret_access_key": "any",
                       "config": Config(retries={"max_attempts": 1}, proxies={})}
        self.client = boto3.client("dynamodb", **self.places)
        self.tables = boto3.resource("dynamodb", **self.places)

    def table(self, name="things"):
        table = self.tables.create_table(TableName=name, **HASH_AND_RANGE)
        table.wait_until_exists()
        return table

    def refused(self, call, **members):
        with self.assertRaises(ClientError) as raised:
            call(**members)
        return raised.exception.response

    def test_creates_writes_reads_and_deletes(self):
        table = self.table()
        item = {"pk": "a", "sk": 1, "text": "x", "list": [1, {"b": True}], "set": {"p", "q"}, "bytes": b"\0\xff",
                "none": None}
        table.put_item(Item=item)
        got = table.get_item(Key={"pk": "a", "sk": 1})["Item"]
        self.assertEqual({**got, "bytes": got["bytes"].value}, item)
        changed = table.update_item(Key={"pk": "a", "sk": 1}, UpdateExpression="SET n = if_not_exists(n, :z) + :o",
                                    ExpressionAttributeValues={":z": 0, ":o": 1}, ReturnValues="UPDATED_NEW")
        self.assertEqual(changed["Attributes"], {"n": 1})
        gone = table.delete_item(Key={"pk": "a", "sk": 1}, ReturnValues="ALL_OLD")
        self.assertEqual(gone["Attributes"]["n"], 1)
        self.assertNotIn("Item", table.get_item(Key={"pk": "a", "sk": 1}))
        table.delete()
        table.wait_until_not_exists()
        self.assertEqual(self.client.list_tables()["TableNames"], [])

    def test_gets_the_error_of_a_failed_condition(self):
        table = self.table()
        table.put_item(Item={"pk": "a", "sk": 1})
        answer = self.refused(table.put_item, Item={"pk": "a", "sk": 1},
                              ConditionExpression=Attr("pk").not_exists())
        self.assertEqual(answer["Error"], {"Code": "ConditionalCheckFailedException",
                                           "Message": "The conditional request failed"})
        with self.assertRaises(self.client.exceptions.ConditionalCheckFailedException):
            self.client.delete_item(TableName="things", Key={"pk": {"S": "z"}, "sk": {"N": "1"}},
                                    ConditionExpression="attribute_exists(pk)")

    def test_gets_the_cancellation_reasons_of_a_transaction(self):
        self.table().put_item(Item={"pk": "a", "sk": 1, "n": 5})

        def update(key, least):
            return {"Update": {"TableName": "things", "Key": {"pk": {"S": key}, "sk": {"N": "1"}},
                               "UpdateExpression": "SET m = :m", "ConditionExpression": "n > :m",
                               "ExpressionAttributeValues": {":m": {"N": least}},
                               "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}

        put = {"Put": {"TableName": "things", "Item": {"pk": {"S": "b"}, "sk": {"N": "1"}}}}
        answer = self.refused(self.client.transact_write_items, TransactItems=[put, update("a", "9")])
        self.assertEqual(answer["Error"]["Code"], "TransactionCanceledException")
        self.assertEqual(answer["CancellationReasons"], [
            {"Code": "None"},
            {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed",
             "Item": {"pk": {"S": "a"}, "sk": {"N": "1"}, "n": {"N": "5"}}}])
        self.client.transact_write_items(TransactItems=[put, update("a", "4")])
        got = self.client.transact_get_items(TransactItems=[
            {"Get": {"TableName": "things", "Key": {"pk": {"S": key}, "sk": {"N": "1"}}}} for key in "abz"])
        self.assertEqual([sorted(one.get("Item", {})) for one in got["Responses"]],
                         [["m", "n", "pk", "sk"], ["pk", "sk"], []])

    def test_pages_through_a_query_and_a_scan(self):
        table = self.table()
        with table.batch_writer() as batch:
            for number in range(60):
                batch.put_item(Item={"pk": "a", "sk": number})
                batch.put_item(Item={"pk": "b", "sk": number})
        pages = list(self.client.get_paginator("query").paginate(
            TableName="things", KeyConditionExpression="pk = :a", ExpressionAttributeValues={":a": {"S": "a"}},
            PaginationConfig={"PageSize": 7}))
        self.assertEqual([int(item["sk"]["N"]) for page in pages for item in page["Items"]], list(range(60)))
        self.assertEqual(len(pages), 9)
        scanned = self.client.get_paginator("scan").paginate(TableName="things", PaginationConfig={"PageSize": 50})
        self.assertEqual(sum(page["Count"] for page in scanned), 120)
        found = table.query(KeyConditionExpression=Key("pk").eq("b") & Key("sk").between(10, 12),
                            ScanIndexForward=False)
        self.assertEqual([item["sk"] for item in found["Items"]], [12, 11, 10])

    def test_reads_many_and_pages_through_tables(self):
        for number in range(5):
            self.table(f"table-{number}")
        names = [name for page in self.client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
                 for name in page["TableNames"]]
        self.assertEqual(names, [f"table-{number}" for number in range(5)])
        self.tables.Table("table-0").put_item(Item={"pk": "a", "sk": 1})
        got = self.tables.batch_get_item(RequestItems={"table-0": {"Keys": [{"pk": "a", "sk": 1}, {"pk": "b", "sk": 1}]}})
        self.assertEqual(got["Responses"], {"table-0": [{"pk": "a", "sk": 1}]})

    def test_creates_and_uses_an_index(self):
        table = self.table()
        table.put_item(Item={"pk": "a", "sk": 1, "owner": "ann"})
        self.client.update_table(
            TableName="things", AttributeDefinitions=[{"AttributeName": "owner", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": {
                "IndexName": "by-owner", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}]}}])
        found = table.query(IndexName="by-owner", KeyConditionExpression=Key("owner").eq("ann"))
        self.assertEqual(found["Count"], 1)

    def test_sets_times_to_live_and_tags(self):
        arn = self.table().table_arn
        self.client.update_time_to_live(TableName="things", TimeToLiveSpecification={
            "AttributeName": "expires", "Enabled": True})
        described = self.client.describe_time_to_live(TableName="things")["TimeToLiveDescription"]
        self.assertEqual(described, {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"})
        self.client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "locks"}])
        self.assertEqual(self.client.list_tags_of_resource(ResourceArn=arn)["Tags"],
                         [{"Key": "team", "Value": "locks"}])
        self.client.untag_resource(ResourceArn=arn, TagKeys=["team"])
        self.assertEqual(self.client.list_tags_of_resource(ResourceArn=arn)["Tags"], [])
        self.assertEqual(self.client.describe_limits()["TableMaxReadCapacityUnits"], 40000)
        backups = self.client.describe_continuous_backups(TableName="things")
        self.assertEqual(backups["ContinuousBackupsDescription"]["ContinuousBackupsStatus"], "ENABLED")

    def test_gets_the_error_of_a_missing_table(self):
        answer = self.refused(self.client.describe_table, TableName="nothing")
        self.assertEqual(answer["Error"]["Code"], "ResourceNotFoundException")
        self.assertEqual(answer["ResponseMetadata"]["HTTPStatusCode"], 400)
        self.assertEqual(len(answer["ResponseMetadata"]["RequestId"]), 52)


if __name__ == "__main__":
    tap.main()
