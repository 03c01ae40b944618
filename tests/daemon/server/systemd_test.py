"""The daemon's messages to a service manager, and the settings and sockets that it takes from
it."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import tap
from harness import PATIENCE_S, PROGRAM, Connection, Sandbox, wait_until

UNITS = pathlib.Path(__file__).resolve().parents[3] / "daemon" / "systemd"
LOCK = {"Principal": "ann", "Locks": [{"Resource": "a"}]}

# Passes descriptor 0 on as the first of LISTEN_FDS, with its own process id as LISTEN_PID.
PASS = 'exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"'


class Notifying(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()
        self.heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.heard.settimeout(PATIENCE_S)
        self.addCleanup(self.heard.close)

    def start_notifying(self, address, **more):
        self.heard.bind(address.replace("@", "\0"))
        return self.start("serve", "--memory", environment={"NOTIFY_SOCKET": address, **more})

    def words(self):
        return self.heard.recv(4096).decode().splitlines()

    def test_ready_and_stopping(self):
        process = self.start_notifying(str(self.folder / "notify"))
        self.assertIn("READY=1", self.words())
        # All sockets listen by now.
        self.assertEqual(self.connect().call("Ping").status, 200)
        process.terminate()
        self.assertEqual(self.words(), ["STOPPING=1"])
        self.assertEqual(process.wait(60), 0)

    def test_an_abstract_socket(self):
        self.start_notifying(f"@rocklock-test-{os.getpid()}")
        self.assertIn("READY=1", self.words())

    def test_a_daemon_that_cannot_listen_does_not_report_readiness(self):
        self.heard.settimeout(0.2)
        self.socket.write_text("no socket")
        process = self.start_notifying(str(self.folder / "notify"))
        self.assertEqual(process.wait(60), 64)
        with self.assertRaises(TimeoutError):
            self.heard.recv(4096)

    def test_a_notify_socket_without_a_reader_does_not_delay_the_daemon(self):
        self.heard.close()
        process = self.start("serve", "--memory", environment={"NOTIFY_SOCKET": str(self.folder / "nobody")})
        self.assertIn("listening on", process.stderr.readline())
        self.assertEqual(self.connect().call("Ping").status, 200)

    def test_the_watchdog_is_notified(self):
        self.start_notifying(str(self.folder / "notify"), WATCHDOG_USEC="60000")
        seen = []
        while len(seen) < 6:
            seen += self.words()
        self.assertGreaterEqual(seen.count("WATCHDOG=1"), 4)

    def test_a_stopped_daemon_does_not_notify_the_watchdog(self):
        process = self.start_notifying(str(self.folder / "notify"), WATCHDOG_USEC="60000")
        while "WATCHDOG=1" not in self.words():
            pass
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "T", "it stands")
        self.heard.settimeout(0.3)
        try:
            while True:
                self.heard.recv(4096)
        except TimeoutError:
            pass

    def test_the_watchdog_of_another_process_is_ignored(self):
        self.start_notifying(str(self.folder / "notify"), WATCHDOG_USEC="1000", WATCHDOG_PID="1")
        self.assertIn("READY=1", self.words())
        self.assertEqual(self.connect().call("Ping").status, 200)
        self.heard.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            self.heard.recv(4096)


class Activated(Sandbox):
    def listener(self, family=socket.AF_UNIX, address=None):
        listener = socket.socket(family)
        listener.bind(address or str(self.folder / "passed.sock"))
        listener.listen(64)
        self.addCleanup(listener.close)
        return listener

    def start_with(self, listener, *options):
        process = subprocess.Popen(["sh", "-c", PASS, PROGRAM, "serve", "--memory", *options],
                                   stdin=listener.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.environment, cwd=self.folder)
        self.started.append(process)
        return process

    def call(self, verb="Ping", **members):
        connection = Connection(self.folder / "passed.sock")
        try:
            return connection.call(verb, **members)
        finally:
            connection.close()

    def test_a_passed_socket_is_used_and_not_removed(self):
        listener = self.listener()
        # A client that connects before the daemon runs is answered by the daemon later.
        early = Connection(self.folder / "passed.sock")
        self.connections.append(early)
        early.send("Ping", {})
        process = self.start_with(listener)
        self.assertIn(f"listening on {self.folder}/passed.sock", process.stderr.readline())
        self.assertEqual(early.receive().status, 200)
        self.assertEqual(self.call("Acquire", **LOCK).status, 200)
        self.assertFalse(self.socket.exists())
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        # The next daemon inherits the same socket.
        late = Connection(self.folder / "passed.sock")
        self.connections.append(late)
        late.send("Ping", {})
        self.start_with(listener)
        self.assertEqual(late.receive().status, 200)

    def test_a_passed_tcp_socket_in_addition_to_http(self):
        listener = self.listener(socket.AF_INET, ("127.0.0.1", 0))
        self.state.mkdir()
        process = self.start_with(listener)
        lines = [process.stderr.readline() for _ in range(2)]
        self.assertIn(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", "".join(lines))
        self.assertEqual(self.connect().call("Ping").status, 200)
        self.assertEqual(Connection(self.socket).call("Ping").status, 200)

    def test_a_socket_that_other_machines_can_reach_is_refused(self):
        process = self.start_with(self.listener(socket.AF_INET, ("0.0.0.0", 0)))
        self.assertEqual(process.wait(60), 64)
        self.assertIn("other machines", process.stderr.read())

    def test_a_socket_that_does_not_listen_is_refused(self):
        idle = socket.socket(socket.AF_UNIX)
        self.addCleanup(idle.close)
        process = self.start_with(idle)
        self.assertEqual(process.wait(60), 64)
        self.assertIn("does not listen", process.stderr.read())

    def test_sockets_for_another_process_are_ignored(self):
        self.state.mkdir()
        process = self.start("serve", "--memory", environment={"LISTEN_FDS": "1", "LISTEN_PID": "1"})
        self.assertIn(f"listening on {self.socket}", process.stderr.readline())


class Scripted(Sandbox):
    def backup_script(self, program=PROGRAM):
        """Returns the script for backups, as it is installed."""
        # A shell reads its script while it runs, so each program gets a script of its own.
        script = self.folder / f"rocklock-backup-{pathlib.Path(program).name}"
        script.write_text((UNITS / "rocklock-backup.in").read_text().replace("@program@", str(program)))
        script.chmod(0o755)
        return script


class Units(Scripted):
    def test_they_are_valid_for_systemd(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        names = ("rocklock.socket", "rocklock.service", "rocklock-backup.service", "rocklock-backup.timer")
        for name in names:
            unit = UNITS / name
            text = (unit if unit.exists() else unit.with_name(name + ".in")).read_text()
            text = text.replace("@program@", PROGRAM).replace("@backup@", str(self.backup_script()))
            (self.folder / name).write_text(text)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *(self.folder / name for name in names)],
                              capture_output=True, text=True, timeout=60, check=False)
        complaints = [line for line in done.stderr.splitlines() if "rocklock" in line]
        self.assertEqual((done.returncode, complaints), (0, []), done.stderr)

    def test_systemd_restarts_the_service_for_as_long_as_it_fails(self):
        text = (UNITS / "rocklock.service.in").read_text()
        unit, service = text.split("[Service]")
        self.assertRegex(unit, r"(?m)^StartLimitIntervalSec=0$")
        self.assertRegex(service, r"(?m)^Restart=on-failure$")

    def test_systemd_reloads_the_settings_of_the_service(self):
        text = (UNITS / "rocklock.service.in").read_text()
        command = re.search(r"^ExecReload=(.*)$", text, re.MULTILINE).group(1)
        self.configuration.write_text(self.configuration.read_text() + "log-level = info\n")
        self.state.mkdir()
        process = self.start("serve", "--memory")
        self.assertIn("listening on", process.stderr.readline())
        self.configuration.write_text(self.configuration.read_text() + "log-level = debug\n")
        subprocess.run(command.split(" ")[:-1] + [str(process.pid)], check=True)
        line = ""
        while "a setting was changed" not in line:
            line = process.stderr.readline()
            self.assertTrue(line, "the daemon has ended")
        self.assertIn("setting=log-level before=info after=debug", line)

    def test_the_unit_permits_writes_to_the_backup_directory(self):
        text = (UNITS / "rocklock.service.in").read_text()
        names = re.search(r"^StateDirectory=(.*)$", text, re.MULTILINE).group(1).split()
        self.assertEqual(names, ["rocklock", "rocklock/backups"])
        # In the form in which systemd creates and passes them.
        places = [self.folder / "lib" / name for name in names]
        for place in places:
            place.mkdir(parents=True)
        self.state.mkdir()
        daemon = self.start("serve", environment={"STATE_DIRECTORY": ":".join(map(str, places))})
        self.assertIn("listening on", daemon.stderr.readline())
        self.assertEqual(self.connect().call("Acquire", **LOCK).status, 200)
        done = self.rocklock("db", "backup", places[1] / "first")
        self.assertEqual(done.returncode, 0, done.stderr)
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0)
        store = places[0] / "db"
        store.rename(places[0] / "db.lost")
        done = self.rocklock("db", "restore", places[1] / "first", "--db", store)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rocklock("db", "check", "--db", store).returncode, 0)

    def test_the_backup_service_writes_where_the_daemon_may_write(self):
        text = (UNITS / "rocklock-backup.service.in").read_text()
        command = re.search(r"^ExecStart=@backup@ (.*)$", text, re.MULTILINE).group(1).split()
        self.assertEqual(command, ["--keep", "${KEEP}", "/var/lib/rocklock/backups"])
        self.assertRegex(text, r"(?m)^Environment=KEEP=[1-9]\d*$")
        self.assertRegex(text, r"(?m)^ReadWritePaths=/var/lib/rocklock/backups$")
        listens = re.search(r"^ListenStream=(.*)$", (UNITS / "rocklock.socket").read_text(), re.MULTILINE).group(1)
        self.assertIn(f"Environment=ROCKLOCK_SOCKET={listens}\n", text)

    def test_options_of_the_service_are_options_of_serve(self):
        text = (UNITS / "rocklock.service.in").read_text()
        command = re.search(r"^ExecStart=@program@ (.*)$", text, re.MULTILINE).group(1).split()
        done = self.rocklock(*command, "--print-config", environment={
            "STATE_DIRECTORY": "/var/lib/rocklock", "RUNTIME_DIRECTORY": "/run/rocklock"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("socket = /run/rocklock/rocklock.sock", done.stdout)
        self.assertIn("db = /var/lib/rocklock/db", done.stdout)
        self.assertIn("ListenStream=/run/rocklock/rocklock.sock", (UNITS / "rocklock.socket").read_text())


class Backups(Scripted):
    """The command of rocklock-backup.service, with the store and the directory of the test."""

    def setUp(self):
        super().setUp()
        self.state.mkdir(mode=0o700)
        self.backups = self.folder / "backups"
        self.backups.mkdir(mode=0o700)
        self.serve()
        self.assertEqual(self.connect().call("Acquire", **LOCK).status, 200)

    def make_backup(self, *words, script=None, environment=None):
        return subprocess.run([script or self.backup_script(), *map(str, words)], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, cwd=self.folder,
                              env=self.environment | {"ROCKLOCK_SOCKET": str(self.socket)} | (environment or {}))

    def names(self):
        return sorted(path.name for path in self.backups.iterdir())

    def test_a_backup_is_named_after_its_time_and_can_be_restored(self):
        done = self.make_backup(self.backups)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sound:", done.stdout)
        name, = self.names()
        self.assertRegex(name, r"^\d{4}-\d\d-\d\dT\d{6}Z$")
        store = self.folder / "restored"
        done = self.rocklock("db", "restore", self.backups / name, "--db", store)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rocklock("db", "check", "--db", store).returncode, 0)

    def test_the_newest_are_kept_and_other_files_are_left_alone(self):
        old = [f"2020-01-0{day}T031500Z" for day in range(1, 5)]
        others = ["2020-01-01", "notes", "2020-01-01T031500Z.damaged"]
        for name in old + others:
            (self.backups / name / "db").mkdir(parents=True)
        (self.backups / "2020-01-09T031500Z.unchecked").mkdir()
        done = self.make_backup("--keep", 3, self.backups)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = self.names()
        self.assertEqual([name for name in names if name.startswith("2020")], sorted(old[2:] + others[:1] + others[2:]))
        self.assertIn("notes", names)
        self.assertEqual(len(names), 6)
        self.assertIn(f"deleted {self.backups}/{old[0]}", done.stdout)

    def test_two_backups_at_the_same_time_do_not_disturb_each_other(self):
        # A program that waits in the middle of the first backup.
        slow = self.folder / "slow"
        slow.write_text('#!/bin/sh\n'
                        f'if [ "$2" = check ]; then touch {self.folder}/checking; '
                        f'until [ -e {self.folder}/go ]; do sleep 0.01; done; fi\n'
                        f'exec {PROGRAM} "$@"\n')
        slow.chmod(0o755)
        first = subprocess.Popen([self.backup_script(slow), str(self.backups)], cwd=self.folder, text=True,
                                 env=self.environment | {"ROCKLOCK_SOCKET": str(self.socket)},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.started.append(first)
        wait_until((self.folder / "checking").exists, "the first backup is checked")
        unchecked, = self.names()
        done = self.make_backup(self.backups)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("another backup", done.stderr)
        self.assertEqual(self.names(), [unchecked])
        (self.folder / "go").touch()
        _, stderr = first.communicate(timeout=PATIENCE_S)
        self.assertEqual(first.returncode, 0, stderr)
        self.assertEqual(self.names(), [unchecked.removesuffix(".unchecked")])

    def test_no_backup_is_deleted_if_the_daemon_does_not_respond(self):
        (self.backups / "2020-01-01T031500Z").mkdir()
        done = self.make_backup("--keep", 1, self.backups, environment={"ROCKLOCK_SOCKET": f"{self.folder}/none"})
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertEqual(self.names(), ["2020-01-01T031500Z"])

    def test_a_damaged_backup_is_kept_apart_and_no_other_is_deleted(self):
        (self.backups / "2020-01-01T031500Z").mkdir()
        # Damages the backup between the copy and the check.
        program = self.folder / "damaging"
        program.write_text(f"""#!/bin/sh
            {PROGRAM} "$@" || exit
            if [ "$2" = backup ]; then
                for file in "$3"/db/*.sst "$3"/db/*.commits; do
                    [ -s "$file" ] && printf 'xxxxxxxxxxxxxxxx' | dd of="$file" bs=1 seek=20 conv=notrunc 2>&1
                done
            fi
            exit 0
            """)
        program.chmod(0o755)
        done = self.make_backup("--keep", 1, self.backups, script=self.backup_script(program))
        self.assertEqual(done.returncode, 70, done.stdout + done.stderr)
        self.assertIn("no older backup was deleted", done.stderr)
        names = self.names()
        self.assertEqual(len(names), 2, names)
        self.assertEqual(names[0], "2020-01-01T031500Z")
        self.assertTrue(names[1].endswith("Z.damaged"), names)

    def test_invalid_arguments_are_refused(self):
        for words, message in ((("--keep", "0", self.backups), "write 1 or more"),
                               (("--keep", "x", self.backups), "write 1 or more"),
                               (("backups",), "not an absolute path"),
                               ((), "usage"), (("--keep",), "usage")):
            done = self.make_backup(*words)
            self.assertEqual((done.returncode, self.names()), (64, []), words)
            self.assertIn(message, done.stderr)
        done = self.make_backup(self.folder / "none")
        self.assertEqual(done.returncode, 66)
        self.assertIn("there is no directory", done.stderr)


if __name__ == "__main__":
    tap.main()
