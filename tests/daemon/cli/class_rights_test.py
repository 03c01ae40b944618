"""The users and groups that may steal, break and bind (I7), with real users."""

import grp
import json
import pwd

import tap
from dynamodb_test import TABLE, call
from harness import Sandbox
from http_test import Web

NOBODY = pwd.getpwuid(65534)
GROUP = grp.getgrgid(NOBODY.pw_gid).gr_name


class ClassRights(Sandbox):
    def setUp(self):
        super().setUp()
        self.api()
        self.folder.chmod(0o755)
        self.state.chmod(0o755)
        self.socket.chmod(0o666)

    def done(self, *words, status=0, **options):
        done = self.rocklock(*words, "--socket", self.socket, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def other(self, *words, status=0):
        """Runs the program as an unprivileged user, `nobody`."""
        return self.done(*words, status=status, user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=[])

    def test_let_a_group_break(self):
        self.done("class", "put", "orders/*", "--break-by", f"group:{GROUP}", "--break-by", "user:root")
        self.done("class", "put", "parts/*", "--break-by", "group:root")
        grant, _ = self.acquire("orders/1")
        self.other("break", grant["Grant"], "--reason", "r")
        grant, _ = self.acquire("parts/1")
        done = self.other("break", grant["Grant"], "--reason", "r", status=77)
        self.assertIn("can be broken only by group root and administrators", done.stderr)
        row = json.loads(self.done("audit", "--json").stdout)
        self.assertEqual((row["Outcome"], row["By"]), ("broken", NOBODY.pw_name))

    def test_name_a_user_by_number(self):
        self.done("class", "put", "orders/*", "--break-by", f"user:{NOBODY.pw_uid}")
        grant, _ = self.acquire("orders/1")
        self.other("break", grant["Grant"], "--reason", "r")

    def test_of_unknown_names_are_saved_with_a_remark(self):
        words = ("class", "put", "orders/*", "--break-by", "user:no-such-user", "--bind-by", "group:no-such-group")
        done = self.done(*words)
        self.assertEqual(done.stderr.count("remark: there is no "), 2)
        self.assertIn("no user:no-such-user on this machine", done.stderr)
        self.assertEqual(self.done(*words, "--quiet").stderr, "")
        saved, = [json.loads(line) for line in self.done("class", "ls", "--json").stdout.splitlines()]
        self.assertEqual((saved["BreakBy"], saved["BindBy"]), (["user:no-such-user"], ["group:no-such-group"]))
        done = self.done("class", "put", "orders/*", "--break-by", "user:root", "--bind-by", "group:root")
        self.assertEqual(done.stderr, "")

    def test_let_a_user_steal(self):
        self.done("class", "put", "orders/*", "--steal", "anyone", "--steal-by", f"user:{NOBODY.pw_name}")
        self.done("class", "put", "parts/*", "--steal", "anyone", "--steal-by", "user:root")
        grant, _ = self.acquire("orders/1")
        self.other("steal", grant["Grant"], "--reason", "r")
        grant, _ = self.acquire("parts/1")
        done = self.other("steal", grant["Grant"], "--reason", "r", status=77)
        self.assertIn("can be stolen only by user root and administrators", done.stderr)

    def test_let_a_group_bind(self):
        self.assertEqual(call(Web(self.socket), "CreateTable", {**TABLE, "TableName": "orders"}).status, 200)
        self.other("table", "bind", "orders", "orders/{id}", status=77)
        self.done("class", "put", "orders/*", "--bind-by", f"group:{NOBODY.pw_gid}")
        self.other("table", "bind", "orders", "orders/{id}")
        done = self.other("table", "bind", "orders", "parts/{id}", status=77)
        self.assertIn('tables can be bound to "parts/{id}"', done.stderr)
        self.other("table", "unbind", "orders")

    def test_are_shown_and_checked(self):
        put = json.loads(self.done("class", "put", "orders/*", "--steal", "anyone", "--steal-by", "group:ops",
                                   "--break-by", "user:ann", "--bind-by", "user:bob", "--json").stdout)
        self.assertEqual((put["StealBy"], put["BreakBy"], put["BindBy"]), (["group:ops"], ["user:ann"], ["user:bob"]))
        for words in (("class", "ls"), ("show", "orders/1")):
            self.assertIn("steal group:ops, break user:ann, bind user:bob", self.done(*words).stdout)
        done = self.done("class", "put", "x", "--steal-by", "group:ops", status=64)
        self.assertIn("--steal-by needs --steal anyone, idle or ask", done.stderr)
        done = self.done("class", "put", "x", "--break-by", "ops", status=64)
        self.assertIn("write user:NAME, group:NAME or node:NAME", done.stderr)
        # Rights are part of the policy: a class that is saved without them has none.
        self.assertNotIn("BreakBy", json.loads(self.done("class", "put", "orders/*", "--json").stdout))


if __name__ == "__main__":
    tap.main()
