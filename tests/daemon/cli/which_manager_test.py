"""Which manager a client uses: at most one holder of a name, in each environment.

The configuration decides, never the environment or the existence of a socket. The tests run the
first example of README.md, `rocklock run nightly-report -- ./report.sh`, as several users.
"""

import errno
import grp
import json
import multiprocessing
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import time
import unittest

import tap
from harness import PATIENCE_S, PROGRAM, Sandbox, alive, wait_until

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
# Two users that every Debian system has. Neither can write to its home directory.
USERS = ("daemon", "nobody")


def first_example():
    """Returns the words of the first example of README.md after `rocklock`."""
    lines = (REPOSITORY / "README.md").read_text().splitlines()
    return next(line.split()[1:] for line in lines if line.startswith("    rocklock run "))


def end_daemons(*places):
    """Ends the private daemons whose files are in these directories."""
    for place in places:
        lock = place / "rocklock.sock.lock"
        pid = int(lock.read_text()) if lock.exists() else None
        if pid is not None and alive(pid):
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda pid=pid: not alive(pid), "the daemon has left")


def can_switch_users():
    return os.geteuid() == 0


@unittest.skipUnless(can_switch_users(), "only root can run the program as several users")
class SeveralUsers(Sandbox):
    """The program as two users, in the environments of cron, of a login and of sudo."""

    def setUp(self):
        super().setUp()
        # The folder of the job, which both users can enter and write to.
        self.folder.chmod(0o755)
        self.work = self.folder / "work"
        self.work.mkdir()
        self.work.chmod(0o1777)
        report = self.work / "report.sh"
        report.write_text('#!/bin/sh\n'
                          'set -e\n'
                          '# Fails if another instance runs, and works until the file `go` exists.\n'
                          'mkdir running || { echo TWO >> violations; exit 3; }\n'
                          'echo "$(id -u)" >> started\n'
                          'until [ -e go ]; do sleep 0.01; done\n'
                          'rmdir running\n')
        report.chmod(0o755)
        self.forget_starts()
        (self.work / "violations").touch()
        (self.work / "violations").chmod(0o666)

    def environments(self, user):
        """The environments from which the job may be started."""
        account = pwd.getpwnam(user)
        configured = {"ROCKLOCK_CONFIG": str(self.configuration)}
        login = {"HOME": account.pw_dir, "USER": user, "LOGNAME": user, "PATH": os.environ["PATH"],
                 "XDG_STATE_HOME": str(self.folder / f"state-of-{user}"), "XDG_RUNTIME_DIR": "/run/user/1", "TERM": "xterm"}
        return {"cron": configured | {"PATH": "/usr/bin:/bin"},
                "login": configured | login,
                "other home": configured | login | {"HOME": str(self.work)},
                "sudo": configured | login | {"SUDO_USER": "ann", "SUDO_UID": "1234", "HOME": "/root"}}

    def as_user(self, user, environment, *words, **options):
        process = subprocess.Popen([PROGRAM, *map(str, words)], user=user, group=pwd.getpwnam(user).pw_gid,
                                   extra_groups=options.pop("groups", []), env=environment, cwd=self.work, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.started.append(process)
        return process

    def finish(self, process):
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        return process.returncode, stdout, stderr

    def starts(self):
        return (self.work / "started").read_text().split()

    def forget_starts(self):
        (self.work / "started").write_text("")
        (self.work / "started").chmod(0o666)

    def assert_never_two(self):
        self.assertEqual((self.work / "violations").read_text(), "")


class WithASystemManager(SeveralUsers):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "system"
        self.place.mkdir()
        self.place.chmod(0o755)
        self.system_socket = self.place / "manager.sock"
        self.group = grp.getgrnam("games")
        self.configuration.write_text(f"socket = {self.system_socket}\nprivate-directory = {self.work}/private\non-death = kill\n")
        self.configuration.chmod(0o644)
        (self.work / "private").mkdir()
        (self.work / "private").chmod(0o1777)
        self.groups = [self.group.gr_gid]

    def serve_system(self):
        return self.serve("--db", self.place / "db", "--admin-group", self.group.gr_name)

    def assert_no_private_daemon(self):
        self.assertEqual(list((self.work / "private").iterdir()), [])

    def test_users_and_environments_share_one_holder_across_a_restart(self):
        manager = self.serve_system()
        words = first_example()
        jobs = []
        for user in USERS:
            for environment in self.environments(user).values():
                jobs.append(self.as_user(user, environment, *words, groups=self.groups))
        wait_until(lambda: len(self.starts()) == 1, "one has started")
        resource = words[1]
        wait_until(lambda: len(self.show(resource)["Waiters"]) == len(jobs) - 1, "the others wait")
        # A clean restart, and a crash. The holder and the waiters continue with the next daemon.
        for end in (signal.SIGTERM, signal.SIGKILL):
            manager.send_signal(end)
            manager.wait(PATIENCE_S)
            manager = self.serve_system()
            wait_until(lambda: len(self.show(resource)["Waiters"]) == len(jobs) - 1, "the others wait again")
            self.assertEqual(len(self.starts()), 1)
        (self.work / "go").touch()
        for job in jobs:
            status, _, stderr = self.finish(job)
            self.assertEqual(status, 0, stderr)
        self.assertEqual(len(self.starts()), len(jobs))
        self.assertEqual(set(self.starts()), {str(pwd.getpwnam(user).pw_uid) for user in USERS})
        self.assert_never_two()
        self.assert_no_private_daemon()

    def test_only_members_of_the_group_can_connect_also_while_the_manager_starts(self):
        """A member sees a manager, or none; EACCES would end a client that waits (77)."""
        processes = multiprocessing.get_context("fork")
        end = processes.Event()

        def connect_until_the_end(account, groups, results):
            os.setgroups(groups)
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            seen = set()
            while not end.is_set():
                with socket.socket(socket.AF_UNIX) as client:
                    code = client.connect_ex(str(self.system_socket))
                    seen.add(errno.errorcode[code] if code else "connected")
            results.put(seen)

        def start_connecting(user, groups):
            results = processes.Queue()
            prober = processes.Process(target=connect_until_the_end, args=(pwd.getpwnam(user), groups, results))
            prober.start()
            self.addCleanup(prober.kill)
            return results

        member = start_connecting(USERS[0], self.groups)
        other = start_connecting(USERS[1], [])
        for _ in range(10):
            manager = self.serve_system()
            manager.kill()
            manager.wait()
        end.set()
        seen = member.get(timeout=PATIENCE_S)
        self.assertIn("connected", seen)
        self.assertLessEqual(seen, {"ENOENT", "ECONNREFUSED", "EAGAIN", "connected"})
        seen = other.get(timeout=PATIENCE_S)
        self.assertIn("EACCES", seen)
        self.assertLessEqual(seen, {"ENOENT", "EACCES"})

    def test_real_sudo_reaches_the_same_manager(self):
        sudo = next((path for path in ("/usr/bin/sudo", "/usr/local/bin/sudo") if os.path.exists(path)), None)
        if sudo is None:
            self.skipTest("sudo is not installed; the other tests use its environment")
        self.serve_system()
        holder = self.hold("nightly-report")
        done = subprocess.run([sudo, "-n", "-u", USERS[0], "-g", self.group.gr_name, "env",
                               f"ROCKLOCK_CONFIG={self.configuration}", PROGRAM, "run", "--no-wait", "nightly-report",
                               "--", "true"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertTrue(alive(holder.child))

    def test_while_it_is_down_no_client_gets_the_lock(self):
        manager = self.serve_system()
        holder = self.hold("nightly-report")
        manager.kill()
        manager.wait()
        for user in USERS:
            for name, environment in self.environments(user).items():
                begun = time.monotonic()
                job = self.as_user(user, environment, "run", "--no-wait", "nightly-report", "--", "touch", "ran",
                                   groups=self.groups)
                status, _, stderr = self.finish(job)
                self.assertEqual(status, 69, (name, stderr))
                self.assertIn(f"this machine uses this manager only (socket in {self.configuration})", stderr)
                self.assertLess(time.monotonic() - begun, 5)
        self.assertFalse((self.work / "ran").exists())
        self.assert_no_private_daemon()
        holder.terminate()

    def test_while_it_is_down_clients_wait_for_their_wait_timeout(self):
        for words, least, most in ((("--patience", "500ms"), 0.5, 8), ((), 10, 30)):
            begun = time.monotonic()
            job = self.as_user(USERS[0], self.environments(USERS[0])["cron"], "run", *words, "a", "--", "touch", "ran",
                               groups=self.groups)
            status, _, stderr = self.finish(job)
            self.assertEqual(status, 69, stderr)
            self.assertGreaterEqual(time.monotonic() - begun, least)
            self.assertLess(time.monotonic() - begun, most)
        self.assertFalse((self.work / "ran").exists())

    def test_a_client_that_waits_gets_the_lock_when_it_returns(self):
        job = self.as_user(USERS[0], self.environments(USERS[0])["cron"], "run", "a", "--", "echo", "mine",
                           groups=self.groups)
        self.serve_system()
        self.assertEqual(self.finish(job)[:2], (0, "mine\n"))

    def test_an_error_names_the_group_that_may_connect(self):
        self.serve_system()
        job = self.as_user("nobody", self.environments("nobody")["login"], "run", "a", "--", "touch", "ran")
        status, _, stderr = self.finish(job)
        self.assertEqual(status, 77, stderr)
        self.assertIn("`usermod -aG games nobody`", stderr)
        self.assertFalse((self.work / "ran").exists())
        self.assert_no_private_daemon()

    def test_an_error_for_a_socket_without_a_group_advises_the_administrator(self):
        self.serve("--db", self.place / "db")
        job = self.as_user("nobody", self.environments("nobody")["login"], "ls")
        status, _, stderr = self.finish(job)
        self.assertEqual(status, 77, stderr)
        self.assertIn("SocketGroup=", stderr)

    def test_a_variable_or_an_option_selects_another_manager(self):
        self.serve_system()
        self.hold("a")
        other = self.folder / "other.sock"
        self.serve("--memory", "--socket", other)
        for way in ((("--socket", other), {}), ((), {"ROCKLOCK_SOCKET": str(other)})):
            done = self.rocklock("run", *way[0], "--no-wait", "a", "--", "true", environment=way[1])
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rocklock("run", "--no-wait", "a", "--", "true").returncode, 75)

    def test_an_override_does_not_start_a_private_daemon(self):
        place = self.work / "private" / str(os.getuid()) / "rocklock.sock"
        done = self.rocklock("run", "--no-wait", "a", "--", "true", environment={"ROCKLOCK_SOCKET": str(place)})
        self.assertEqual(done.returncode, 69)
        self.assert_no_private_daemon()

    def test_status_names_it_with_its_users(self):
        manager = self.serve_system()
        self.hold("a")
        job = self.as_user("daemon", self.environments("daemon")["cron"], "acquire", "b", groups=self.groups)
        self.assertEqual(self.finish(job)[0], 0)
        status = json.loads(self.rocklock("status", "--json").stdout)
        self.assertEqual((status["Manager"], status["Socket"], status["Running"], status["Pid"], status["Store"]),
                         ("system", str(self.system_socket), True, manager.pid, str(self.place / "db")))
        self.assertEqual(status["Reason"], f"socket in {self.configuration}")
        self.assertGreaterEqual(status["UptimeMs"], 0)
        self.assertEqual({(user["Name"], user["Sessions"]) for user in status["Users"]}, {("root", 1), ("daemon", 1)})
        text = self.rocklock("status").stdout
        for part in ("manager   system, on ", "because   socket in ", f"pid {manager.pid}", "daemon (1 session)"):
            self.assertIn(part, text)
        manager.terminate()
        manager.wait(PATIENCE_S)
        done = self.rocklock("status")
        self.assertEqual(done.returncode, 69)
        self.assertIn("does not run", done.stdout)


class WithoutASystemManager(SeveralUsers):
    def setUp(self):
        super().setUp()
        self.private = self.folder / "private"
        self.private.mkdir()
        self.private.chmod(0o1777)
        self.configuration.write_text(f"manager = private\nprivate-directory = {self.private}\non-death = kill\n")
        self.configuration.chmod(0o644)

    def stop_private_daemons(self):
        end_daemons(*self.private.iterdir())

    def test_each_uid_has_one_holder_and_prints_it_once(self):
        said = []
        for user in USERS:
            (self.work / "go").unlink(missing_ok=True)
            self.forget_starts()
            jobs = [self.as_user(user, environment, *first_example())
                    for environment in self.environments(user).values()]
            wait_until(lambda: len(self.starts()) == 1, "one has started")
            refused = self.as_user(user, self.environments(user)["other home"], "run", "--no-wait", "nightly-report",
                                   "--", "true")
            self.assertEqual(self.finish(refused)[0], 75)
            (self.work / "go").touch()
            errors = [self.finish(job) for job in jobs]
            self.assertEqual([status for status, _, _ in errors], [0] * len(jobs), errors)
            said.append("".join(stderr for _, _, stderr in errors))
        self.assert_never_two()
        for user, text in zip(USERS, said):
            self.assertEqual(text.count(f"started the private daemon of user {user}: its locks exclude only processes "
                                        "of this user"), 1, text)
        self.assertEqual(sorted(path.name for path in self.private.iterdir()),
                         sorted(str(pwd.getpwnam(user).pw_uid) for user in USERS))

    def test_two_users_do_not_exclude_each_other(self):
        for user in USERS:
            job = self.as_user(user, self.environments(user)["cron"], "acquire", "a")
            status, _, stderr = self.finish(job)
            self.assertEqual(status, 0, stderr)

    def test_a_shared_directory_that_others_can_change_is_refused(self):
        user = USERS[0]
        cron = self.environments(user)["cron"]
        before = self.private.stat()
        for owner, mode, said in ((pwd.getpwnam(USERS[1]).pw_uid, 0o1777, "run `chown root "), (0, 0o777, "run `chmod +t ")):
            os.chown(self.private, owner, before.st_gid)
            self.private.chmod(mode)
            status, _, stderr = self.finish(self.as_user(user, cron, "run", "--no-wait", "a", "--", "echo", "ran"))
            self.assertEqual(status, 77, stderr)
            self.assertIn(said + str(self.private), stderr)
        os.chown(self.private, 0, before.st_gid)
        self.private.chmod(0o1777)
        # Another user was first to create this user's directory.
        place = self.private / str(pwd.getpwnam(user).pw_uid)
        place.mkdir()
        place.chmod(0o777)
        status, _, stderr = self.finish(self.as_user(user, cron, "run", "--no-wait", "a", "--", "echo", "ran"))
        self.assertEqual(status, 77, stderr)
        self.assertIn(f"{place}, the directory of your private daemon, belongs to uid 0", stderr)
        place.rmdir()
        status, stdout, stderr = self.finish(self.as_user(user, cron, "run", "--no-wait", "a", "--", "echo", "ran"))
        self.assertEqual((status, stdout), (0, "ran\n"), stderr)

    def test_quiet_prints_nothing(self):
        done = self.rocklock("run", "--quiet", "a", "--", "true")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_another_store_in_the_environment_is_not_used(self):
        environment = {"ROCKLOCK_DB": str(self.folder / "other"), "STATE_DIRECTORY": str(self.folder)}
        self.assertEqual(self.rocklock("acquire", "a", environment=environment).returncode, 0)
        status = json.loads(self.rocklock("status", "--json").stdout)
        self.assertEqual((status["Manager"], status["Store"]), ("private", str(self.private / str(os.getuid()) / "db")))
        self.assertIn("only processes of user root", status["Excludes"])

    def test_a_daemon_that_was_killed_is_started_with_the_same_store(self):
        self.hold("a")
        place = self.private / str(os.getuid())
        pid = int((place / "rocklock.sock.lock").read_text())
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid), "it is dead")
        environment = {"XDG_STATE_HOME": str(self.work), "HOME": str(self.work)}
        done = self.rocklock("run", "--no-wait", "a", "--", "true", environment=environment)
        self.assertEqual(done.returncode, 75, done.stderr)

    def test_an_earlier_store_is_reported_with_the_command_that_moves_it(self):
        old = self.folder / "my state" / "rocklock"
        old.mkdir(parents=True)
        store = self.private / str(os.getuid()) / "db"
        done = self.rocklock("acquire", "--db", old / "db", "kept", "--lease", "1h")
        self.assertEqual(done.returncode, 0, done.stderr)
        environment = {"XDG_STATE_HOME": str(old.parent)}
        done = self.rocklock("ls", environment=environment)
        self.assertEqual(done.stderr.count(f"the store in {old}/db is not used"), 1, done.stderr)
        command = done.stderr.partition("and run: ")[2].strip()
        # The daemon runs: the report is made once for each start.
        self.assertEqual(self.rocklock("ls", environment=environment).stderr, "")
        pid = int((store.parent / "rocklock.sock.lock").read_text())
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not alive(pid), "the daemon has left")
        subprocess.run(["sh", "-ec", command], check=True, timeout=PATIENCE_S)
        self.assertIn("kept", self.rocklock("ls", environment=environment).stdout)

    def test_status_does_not_start_a_daemon(self):
        done = self.rocklock("status", "--json")
        self.assertEqual(done.returncode, 69)
        self.assertEqual(json.loads(done.stdout)["Running"], False)
        self.assertEqual(list(self.private.iterdir()), [])

    def test_contradictory_settings_are_64(self):
        for text, said in (("manager = private\nsocket = /x\n", "exclude each other"),
                           ("manager = both\n", "auto, private"), ("private-directory = here\n", "must begin with /")):
            self.configuration.write_text(text if "private-directory" not in text else "manager = private\n" + text)
            done = self.rocklock("ls")
            self.assertEqual(done.returncode, 64, text)
            self.assertIn(said, done.stderr)


def can_mount():
    return can_switch_users() and subprocess.run(["unshare", "-m", "true"], check=False,
                                                 capture_output=True).returncode == 0


@unittest.skipUnless(can_mount(), "root cannot make a mount namespace here")
class OnAMachineOfItsOwn(Sandbox):
    """The default paths, in a mount namespace where /etc/systemd/system, /root and /run are empty."""

    def stop_private_daemons(self):
        end_daemons(self.folder / "root/.local/state/rocklock")

    def inside(self, script, **variables):
        folders = {"/etc/systemd/system": "units", "/usr/lib/systemd/system": "vendor", "/root": "root", "/run": "run"}
        mounts = ["mkdir -p /etc/systemd/system /usr/lib/systemd/system"]
        for place, name in folders.items():
            (self.folder / name).mkdir(exist_ok=True)
            mounts.append(f"[ ! -d {place} ] || mount --bind {self.folder / name} {place}")
        mounts.append("[ ! -e /etc/rocklock.conf ] || mount --bind /dev/null /etc/rocklock.conf")
        environment = {"PATH": os.environ["PATH"]} | variables
        return subprocess.run(["unshare", "-m", "sh", "-ec", "; ".join(mounts) + "\n" + script, PROGRAM],
                              env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def test_the_home_directory_is_that_of_the_password_database(self):
        done = self.inside('"$0" status || true; "$0" acquire a; "$0" status', HOME=str(self.folder),
                           XDG_STATE_HOME=str(self.folder / "state"))
        self.assertEqual(done.returncode, 0, done.stderr)
        home = pwd.getpwuid(0).pw_dir
        self.assertIn(f"manager   private, on {home}/.local/state/rocklock/rocklock.sock", done.stdout)
        self.assertIn("because   no system manager is configured", done.stdout)
        self.assertTrue((self.folder / "root/.local/state/rocklock/db").exists())
        self.assertFalse((self.folder / "state").exists())

    def test_an_existing_socket_is_not_a_configuration(self):
        place = self.folder / "run" / "rocklock"
        place.mkdir(parents=True)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(place / "rocklock.sock"))
        listener.listen()
        done = self.inside('"$0" acquire a')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_installed_unit_configures_the_system_manager(self):
        vendor = self.folder / "vendor"
        vendor.mkdir()
        (vendor / "rocklock.socket").write_text((REPOSITORY / "daemon/systemd/rocklock.socket").read_text())
        done = self.inside('"$0" run --no-wait a -- echo ran')
        self.assertEqual((done.returncode, done.stdout), (69, ""), done.stderr)
        self.assertIn("no daemon answers on /run/rocklock/rocklock.sock", done.stderr)
        self.assertIn("/systemd/system/rocklock.socket is installed", done.stderr)
        self.assertFalse((self.folder / "root/.local").exists())
        # `systemctl edit` changes the socket.
        (self.folder / "units" / "rocklock.socket.d").mkdir()
        drop_in = self.folder / "units" / "rocklock.socket.d" / "override.conf"
        drop_in.write_text("[Socket]\nListenStream=\nListenStream=/run/locks.sock\n")
        done = self.inside('"$0" run --no-wait a -- echo ran')
        self.assertEqual((done.returncode, done.stdout), (69, ""), done.stderr)
        self.assertIn("no daemon answers on /run/locks.sock", done.stderr)

    def test_a_masked_unit_is_not_a_configuration(self):
        for folder in ("units", "vendor"):
            (self.folder / folder).mkdir()
        (self.folder / "vendor" / "rocklock.socket").write_text("[Socket]\nListenStream=/run/rocklock/rocklock.sock\n")
        (self.folder / "units" / "rocklock.socket").symlink_to("/dev/null")
        done = self.inside('"$0" acquire a')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_uid_without_a_home_directory_gets_advice(self):
        done = subprocess.run([PROGRAM, "ls"], user=54321, group=54321, extra_groups=[], env={"HOME": "/tmp"},
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if os.path.exists("/etc/rocklock.conf") or any(
                os.path.exists(f"{place}/rocklock.{kind}") for kind in ("socket", "service") for place in
                ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")):
            self.skipTest("this machine has a system manager")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("uid 54321 has no home directory in the password database", done.stderr)


if __name__ == "__main__":
    tap.main()
