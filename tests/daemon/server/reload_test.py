"""SIGHUP: the daemon reads its settings again. And the file of its log, which is rotated."""

import json
import os
import re
import signal
import socket

import tap
from harness import PATIENCE_S, wait_until
from monitoring_test import Monitoring


class Reloading(Monitoring):
    """A daemon that logs JSON into a file of the test."""

    def setUp(self):
        super().setUp()
        self.state.mkdir(mode=0o700)
        self.base = self.configuration.read_text()
        self.output = self.folder / "log"

    def configure(self, *lines):
        self.configuration.write_text(self.base + "".join(line + "\n" for line in lines))

    def serve_logging(self, *options, **more):
        with open(self.output, "w", encoding="utf-8") as log:
            process = self.start("serve", "--memory", "--log-format", "json", *options, stderr=log, **more)
        wait_until(lambda: "listening" in self.output.read_text(), "it listens")
        return process

    def events(self, name=None):
        lines = [json.loads(line) for line in self.output.read_text().splitlines()]
        return [line for line in lines if name in (None, line["event"])]

    def reload(self, process, event="reloaded"):
        """Sends SIGHUP. Returns the event that ends the reload."""
        count = len(self.events(event))
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.events(event)) > count, event)
        return self.events(event)[-1]


class Reload(Reloading):
    def test_the_level_of_the_log(self):
        self.configure("log-level = info")
        process = self.serve_logging()
        api = self.connect()
        api.call("PutClass", Pattern="one")
        self.assertEqual(len(self.events("put_class")), 1)
        self.configure("log-level = error")
        self.reload(process)
        change, = self.events("setting_changed")
        self.assertEqual((change["setting"], change["before"], change["after"]), ("log-level", "info", "error"))
        api.call("PutClass", Pattern="two")
        self.configure("log-level = info")
        self.reload(process)
        api.call("PutClass", Pattern="three")
        wait_until(lambda: len(self.events("put_class")) >= 2, "the class is logged")
        self.assertEqual([event["pattern"] for event in self.events("put_class")], ["one", "three"])

    def test_the_limits_of_users(self):
        self.configure("max-user-sessions = 5")
        process = self.serve_logging()
        api = self.connect()
        for _ in range(5):
            self.assertEqual(api.call("OpenSession", Principal="ann").status, 200)
        self.assertEqual(api.call("OpenSession", Principal="ann").error, "LimitExceededException")
        self.configure("max-user-sessions = 6", "max-user-connections = 77", "max-user-buffer-bytes = 0",
                       "max-user-drafts = 9")
        done = self.reload(process)
        self.assertEqual((done["changed"], done["need_restart"]), (4, 0))
        self.assertEqual(api.call("OpenSession", Principal="ann").status, 200)
        refused = api.call("OpenSession", Principal="ann")
        self.assertEqual((refused.error, refused.json["Limit"]), ("LimitExceededException", 6))
        limits = {labels["of"]: value for labels, value in self.metrics()["rocklock_user_limit"]}
        self.assertEqual([limits[name] for name in ("sessions", "connections", "buffer_bytes", "drafts")], [6, 77, 0, 9])
        # Less than the user has: the sessions are kept.
        self.configure("max-user-sessions = 1")
        self.reload(process)
        self.assertEqual(self.value("rocklock_sessions"), 6)
        self.assertEqual(api.call("OpenSession", Principal="ann").error, "LimitExceededException")

    def test_a_limit_can_be_added_to_a_daemon_without_limits(self):
        names = ("sessions", "grants", "waiters", "lock-bytes", "drafts", "table-bytes")
        self.configure(*(f"max-user-{name} = 0" for name in names))
        process = self.serve_logging()
        api = self.connect()
        for _ in range(3):
            api.call("OpenSession", Principal="ann")
        self.configure(*(f"max-user-{name} = 0" for name in names[1:]), "max-user-sessions = 3")
        self.reload(process)
        self.assertEqual(api.call("OpenSession", Principal="ann").json["Limit"], 3)

    def test_the_retention_of_the_audit_log(self):
        process = self.serve_logging()
        api = self.connect()
        for _ in range(8):
            grant = api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}]).json
            self.assertEqual(api.call("Break", Grant=grant["Grant"], Reason="test").status, 200)
        self.assertEqual(self.value("rocklock_audit_rows"), 8)
        last = api.call("ListAudit").json["Rows"][-3:]
        self.configure("max-audit-rows = 3")
        self.reload(process)
        wait_until(lambda: self.value("rocklock_audit_rows") == 3, "the oldest rows are deleted")
        self.assertEqual(api.call("ListAudit").json["Rows"], last)

    def test_the_limit_of_slow_waits(self):
        self.configure("slow-wait = 0")
        process = self.serve_logging()
        self.configure("slow-wait = 1ms")
        self.reload(process)
        api, other = self.connect(), self.connect()
        api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}])
        other.send("Acquire", {"Principal": "bob", "PatienceMs": -1, "Locks": [{"Resource": "a"}]})
        wait_until(lambda: self.events("slow_wait"), "the wait is logged")

    def test_a_setting_that_needs_a_restart_is_reported_until_the_restart(self):
        self.configure("region = eu-west-1")
        process = self.serve_logging()
        self.configure("region = eu-west-2", "log-level = debug")
        for count in (1, 2):
            done = self.reload(process)
            self.assertEqual((done["changed"], done["need_restart"]), (2 - count, 1))
            event = self.events("setting_needs_restart")[-1]
            self.assertEqual((event["setting"], event["before"], event["after"], event["level"]),
                             ("region", "eu-west-1", "eu-west-2", "warning"))
        self.configure("region = eu-west-1", "log-level = debug")
        self.assertEqual(self.reload(process)["need_restart"], 0)

    def test_an_invalid_file_changes_nothing(self):
        self.configure("max-user-sessions = 2")
        process = self.serve_logging()
        api = self.connect()
        for lines, why in ((["max-user-sessions = 9", "log-level = loud"], "log-level"),
                           (["max-user-sessions = 9", "no-setting = 1"], "line 5"),
                           (["max-user-sessions = 9", "history-age = 1m"], "history-age"),
                           (["max-user-sessions = 9", "max-principal-drafts = 1001"], "max-principal-drafts")):
            self.configure(*lines)
            failed = self.reload(process, "reload_failed")
            self.assertEqual(failed["level"], "error")
            self.assertIn(why, failed["error"])
        self.configuration.rename(self.folder / "away")
        self.assertIn("rocklock.conf", self.reload(process, "reload_failed")["error"])
        self.assertEqual([api.call("OpenSession", Principal="ann").status for _ in range(3)], [200, 200, 400])
        self.assertEqual(self.events("setting_changed"), [])
        # The daemon still reloads when the file is valid again.
        self.configure("max-user-sessions = 3")
        self.assertEqual(self.reload(process)["changed"], 1)
        self.assertEqual(api.call("OpenSession", Principal="ann").status, 200)

    def test_options_and_variables_keep_their_precedence(self):
        process = self.serve_logging("--max-user-sessions", "2", environment={"ROCKLOCK_MAX_USER_GRANTS": "7"})
        self.configure("max-user-sessions = 9", "max-user-grants = 9")
        self.assertEqual(self.reload(process)["changed"], 0)
        limits = {labels["of"]: value for labels, value in self.metrics()["rocklock_user_limit"]}
        self.assertEqual((limits["sessions"], limits["grants"]), (2, 7))

    def test_the_service_manager_is_notified(self):
        heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        heard.settimeout(PATIENCE_S)
        self.addCleanup(heard.close)
        heard.bind(str(self.folder / "notify"))
        process = self.serve_logging(environment={"NOTIFY_SOCKET": str(self.folder / "notify")})
        self.assertIn("READY=1", heard.recv(4096).decode())
        process.send_signal(signal.SIGHUP)
        first, *rest = heard.recv(4096).decode().splitlines()
        self.assertEqual(first, "RELOADING=1")
        self.assertRegex(rest[0], r"^MONOTONIC_USEC=\d+$")
        self.assertEqual(heard.recv(4096).decode(), "READY=1")

    def test_many_signals_and_the_shutdown(self):
        process = self.serve_logging()
        for number in range(200):
            self.configure(f"max-user-sessions = {number + 1}")
            process.send_signal(signal.SIGHUP)
        wait_until(lambda: any(event["after"] == "200" for event in self.events("setting_changed")), "the last one")
        process.terminate()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(PATIENCE_S), 0)


class LogFile(Reloading):
    def lines(self, path):
        return [json.loads(line)["pattern"] for line in path.read_text().splitlines()
                if json.loads(line)["event"] == "put_class"]

    def test_that_reaches_its_size_is_renamed(self):
        path = self.folder / "daemon.log"
        process = self.start("serve", "--memory", "--log-format", "json", "--log-file", path, "--max-log-bytes", 8192)
        wait_until(lambda: path.exists() and "listening" in path.read_text(), "it listens")
        api = self.connect()
        sizes = []
        for number in range(200):
            api.call("PutClass", Pattern=f"{number:04}")
            sizes.append(path.stat().st_size)
        old = self.folder / "daemon.log.1"
        self.assertLessEqual(max(sizes), 8192)
        self.assertLessEqual(old.stat().st_size, 8192)
        self.assertGreater(old.stat().st_size, 7000)
        # No line is lost at the change of the files.
        kept = self.lines(old) + self.lines(path)
        self.assertEqual(kept, [f"{number:04}" for number in range(200 - len(kept), 200)])
        self.assertEqual({os.stat(file).st_mode & 0o777 for file in (old, path)}, {0o600})
        self.assertEqual(sorted(file.name for file in self.folder.glob("daemon.log*")), ["daemon.log", "daemon.log.1"])
        # All output is in the file.
        process.terminate()
        self.assertEqual(process.communicate(), ("", ""))

    def test_that_was_renamed_by_another_program_is_opened_again(self):
        path = self.folder / "daemon.log"
        process = self.start("serve", "--memory", "--log-format", "json", "--log-file", path)
        wait_until(lambda: path.exists() and "listening" in path.read_text(), "it listens")
        path.rename(self.folder / "rotated")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: path.exists() and "reloaded" in path.read_text(), "the file is opened again")
        self.assertNotIn("reloaded", (self.folder / "rotated").read_text())

    def test_that_cannot_be_written_is_refused(self):
        link = self.folder / "link"
        link.symlink_to(self.folder / "target")
        for path in (self.folder / "none" / "daemon.log", link):
            done = self.rocklock("serve", "--memory", "--log-file", path)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("--log-file", done.stderr)
        self.assertEqual(self.rocklock("serve", "--memory", "--max-log-bytes", "1").returncode, 64)

    def test_that_is_used_does_not_hide_the_reason_why_a_start_failed(self):
        other = self.folder / "other"
        other.mkdir(mode=0o700)
        (other / "notes").touch()
        path = self.folder / "daemon.log"
        done = self.rocklock("serve", "--db", other, "--log-file", path)
        self.assertNotEqual(done.returncode, 0)
        for text in (done.stderr, path.read_text()):
            self.assertEqual(text.count("contains other files (notes) and no store"), 1, text)

    def test_that_cannot_be_renamed_grows(self):
        path = self.folder / "daemon.log"
        # A directory in place of the old file: rename() fails.
        (self.folder / "daemon.log.1").mkdir()
        self.start("serve", "--memory", "--log-format", "json", "--log-file", path, "--max-log-bytes", 4096)
        wait_until(lambda: path.exists() and "listening" in path.read_text(), "it listens")
        api = self.connect()
        for number in range(60):
            api.call("PutClass", Pattern=f"{number:04}")
        self.assertEqual(self.lines(path), [f"{number:04}" for number in range(60)])

    def test_of_a_private_daemon_is_rotated(self):
        self.configure("max-log-bytes = 4096")
        path = self.state / "daemon.log"
        self.assertEqual(self.rocklock("class", "ls").returncode, 0)
        for number in range(100):
            self.assertEqual(self.rocklock("class", "put", f"{number:04}").returncode, 0)
        log, old = path.read_text(), (self.state / "daemon.log.1").read_text()
        self.assertLessEqual(max(len(log), len(old)), 4096)
        numbers = [int(number) for number in re.findall(r"pattern=(\d+)", old + log)]
        self.assertEqual(numbers, list(range(100 - len(numbers), 100)))


if __name__ == "__main__":
    tap.main()
