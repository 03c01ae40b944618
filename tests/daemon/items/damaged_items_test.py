"""Damaged data files: what a daemon refuses at the start, and what it serves without them."""

import json
import pathlib

import tap
from dynamodb_test import TABLE, call, exception, get, put
from harness import Sandbox
from http_test import Web

ITEMS = 200


def name_of(number):
    return f"item {number:03}"


def marker(number):
    return f"<<{number:03}>>"


class Damaged(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()
        self.store = self.state / "db"
        daemon = self.serve()
        web = Web(self.socket)
        self.assertEqual(call(web, "CreateTable", TABLE).status, 200)
        for number in range(ITEMS):
            text = marker(number) + "x" * 2_000
            self.assertEqual(call(web, "PutItem", put(name_of(number), text={"S": text})).status, 200)
        for number in range(5):
            self.acquire(f"r/{number}")
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0)

    def flip(self, wanted):
        """Changes one byte of the only data file that contains the text, and returns its path."""
        for path in pathlib.Path(self.store, "db").glob("*.sst"):
            data = bytearray(path.read_bytes())
            at = data.find(wanted.encode())
            if at < 0:
                continue
            data[at] ^= 0x10
            path.write_bytes(data)
            return path
        raise AssertionError(f"no file contains {wanted}")

    def test_an_item_fails_only_the_calls_that_read_it(self):
        path = self.flip(marker(100))
        daemon = self.serve()
        self.assertIn("the store is open", daemon.stderr.readline())
        web = Web(self.socket)
        refused = call(web, "GetItem", get(name_of(100)))
        self.assertEqual(refused.status, 500, refused.text)
        self.assertTrue(exception(refused).endswith("#InternalServerError"), refused.text)
        self.assertEqual(call(web, "PutItem", put(name_of(100))).status, 500)
        self.assertEqual(call(web, "Scan", {"TableName": "things"}).status, 500)
        logged = daemon.stderr.readline()
        self.assertIn("data of a table is damaged", logged)
        self.assertIn(path.name, logged)
        self.assertIn("rocklock db check", logged)
        for number in (0, 50, 150, ITEMS - 1):
            found = call(web, "GetItem", get(name_of(number)))
            self.assertEqual(found.status, 200, found.text)
            self.assertTrue(json.loads(found.text)["Item"]["text"]["S"].startswith(marker(number)))
        written = call(web, "PutItem", put(name_of(0), text={"S": "new"}))
        self.assertEqual(written.status, 200, written.text)
        self.assertEqual(call(web, "PutItem", put("another")).status, 200)
        self.acquire("r/new")
        self.assertIsNone(daemon.poll())
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0)
        done = self.rocklock("db", "check", "--db", self.store)
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn(path.name, done.stderr)
        self.assertIn("restore a backup", done.stderr)

    # Requirement D5: a store with a damaged lock state is not opened.
    def test_the_lock_state_is_found_at_the_start(self):
        path = self.flip("r/3")
        done = self.rocklock("serve", "--socket", self.folder / "s", "--db", self.store)
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn("is damaged", done.stderr)
        self.assertIn(path.name, done.stderr)
        self.assertIn("rocklock db restore BACKUP", done.stderr)


if __name__ == "__main__":
    tap.main()
