"""DynamoDB's API over HTTP: headers, signatures, compressed bodies, order of requests, and the
state after a crash.

golden_replay_test.py checks the responses of the operations, and sdk_test.py an SDK.
"""

import email.utils
import gzip
import json
import re
import threading
import time
import zlib

import tap
from harness import Sandbox
from http_test import TcpSandbox, Web

SIGNATURE = ("AWS4-HMAC-SHA256 Credential=any/20260101/local/dynamodb/aws4_request, "
             "SignedHeaders=host;x-amz-date, Signature=00")
TABLE = {"TableName": "things", "BillingMode": "PAY_PER_REQUEST",
         "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
         "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}


def headers_for(operation, **more):
    return {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Authorization": SIGNATURE,
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": "20260101T000000Z",
            **{name.replace("_", "-"): value for name, value in more.items()}}


def body_of(members):
    return members if isinstance(members, bytes) else json.dumps(members).encode()


def call(web, operation, members, target="/", **headers):
    return web.ask("POST", target, headers_for(operation, **headers), body_of(members))


def put(name, **more):
    return {"TableName": "things", "Item": {"id": {"S": name}, **more}}


def get(name):
    return {"TableName": "things", "Key": {"id": {"S": name}}}


def exception(answer):
    return json.loads(answer.text)["__type"]


class Api(TcpSandbox):
    def setUp(self):
        super().setUp()
        self.port = self.serve_tcp()

    def with_table(self, where=None):
        web = self.web(where)
        self.assertEqual(call(web, "CreateTable", TABLE).status, 200)
        return web

    def refused(self, web, name, operation="ListTables", members=None, **headers):
        answer = call(web, operation, members or {}, **headers)
        self.assertEqual((answer.status, exception(answer)),
                         (400, f"com.amazon.coral.service#{name}"), headers)
        return json.loads(answer.text)


class Region(TcpSandbox):
    def test_is_in_the_arns_of_tables(self):
        web = self.web(self.serve_tcp("--region", "eu-west-1"))
        made = json.loads(call(web, "CreateTable", TABLE).text)["TableDescription"]
        self.assertEqual(made["TableArn"], "arn:aws:dynamodb:eu-west-1:000000000000:table/things")
        found = call(web, "DescribeTable", {"TableName": made["TableArn"]})
        self.assertEqual(json.loads(found.text)["Table"]["TableName"], "things")

    def test_is_refused_if_it_is_malformed(self):
        process = self.rocklock("serve", "--memory", "--region", "EU West")
        self.assertEqual(process.returncode, 64, process.stderr)
        self.assertIn("region (from the command line) is 'EU West'; write 1 to 63 lower-case letters", process.stderr)


class Answers(Api):
    def test_have_an_id_and_the_checksum_of_their_body(self):
        ids = set()
        for where in (None, self.port):
            web = self.web(where)
            for operation, members in (("ListTables", {}), ("GetItem", get("a")), ("Nope", {}), ("GetItem", {})):
                answer = call(web, operation, members)
                self.assertEqual(answer.headers["content-type"], "application/x-amz-json-1.0")
                self.assertRegex(answer.headers["x-amzn-requestid"], r"\A[0-9A-Z]{52}\Z")
                self.assertEqual(int(answer.headers["x-amz-crc32"]), zlib.crc32(answer.body))
                ids.add(answer.headers["x-amzn-requestid"])
        self.assertEqual(len(ids), 8)

    def test_are_counted(self):
        web = self.with_table()
        for members in (put("a"), put("b"), {**put("a"), "ConditionExpression": "attribute_not_exists(id)"}, {}):
            call(web, "PutItem", members)
        call(web, "GetItem", get("a"))
        call(web, "Query", {"TableName": "nowhere"})
        call(web, "Nope", {})
        figures = dict(line.rsplit(" ", 1) for line in web.ask("GET", "/metrics").text.splitlines() if line[0] != "#")

        def counted(operation, outcome):
            return figures.get(f'rocklock_table_requests_total{{operation="{operation}",outcome="{outcome}"}}')
        self.assertEqual(counted("CreateTable", "ok"), "1")
        self.assertEqual(counted("PutItem", "ok"), "2")
        self.assertEqual(counted("PutItem", "condition_failed"), "1")
        self.assertEqual(counted("PutItem", "invalid_argument"), "1")
        self.assertEqual(counted("GetItem", "ok"), "1")
        self.assertEqual(counted("other", "malformed"), "1")
        self.assertIsNone(counted("Scan", "ok"))
        self.assertEqual(figures['rocklock_table_request_duration_seconds_count{operation="PutItem"}'], "4")
        self.assertEqual(figures['rocklock_table_request_duration_seconds_count{operation="Query"}'], "1")

    def test_name_errors_like_the_service(self):
        web = self.with_table()
        answer = call(web, "CreateTable", TABLE)
        self.assertEqual(exception(answer), "com.amazonaws.dynamodb.v20120810#ResourceInUseException")
        self.assertEqual(json.loads(answer.text)["message"], "Table already exists: things")
        answer = call(web, "PutItem", {})
        self.assertEqual(exception(answer), "com.amazon.coral.validate#ValidationException")
        self.assertEqual(
            json.loads(answer.text)["message"],
            "2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: "
            "Member must not be null; Value null at 'item' failed to satisfy constraint: Member must not be null")

    def test_name_the_unknown_operation(self):
        web = self.web(self.port)

        def message_for(target):
            answer = call(web, "PutItem", {}, X_Amz_Target=target)
            self.assertEqual((answer.status, exception(answer)),
                             (400, "com.amazon.coral.service#UnknownOperationException"), target)
            self.assertEqual(len(answer.headers["x-amzn-requestid"]), 52)
            return json.loads(answer.text)["message"]
        for service, operation in (("DynamoDB", "ExecuteStatement"), ("DynamoDB", "CreateBackup"),
                                   ("DynamoDBStreams", "ListStreams")):
            self.assertEqual(message_for(f"{service}_20120810.{operation}"),
                             f"Rocklock does not implement the operation {operation} of DynamoDB")
        for target in ("DynamoDB_20120810.Nope", "DynamoDB_20120810.putitem", "DynamoDB_20120810.", "", "PutItem",
                       "nobody.PutItem", "DynamoDB_19990101.ListTables"):
            self.assertTrue(message_for(target).startswith(f"The operation '{target}' is unknown: "), target)

    def test_have_a_date(self):
        for where in (None, self.port):
            web = self.web(where)
            # The date is that of the coarse clock of the kernel, which is a few milliseconds behind.
            before = time.time() - 1.1
            dates = [call(web, "ListTables", {}).headers["date"], web.ask("GET", "/healthz").headers["date"]]
            for date in dates:
                self.assertRegex(date, r"\A[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT\Z")
                self.assertTrue(before <= email.utils.parsedate_to_datetime(date).timestamp() <= time.time(), date)

    def test_describe_the_class_of_a_table(self):
        web = self.web(self.port)
        answer = call(web, "CreateTable", {**TABLE, "TableClass": "CHEAP"})
        self.assertEqual(json.loads(answer.text)["message"],
                         "1 validation error detected: Value 'CHEAP' at 'tableClass' failed to satisfy constraint: "
                         "Member must satisfy enum value set: [STANDARD, STANDARD_INFREQUENT_ACCESS]")
        made = json.loads(call(web, "CreateTable", {**TABLE, "TableClass": "STANDARD"}).text)
        self.assertEqual(made["TableDescription"]["TableClassSummary"], {"TableClass": "STANDARD"})
        call(web, "UpdateTable", {"TableName": "things", "TableClass": "STANDARD_INFREQUENT_ACCESS"})
        description = json.loads(call(web, "DescribeTable", {"TableName": "things"}).text)["Table"]
        self.assertEqual(description["TableClassSummary"], {"TableClass": "STANDARD_INFREQUENT_ACCESS"})

    def test_describe_the_arn_and_the_counts_of_a_table(self):
        web = self.with_table()
        call(web, "PutItem", put("a"))
        table = json.loads(call(web, "DescribeTable", {"TableName": "things"}).text)["Table"]
        self.assertEqual(table["TableArn"], "arn:aws:dynamodb:local:000000000000:table/things")
        self.assertEqual((table["ItemCount"], table["TableStatus"]), (1, "ACTIVE"))
        self.assertRegex(table["TableId"], r"\A[0-9a-f-]{36}\Z")
        self.assertEqual(call(web, "GetItem", {**get("a"), "TableName": table["TableArn"]}).text,
                         '{"Item":{"id":{"S":"a"}}}')

    def test_contain_the_address_of_the_request(self):
        answer = call(self.web(self.port), "DescribeEndpoints", {})
        self.assertEqual(json.loads(answer.text),
                         {"Endpoints": [{"Address": f"127.0.0.1:{self.port}", "CachePeriodInMinutes": 1440}]})


class Requests(Api):
    def test_must_be_signed_with_any_key(self):
        for where in (None, self.port):
            web = self.web(where)
            text = self.refused(web, "MissingAuthenticationTokenException", Authorization=None)["message"]
            self.assertEqual(text, "Request is missing Authentication Token")
            self.refused(web, "MissingAuthenticationTokenException", Authorization="Basic abc")

    def test_with_an_incomplete_signature_get_the_missing_part(self):
        web = self.web()
        text = self.refused(web, "IncompleteSignatureException", Authorization="AWS4-HMAC-SHA256 Credential=a",
                            X_Amz_Date=None)["message"]
        self.assertIn("requires 'Signature' parameter", text)
        self.assertIn("requires 'SignedHeaders' parameter", text)
        self.assertIn("'X-Amz-Date' or a 'Date' header", text)
        self.assertNotIn("'Credential'", text)
        self.assertEqual(call(web, "ListTables", {}, X_Amz_Date=None, Date="today").status, 200)

    def test_may_be_signed_in_the_query_string(self):
        web = self.web()
        query = ("/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=a&X-Amz-Signature=b"
                 "&X-Amz-SignedHeaders=host&X-Amz-Date=c")
        self.assertEqual(call(web, "ListTables", {}, query, Authorization=None).status, 200)
        answer = call(web, "ListTables", {}, query)
        self.assertEqual(exception(answer), "com.amazon.coral.service#InvalidSignatureException")
        answer = call(web, "ListTables", {}, "/?X-Amz-Algorithm=x", Authorization=None)
        self.assertEqual(exception(answer), "com.amazon.coral.service#IncompleteSignatureException")

    def test_of_another_type_are_unknown(self):
        for where in (None, self.port):
            web = self.web(where)
            for kind in ("text/plain", "application/x-amz-json-1.1", None):
                answer = call(web, "ListTables", {}, Content_Type=kind)
                self.assertEqual((answer.status, answer.text.strip()), (404, "<UnknownOperationException/>"), kind)
            for kind in ("application/json", "application/x-amz-json-1.0; charset=utf-8"):
                self.assertEqual(call(web, "ListTables", {}, Content_Type=kind).status, 200, kind)

    def test_of_pages_of_other_sites_are_refused(self):
        web = self.with_table(self.port)
        for headers in ({"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"},  # tidy: meant
                        {"Host": "evil.example"}):
            self.assertEqual(call(web, "PutItem", put("a"), **headers).status, 403, headers)
        self.assertEqual(call(web, "GetItem", get("a")).text, "{}")

    def test_may_be_compressed(self):
        web = self.with_table()
        packed = gzip.compress(body_of(put("a", text={"S": "x" * 100_000})))
        self.assertLess(len(packed), 1000)
        self.assertEqual(call(web, "PutItem", packed, Content_Encoding="gzip").status, 200)
        self.assertIn("x" * 100_000, call(web, "GetItem", get("a")).text)
        body = body_of(get("a"))
        members = gzip.compress(body[:9]) + gzip.compress(body[9:])
        self.assertIn("x" * 100_000, call(web, "GetItem", members, Content_Encoding="gzip").text)

    def test_with_invalid_compression_are_refused(self):
        web = self.web()
        packed = gzip.compress(b"{}")
        for body in (b"{}", packed[:-9], b"", packed[:4], packed + b"more"):
            self.assertEqual(call(web, "ListTables", body, Content_Encoding="gzip").status, 400, body)
        self.refused(web, "SerializationException", Content_Encoding="br")
        self.assertEqual(call(web, "ListTables", {}, Content_Encoding="identity").status, 200)
        # Small when compressed, but too large when unpacked.
        bomb = gzip.compress(b" " * (17 << 20) + b"{}")
        self.assertEqual(call(web, "ListTables", bomb, Content_Encoding="gzip").status, 413)
        self.assertEqual(call(web, "ListTables", {}).status, 200)

    def test_longer_than_16_mb_are_refused(self):
        web = self.web()
        web.socket.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n"
                           b"Content-Length: 16777217\r\n\r\n")
        self.assertEqual(web.receive().status, 413)

    def test_may_expect_100_continue(self):
        web = self.web()
        body = body_of({})
        head = "".join(f"{name}: {value}\r\n" for name, value in headers_for("ListTables").items())
        web.socket.sendall(f"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n{head}"
                           f"Content-Length: {len(body)}\r\n\r\n".encode())
        self.assertTrue(web.file.readline().startswith(b"HTTP/1.1 100 "))
        self.assertEqual(web.file.readline(), b"\r\n")
        web.socket.sendall(body)
        self.assertEqual(web.receive().status, 200)

    def test_of_one_connection_are_executed_in_order(self):
        web = self.with_table()
        count = 50
        lines = b""
        for number in range(count):
            for operation, members in (("PutItem", put("a", n={"N": str(number)})), ("GetItem", get("a"))):
                body = body_of(members)
                head = "".join(f"{name}: {value}\r\n" for name, value in headers_for(operation).items())
                lines += f"POST / HTTP/1.1\r\nHost: x\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        web.socket.sendall(lines)
        for number in range(count):
            self.assertEqual(web.receive().text, "{}")
            self.assertEqual(json.loads(web.receive().text)["Item"]["n"]["N"], str(number))

    def test_nested_too_deeply_are_refused(self):
        web = self.with_table()
        value = {"S": "x"}
        for _ in range(33):
            value = {"L": [value]}
        answer = call(web, "PutItem", put("a", deep=value))
        self.assertIn("Nesting Levels have exceeded supported limits", answer.text)
        self.assertEqual(call(web, "PutItem", b"[" * 100_000).status, 400)


class Tables(Sandbox):
    def start_on_disk(self, durability="durable"):
        self.state.mkdir(exist_ok=True)
        self.serve("--durability", durability)
        web = Web(self.socket)
        self.connections.append(web)
        return web

    def test_outlive_a_daemon_that_is_killed(self):
        self.outlive_it("durable")

    def test_outlive_a_daemon_with_durability_written(self):
        self.outlive_it("written")

    def outlive_it(self, durability):
        web = self.start_on_disk(durability)
        call(web, "CreateTable", TABLE)
        for number in range(20):
            self.assertEqual(call(web, "PutItem", put(f"k{number}")).status, 200)
        self.kill_daemon()
        web = self.start_on_disk(durability)
        self.assertEqual(json.loads(call(web, "Scan", {"TableName": "things"}).text)["Count"], 20)

    def test_accept_the_writes_of_many_connections(self):
        self.take_the_writes_of_many("durable")

    def test_accept_the_writes_of_many_connections_with_durability_written(self):
        self.take_the_writes_of_many("written")

    def take_the_writes_of_many(self, durability):
        """No write is lost, and other requests are answered meanwhile."""
        call(self.start_on_disk(durability), "CreateTable", TABLE)
        problems = []

        def add():
            web = Web(self.socket)
            for _ in range(25):
                answer = call(web, "UpdateItem", {
                    **get("sum"), "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}}})
                if answer.status != 200:
                    problems.append(answer.text)
            web.close()

        writers = [threading.Thread(target=add) for _ in range(8)]
        for writer in writers:
            writer.start()
        web = Web(self.socket)
        self.connections.append(web)
        self.assertEqual(web.call("Ping", {}).status, 200)
        for writer in writers:
            writer.join()
        self.assertEqual(problems, [])
        self.assertEqual(json.loads(call(web, "GetItem", get("sum")).text)["Item"]["n"]["N"], "200")

    def test_and_locks_are_in_one_store(self):
        web = self.start_on_disk()
        call(web, "CreateTable", TABLE)
        granted = json.loads(web.call("Acquire", {"Principal": "ann", "Locks": [{"Resource": "things/a"}]}).text)
        token = str(granted["Token"])
        fenced = {**put("a", token={"N": token}), "ExpressionAttributeValues": {":token": {"N": token}},
                  "ConditionExpression": "attribute_not_exists(id) OR #t <= :token",
                  "ExpressionAttributeNames": {"#t": "token"}}
        self.assertEqual(call(web, "PutItem", fenced).status, 200)
        stale = json.loads(json.dumps(fenced).replace(token, str(granted["Token"] - 1)))
        answer = call(web, "PutItem", stale)
        self.assertEqual(exception(answer),
                         "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException")


if __name__ == "__main__":
    tap.main()
