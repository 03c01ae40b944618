"""Fault injection and the sweep of expired items, as configured by options of `serve`."""

import json
import time

import tap
from dynamodb_test import TABLE, call, exception, get, put
from harness import wait_until
from http_test import TcpSandbox

INDEXED = {**TABLE, "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")],
           "GlobalSecondaryIndexes": [{"IndexName": "kinds", "Projection": {"ProjectionType": "ALL"},
                                       "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}]}]}
BY_KIND = {"TableName": "things", "IndexName": "kinds", "KeyConditionExpression": "kind = :k",
           "ExpressionAttributeValues": {":k": {"S": "new"}}}
EXPIRES = {"TableName": "things", "TimeToLiveSpecification": {"AttributeName": "until", "Enabled": True}}


class Rehearsed(TcpSandbox):
    def open(self, *options, table=TABLE):
        self.process = self.serve("--memory", *options)
        web = self.web()
        self.assertEqual(call(web, "CreateTable", table).status, 200)
        return web

    def expired(self, name):
        return put(name, until={"N": str(int(time.time()) - 60)})

    def has(self, web, name):
        return "Item" in json.loads(call(web, "GetItem", get(name)).text)

    def test_throttled(self):
        web = self.open("--throttle", "100%")
        for operation, members in (("PutItem", put("a")), ("GetItem", get("a"))):
            answer = call(web, operation, members)
            self.assertEqual(answer.status, 400)
            self.assertTrue(exception(answer).endswith("#ProvisionedThroughputExceededException"), answer.text)

    def test_some_conflict_as_the_seed_determines(self):
        def refused(seed):
            web = self.open("--conflict=30", "--rehearsal-seed", seed)
            answers = [call(web, "PutItem", put(str(number))) for number in range(100)]
            self.process.terminate()
            self.process.wait()
            wrong = [answer for answer in answers if answer.status != 200]
            self.assertTrue(all(exception(answer).endswith("#TransactionConflictException") for answer in wrong))
            return [answer.status for answer in answers]

        first = refused("7")
        self.assertTrue(5 < first.count(400) < 70, first.count(400))
        self.assertEqual(refused("7"), first)
        self.assertNotEqual(refused("8"), first)

    def test_an_index_that_lags(self):
        web = self.open("--index-lag", "1h", table=INDEXED)
        self.assertEqual(call(web, "PutItem", put("a", kind={"S": "new"})).status, 200)
        self.assertTrue(self.has(web, "a"))
        self.assertEqual(json.loads(call(web, "Query", BY_KIND).text)["Count"], 0)

    def test_an_index_that_does_not_lag(self):
        web = self.open(table=INDEXED)
        self.assertEqual(call(web, "PutItem", put("a", kind={"S": "new"})).status, 200)
        self.assertEqual(json.loads(call(web, "Query", BY_KIND).text)["Count"], 1)

    def test_a_sweep(self):
        web = self.open("--sweep-period", "50ms")
        self.assertEqual(call(web, "UpdateTimeToLive", EXPIRES).status, 200)
        call(web, "PutItem", self.expired("a"))
        call(web, "PutItem", put("b"))
        wait_until(lambda: not self.has(web, "a"), "the expired item is gone")
        self.assertTrue(self.has(web, "b"))

    def test_a_sweep_that_lags(self):
        web = self.open("--sweep-period", "10ms", "--ttl-lag", "48h")
        self.assertEqual(call(web, "UpdateTimeToLive", EXPIRES).status, 200)
        call(web, "PutItem", self.expired("a"))
        long_ago = put("b", until={"N": str(int(time.time()) - 3 * 24 * 3600)})
        call(web, "PutItem", long_ago)
        wait_until(lambda: not self.has(web, "b"), "what expired three days ago is gone")
        self.assertTrue(self.has(web, "a"))

    def test_the_log_warns(self):
        self.open("--throttle", "5%", "--index-lag", "200ms", "--log-format", "json")
        while (line := json.loads(self.process.stderr.readline()))["event"] != "rehearsal":
            pass
        self.assertEqual((line["level"], line["throttle_percent"], line["conflict_percent"], line["index_lag"],
                          line["ttl_lag"], line["seed"]), ("warning", 5, 0, "200ms", "0", 1))

    def test_invalid_settings_are_refused(self):
        for words in (("--throttle", "101%"), ("--throttle=-1",), ("--conflict", "many"), ("--index-lag", "5"),
                      ("--sweep-period", "0"), ("--rehearsal-seed", "x")):
            done = self.rocklock("serve", "--memory", *words)
            self.assertEqual(done.returncode, 64, words)
            self.assertIn(words[0].split("=")[0].removeprefix("--"), done.stderr)


if __name__ == "__main__":
    tap.main()
