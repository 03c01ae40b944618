"""The programs in docs/examples, run against the daemon."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest.mock

import javascript
import tap
from harness import Sandbox

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "docs/examples"
sys.path.insert(0, str(EXAMPLES))
import guard  # noqa: E402  (docs/examples/guard.py, which guard_test.py plays)

JAVASCRIPT_MISSING = javascript.missing()


class Example(Sandbox):
    # Options of `rocklock serve`.
    OPTIONS = []

    def setUp(self):
        super().setUp()
        self.state.mkdir()
        process = self.serve("--memory", "--http", "127.0.0.1:0", *self.OPTIONS)
        self.endpoint = re.search(r"http://\S+", process.stderr.readline()).group(0)  # tidy: meant

    def run_example(self, name, *words):
        return self.run_command([str(EXAMPLES / name), self.endpoint, *map(str, words)],
                                {**os.environ, "HOME": str(self.folder), "PATH": "/usr/bin:/bin"})

    def run_command(self, command, environment):
        done = subprocess.run(command, cwd=self.folder, text=True, capture_output=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL, env=environment)
        return done.returncode, done.stdout.strip(), done.stderr.strip()


class TableEdit(Example):
    def edit(self, *words):
        status, out, err = self.run_example("table_edit.py", *words)
        self.assertEqual(err, "")
        return status, out.splitlines()

    def test_takes_all_tables_or_none(self):
        self.assertEqual(self.edit("begin", "customers", "ann"), (0, []))
        self.assertEqual(self.edit("begin", "suppliers", "bob"), (75, ["countries: locked by ann"]))
        self.assertEqual(self.edit("begin", "customers", "bob"), (75, [
            "customers: editing by ann", "countries: locked by ann", "currencies: locked by ann"]))
        self.assertIn("suppliers: normal", self.edit("show")[1])
        self.assertEqual(self.edit("end", "customers", "ann"), (0, []))
        self.assertEqual(self.edit("begin", "suppliers", "bob"), (0, []))

    def test_only_the_editor_ends_it(self):
        self.edit("begin", "orders", "ann")
        self.assertEqual(self.edit("end", "orders", "bob"), (75, ["orders: editing by ann", "customers: locked by ann"]))
        self.assertEqual(self.edit("end", "orders", "ann"), (0, []))
        self.assertEqual(set(line.split(": ")[1] for line in self.edit("show")[1]), {"normal"})

    def test_one_of_many_concurrent_editors_succeeds(self):
        import table_edit  # pylint: disable=import-outside-toplevel
        table_edit.prepare(table_edit.client_for(self.endpoint))

        def begin(number):
            try:
                return table_edit.begin(table_edit.client_for(self.endpoint), "customers", f"editor-{number}")
            except Exception as error:  # pylint: disable=broad-exception-caught
                return error

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(begin, range(16)))
        self.assertEqual(results.count([]), 1, results)
        by = {row.get("by") for row in table_edit.rows(table_edit.client_for(self.endpoint))}
        self.assertEqual(by, {None, f"editor-{results.index([])}"})


    def test_absent_rows_are_not_locked(self):
        import table_edit  # pylint: disable=import-outside-toplevel
        client = table_edit.client_for(self.endpoint)
        table_edit.prepare(client)
        client.delete_item(TableName=table_edit.TABLE, Key={"name": {"S": "countries"}})
        with self.assertRaises(client.exceptions.TransactionCanceledException):
            table_edit.begin(client, "customers", "ann")
        self.assertEqual(self.edit("begin", "customers", "ann"), (0, []))
        self.assertEqual(self.edit("begin", "suppliers", "bob"), (75, ["countries: locked by ann"]))


class TableEditAmongConflicts(Example):
    OPTIONS = ["--conflict", "50%", "--rehearsal-seed", "3"]

    def test_a_reported_lock_is_held(self):
        import table_edit  # pylint: disable=import-outside-toplevel
        client = table_edit.client_for(self.endpoint)
        table_edit.prepare(client)
        for editor in ("ann", "bob", "cy"):
            refused = table_edit.begin(client, "customers", editor)
            self.assertEqual(refused == [], editor == "ann", refused)
        self.assertEqual({row.get("by") for row in table_edit.rows(client)}, {None, "ann"})


class Account(Example):
    def account(self, *words):
        return self.run_example("account.py", *words)

    def test_withdrawals(self):
        self.assertEqual(self.account("open", "a", 100, -500), (0, "", ""))
        self.assertEqual(self.account("withdraw", "a", 400), (0, "-300", ""))
        self.assertEqual(self.account("withdraw", "a", 300), (1, "-300 less 300 is below -500", ""))
        self.assertEqual(self.account("show", "a"), (0, "-300, version 2", ""))

    def test_one_of_two_concurrent_writers_fails(self):
        import account  # pylint: disable=import-outside-toplevel
        accounts = account.accounts_at(self.endpoint)
        account.open_account(accounts, "a", 100, -500)
        first, second = account.read(accounts, "a"), account.read(accounts, "a")
        self.assertTrue(account.write(accounts, first, -300))
        self.assertFalse(account.write(accounts, second, -200))
        with self.assertRaises(account.NotEnough):
            account.withdraw(accounts, "a", 300)
        self.assertEqual(account.withdraw(accounts, "a", 200), -500)

    def test_a_write_without_a_response_is_not_repeated(self):
        import account  # pylint: disable=import-outside-toplevel
        import botocore.exceptions  # pylint: disable=import-outside-toplevel
        import botocore.httpsession  # pylint: disable=import-outside-toplevel
        accounts = account.accounts_at(self.endpoint)
        account.open_account(accounts, "a", 100, 0)
        send = botocore.httpsession.URLLib3Session.send
        lost = []

        def send_and_lose(session, request):
            answer = send(session, request)
            if request.headers["X-Amz-Target"].endswith(b"UpdateItem") and not lost:
                lost.append(answer.status_code)
                raise botocore.exceptions.ConnectionClosedError(endpoint_url=self.endpoint)
            return answer

        with unittest.mock.patch.object(botocore.httpsession.URLLib3Session, "send", send_and_lose):
            with self.assertRaises(botocore.exceptions.ConnectionClosedError):
                account.withdraw(accounts, "a", 10)
        self.assertEqual(lost, [200])
        self.assertEqual(account.read(accounts, "a")["balance"], 90)

    def test_concurrent_withdrawals_lose_no_update(self):
        import account  # pylint: disable=import-outside-toplevel
        account.open_account(account.accounts_at(self.endpoint), "a", 0, -1000)

        def withdraw(_):
            return account.withdraw(account.accounts_at(self.endpoint), "a", 10)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            balances = list(pool.map(withdraw, range(40)))
        self.assertEqual(sorted(balances), [-400 + 10 * step for step in range(40)])


class InJavaScript(Example):
    name = None

    def setUp(self):
        if JAVASCRIPT_MISSING:
            self.skipTest(JAVASCRIPT_MISSING)
        super().setUp()
        # Node searches packages next to the program that imports them.
        self.program = shutil.copy(EXAMPLES / self.name, self.folder)
        (self.folder / "node_modules").symlink_to(javascript.PACKAGES)

    def node(self, *words):
        return self.run_command([javascript.NODE, *map(str, words)], javascript.environment(self.folder))

    def import_and(self, case):
        """Runs a test case from the file with the same name in tests/javascript."""
        done = self.node(javascript.FOLDER / self.name, self.program, self.endpoint, case)
        self.assertEqual(done, (0, "", ""), done[2])


class GuardInJavaScript(InJavaScript):
    name = "guard.mjs"

    def setUp(self):
        super().setUp()
        guard.client_for(self.endpoint)
        done = self.connect().call("BindTable", TableName="orders", Resource="orders/{id}")
        self.assertEqual(done.status, 200, done.body)

    def test_a_late_write_is_refused(self):
        self.import_and("a_late_write_is_refused")

    def test_a_write_without_a_lock_is_refused(self):
        self.import_and("a_write_without_a_lock_is_refused")

    def test_one_of_two_concurrent_writers_fails(self):
        self.import_and("one_of_two_concurrent_writers_fails")

    def test_a_client_may_send_the_lock_with_every_request(self):
        self.import_and("a_client_may_send_the_lock_with_every_request")


class AccountInJavaScript(InJavaScript):
    name = "account.mjs"

    def account(self, *words):
        return self.node(self.program, self.endpoint, *words)

    def test_withdrawals(self):
        self.assertEqual(self.account("open", "a", 100, -500), (0, "", ""))
        self.assertEqual(self.account("withdraw", "a", 400), (0, "-300", ""))
        self.assertEqual(self.account("withdraw", "a", 300), (1, "-300 less 300 is below -500", ""))
        self.assertEqual(self.account("show", "a"), (0, "-300, version 2", ""))

    def test_reports_invalid_operations(self):
        self.account("open", "a", 100, -500)
        self.assertEqual(self.account("open", "a", 100, -500),
                         (70, "", "ConditionalCheckFailedException: The conditional request failed"))
        self.assertEqual(self.account("show", "b"), (70, "", "Error: there is no account b"))
        self.assertEqual(self.account("withdraw", "a", "0.5")[0], 64)

    def test_one_of_two_concurrent_writers_fails(self):
        self.import_and("one_of_two_concurrent_writers_fails")

    def test_concurrent_withdrawals_lose_no_update(self):
        self.import_and("concurrent_withdrawals_lose_no_update")

    def test_a_write_without_a_response_is_not_repeated(self):
        self.import_and("a_write_without_a_response_is_not_repeated")


class Once(Example):
    def once(self, message, seconds, *command):
        return self.run_example("once.sh", message, seconds, *command)[0]

    def test_is_done_once(self):
        self.assertEqual(self.once("m1", 3600, "touch", "done"), 0)
        self.assertTrue((self.folder / "done").exists())
        self.assertEqual(self.once("m1", 0, "touch", "again"), 75)
        self.assertFalse((self.folder / "again").exists())

    def test_stays_done_when_its_row_was_swept_meanwhile(self):
        removed = self.once("m4", 3600, "aws", "dynamodb", "delete-item", "--endpoint-url", self.endpoint,
                            "--table-name", "messages", "--key", '{"id": {"S": "m4"}}')
        self.assertEqual(removed, 0)
        self.assertEqual(self.once("m4", 0, "touch", "again"), 75)

    def test_is_repeated_after_a_failure_and_a_timeout(self):
        self.assertEqual(self.once("m2", 3600, "false"), 1)
        self.assertEqual(self.once("m2", 3600, "true"), 75)
        # So long ago that the time is over, independently of the rounding to seconds.
        self.assertEqual(self.once("m3", -5, "false"), 1)
        self.assertEqual(self.once("m3", 3600, "true"), 0)


if __name__ == "__main__":
    tap.main()
