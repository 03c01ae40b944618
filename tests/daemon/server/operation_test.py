"""Administration rights, connection limits, the log, and the shutdown of the daemon."""

import contextlib
import fcntl
import grp
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import termios
import time

import tap
from harness import SLOWNESS, Connection, Sandbox, alive, wait_until

LOCK = {"Principal": "ann", "Locks": [{"Resource": "a"}]}

CALLS = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
for verb, body in json.loads(sys.argv[2]):
    data = json.dumps(body).encode()
    connection.sendall(b"POST / HTTP/1.1\\r\\nX-Amz-Target: Rocklock_20261121.%s\\r\\nContent-Length: %d\\r\\n\\r\\n"
                       % (verb.encode(), len(data)) + data)
    print(connection.recv(9999).decode().splitlines()[-1])
"""


def other_group():
    """Returns a group other than root's."""
    return next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, 65534) and not entry.gr_mem)


class Crowd(Sandbox):
    def memory_kb(self):
        with open(f"/proc/{self.daemon_pid()}/status", encoding="utf-8") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1])

    def test_ten_thousand_idle_clients_take_less_than_200_megabytes(self):
        count = 10_000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < count + 1000:
            self.skipTest(f"a process may have {hard} files here")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.serve()
        body = b'{"Principal":"ann"}'
        call = (b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.OpenSession\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body) + body)
        with contextlib.ExitStack() as crowd:
            clients = []
            for number in range(count):
                client = crowd.enter_context(socket.socket(socket.AF_UNIX))
                client.connect(str(self.socket))
                # Every other client has a session, over HTTP; the others use frames.
                client.sendall(call if number % 2 else b"\xf5RL\x01")
                clients.append(client)
            for client in clients:
                self.assertTrue(client.recv(1000))
            if SLOWNESS == 1:
                self.assertLess(self.memory_kb(), 200 * 1024)
            answer = self.connect().call("ListSessions", Limit=10_000)
            self.assertEqual(len(json.loads(answer.body)["Sessions"]), count // 2)

    def processor_s(self):
        """Returns the processor time that the daemon has used; other programs do not increase
        it."""
        with open(f"/proc/{self.daemon_pid()}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_a_waiter_after_ten_thousand_gets_the_lock_when_their_processes_are_killed(self):
        clients, each = 1_000, 10
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < clients * each + 1000:
            self.skipTest(f"a process may have {hard} files here")
        # All waits exceed the limit for slow waits at the same time.
        self.serve("--memory", "--slow-wait", "1s")
        api = self.connect()
        api.call("PutClass", Pattern="a", QueueLimit=20_000)
        children = []

        def kill():
            for child in children:
                os.kill(child, signal.SIGKILL)
            while children:
                os.waitpid(children.pop(), 0)

        self.addCleanup(kill)

        def waiting():
            return api.call("ShowStatistics").json["Waiting"]

        used = self.processor_s()
        held = self.connect().call("Acquire", **LOCK, Bound="connection", LeaseMs=600_000)
        self.assertEqual(held.status, 200)
        for number in range(clients):
            children.append(os.fork())
            if children[-1] == 0:
                try:
                    mine = [Connection(self.socket) for _ in range(each)]
                    for client in mine:
                        client.send("Acquire", {"Principal": f"client {number}", "PatienceMs": -1,
                                                "LeaseMs": 600_000, "Locks": LOCK["Locks"]})
                    signal.pause()
                finally:
                    os._exit(1)
        wait_until(lambda: waiting() == clients * each, "all wait")
        # Two more requests at the end of the queue, which also become slow waits.
        live = self.connect()
        live.send("Acquire", {"Principal": "live", "PatienceMs": -1, "Locks": LOCK["Locks"]})
        wait_until(lambda: waiting() == clients * each + 1, "one more waits")
        long = self.connect().call("Acquire", Principal="late", PatienceMs=1_500, Locks=LOCK["Locks"])
        self.assertEqual(long.error, "PatienceExpiredException")
        kill()
        session = held.json
        api.call("Release", Session=session["Session"], Secret=session["Secret"], Grant=session["Grant"])
        self.assertTrue(live.receive().json["Waited"])
        # About 100 us for each client in total, independently of the length of the queue.
        self.assertLess(self.processor_s() - used, 4 * SLOWNESS)


class Access(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()

    def calls_as(self, groups, *calls, group=65534, user=65534):
        """Returns the responses for another user, who belongs to these groups."""
        supplementary = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        done = subprocess.run(
            ["setpriv", "--reuid", str(user), "--regid", str(group), *supplementary, "/usr/bin/python3", "-c",
             CALLS, str(self.socket), json.dumps(calls)], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            return done.stderr.splitlines()[-1].partition(":")[0]
        return [json.loads(line).get("__type", "ok").removeprefix("rocklock#") for line in done.stdout.splitlines()]

    def open_the_way(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        self.folder.chmod(0o755)
        self.state.chmod(0o755)

    def test_the_socket_is_for_its_owner_and_group(self):
        self.serve("--memory")
        self.assertEqual(self.socket.stat().st_mode & 0o777, 0o660)

    def test_a_member_of_the_group_may_administer(self):
        self.open_the_way()
        group = other_group()
        process = self.serve("--memory", "--admin-group", group.gr_name)
        facts = self.socket.stat()
        self.assertEqual((facts.st_mode & 0o777, facts.st_gid), (0o660, group.gr_gid))
        grant = self.connect().call("Acquire", **LOCK).json["Grant"]
        calls = (("PutClass", {"Pattern": "x"}), ("Break", {"Grant": grant, "Reason": "for\ntoday"}))
        self.assertEqual(self.calls_as([], *calls), "PermissionError")
        self.assertEqual(self.calls_as([group.gr_gid], *calls), ["ok", "ok"])
        self.assertEqual(self.calls_as([], ("DeleteClass", {"Pattern": "x"}), group=group.gr_gid), ["ok"])
        process.terminate()
        log = process.stderr.read()
        user = re.search(r"user=(\S+)", log).group(1)
        self.assertIn(f'a grant was broken grant={grant} reason="for\\ntoday" user={user} pid=', log)
        self.assertIn("a class was saved pattern=x", log)
        self.assertIn("a class was deleted pattern=x", log)

    def test_another_user_may_not_administer_although_it_can_connect(self):
        self.open_the_way()
        self.serve("--memory", "--admin-group", str(other_group().gr_gid))
        self.socket.chmod(0o666)
        self.assertEqual(self.calls_as([], ("PutClass", {"Pattern": "x"}), ("Ping", {})),
                         ["AccessDeniedException", "ok"])

    def test_a_member_may_steal_against_the_class(self):
        self.open_the_way()
        group = other_group()
        self.serve("--memory", "--admin-group", group.gr_name)
        api = self.connect()
        grant = api.call("Acquire", **LOCK).json["Grant"]
        thief = api.call("OpenSession", Principal="bob").json
        steal = ("Steal", {"Session": thief["Session"], "Secret": thief["Secret"], "Grant": grant, "Reason": "x"})
        self.socket.chmod(0o666)
        self.assertEqual(self.calls_as([], steal), ["StealRefusedException"])
        self.assertEqual(self.calls_as([group.gr_gid], steal), ["ok"])

    def test_an_unknown_group(self):
        done = self.rocklock("serve", "--memory", "--admin-group", "no-such-group")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("no-such-group", done.stderr)


class Limits(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()

    def test_a_connection_above_the_limit_gets_an_error(self):
        process = self.serve("--memory", "--max-connections", "3")
        kept = [self.connect() for _ in range(3)]
        for connection in kept:
            self.assertEqual(connection.call("Ping").status, 200)
        for _ in range(20):
            late = self.connect()
            answer = late.call("Ping")
            self.assertEqual((answer.status, answer.error), (503, "LimitExceededException"))
            self.assertEqual(late.file.read(), b"")
        kept.pop().close()
        wait_until(lambda: self.connect_and_ping() == 200, "there is room again")
        process.terminate()
        log = process.stderr.read()
        self.assertEqual(log.count("connections were refused"), 1, log)

    def occupy(self, count, talk):
        """Opens connections as a user without administration rights. Returns the process, and the
        number of accepted connections.
        """
        script = """
import json, socket, sys, time
kept, placed = [], 0
for _ in range(int(sys.argv[2])):
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    kept.append(client)
    if sys.argv[3] == "True":
        client.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        placed += client.recv(100).startswith(b"HTTP/1.1 200")
print(placed, flush=True)
time.sleep(1000)
"""
        process = subprocess.Popen(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-c", script,
             str(self.socket), str(count), str(talk)], stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        return process, int(process.stdout.readline())

    def serve_all(self, *options):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        daemon = self.serve("--memory", *options)
        for place in (self.folder, self.state):
            place.chmod(0o755)
        self.socket.chmod(0o666)
        return daemon

    def test_the_last_places_are_for_administrators(self):
        self.serve_all("--max-connections", "50", "--max-user-connections", "0")
        grant = self.connect().call("Acquire", **LOCK).json["Grant"]
        # Connections with requests are kept, and the reserve for administrators stays free.
        self.assertEqual([self.occupy(50, talk=True)[1] for _ in range(2)], [44, 0])
        done = self.rocklock("break", grant, "--reason", "x")
        self.assertEqual(done.returncode, 0, done.stderr)
        metrics = subprocess.run(["curl", "-sS", "--unix-socket", self.socket, "http://localhost/metrics"],
                                 capture_output=True, text=True, timeout=60, check=False)
        # The connection of the `break` command may still be counted.
        self.assertRegex(metrics.stdout, r"(?m)^rocklock_connections 4[67]$", metrics.stderr)
        self.assertIn("rocklock_connections_dropped_total 0\n", metrics.stdout)

    def test_an_idle_connection_is_closed_to_make_room(self):
        daemon = self.serve_all("--max-connections", "20", "--http", "127.0.0.1:0")
        port = int(daemon.stderr.readline().rpartition(":")[2])
        honest = [self.connect() for _ in range(5)]
        for connection in honest:
            self.assertEqual(connection.call("Ping").status, 200)
        # One of these has sent a part of a request.
        idle = [self.connect() for _ in range(15)]
        idle[0].socket.sendall(b"POST / HTTP/1.1\r\n")
        start = time.monotonic()
        # As root: for an administrator, an idle connection makes room sooner.
        done = self.rocklock("ls")
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: idle[0].file.read() == b"", "the oldest was ended")
        idle.append(self.connect())
        # Clients that the kernel cannot identify are accepted as well, but later.
        def healthy():
            client = Connection(port)
            try:
                client.socket.sendall(b"GET /healthz HTTP/1.1\r\nHost: " + client.host.encode() + b"\r\n\r\n")
                return client.file.readline().startswith(b"HTTP/1.1 200")
            finally:
                client.close()

        wait_until(healthy, "there is a place for a probe")
        self.assertGreater(time.monotonic() - start, 4)
        for connection in honest:
            self.assertEqual(connection.call("Ping").status, 200)
        daemon.terminate()
        self.assertIn("idle connections were closed", daemon.stderr.read())

    def connect_and_ping(self):
        connection = Connection(self.socket)
        try:
            return connection.call("Ping").status
        finally:
            connection.close()

    def test_running_out_of_descriptors_is_logged(self):
        limit = 400
        self.start_limited(limit)
        kept = []
        answer = None
        while len(kept) < limit:
            connection = self.connect()
            answer = connection.call("Ping")
            if answer.status != 200:
                break
            kept.append(connection)
        self.assertEqual((answer.status, answer.error), (503, "LimitExceededException"))
        self.assertGreater(len(kept), 150)
        self.assertEqual(kept[0].call("Acquire", **LOCK).status, 200)

    def test_descriptors_that_are_used_up(self):
        # Each watched process needs a descriptor, which does not count as a connection.
        self.start_limited(400)
        kept = [self.connect() for _ in range(150)]
        children = [subprocess.Popen(["sleep", "1000"]) for _ in range(260)]
        try:
            for child in children:
                kept[0].call("OpenSession", Principal="ann", Bound="process", Pid=child.pid)
            # Earlier connections may not be closed yet.
            for _ in range(3):
                answer = self.connect().call("Ping")
            self.assertEqual((answer.status, answer.error), (503, "LimitExceededException"))
            self.assertEqual(kept[1].call("Ping").status, 200)
        finally:
            for child in children:
                child.kill()
            for child in children:
                child.wait()
        wait_until(lambda: self.connect_and_ping() == 200, "there is room again")

    def test_too_few_descriptors_are_refused_at_the_start(self):
        def lower():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        done = self.rocklock("serve", "--memory", preexec_fn=lower)
        self.assertEqual(done.returncode, 70)
        self.assertIn("may open 64 file descriptors, and the daemon needs 128 or more", done.stderr)

    def test_a_store_works_with_few_descriptors(self):
        process = self.start_limited(128, "--db", self.state / "store")
        connections = []
        for number in range(64):
            connections.append(self.connect())
            answer = connections[-1].call("Acquire", Principal="ann",
                                          Locks=[{"Resource": f"r{number}"}])
            self.assertEqual(answer.status, 200)
        self.assertEqual(self.connect().call("Ping").status, 503)
        process.terminate()
        self.assertEqual(process.wait(), 0)
        self.assertNotIn("could not be closed", process.stderr.read())

    def test_each_refused_client_can_read_the_reason(self):
        """However many clients connect at the same time, each receives a response before it is
        disconnected.
        """
        self.serve("--memory", "--max-connections", "1")
        kept = self.connect()
        self.assertEqual(kept.call("Ping").status, 200)
        for _ in range(3):
            crowd = [self.connect() for _ in range(200)]
            for client in crowd:
                client.send("Ping", {})
            self.assertEqual({client.receive().status for client in crowd}, {503})
            for client in crowd:
                client.close()

    def start_limited(self, limit, *options):
        def lower():
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        process = self.start("serve", *(options or ["--memory"]), preexec_fn=lower)
        self.assertIn("listening on", process.stderr.readline())
        return process

    def test_an_invalid_number_of_connections(self):
        for value in ("0", "-1", "many", "1.5"):
            done = self.rocklock("serve", "--memory", f"--max-connections={value}")
            self.assertEqual(done.returncode, 64, value)
            self.assertIn("whole number", done.stderr)

    def test_waiters_and_metadata_have_limits(self):
        self.serve("--memory")
        api = self.connect()
        api.call("PutClass", Pattern="a", QueueLimit=2)
        api.call("Acquire", **LOCK)
        for number in range(2):
            self.connect().send("Acquire", LOCK | {"Principal": f"bob{number}", "PatienceMs": -1})
        wait_until(lambda: len(api.call("ShowLock", Resource="a").json["Waiters"]) == 2, "two wait")
        full = api.call("Acquire", **LOCK | {"Principal": "cy", "PatienceMs": -1})
        self.assertEqual((full.status, full.error, full.json["Limit"]), (400, "QueueFullException", 2))
        for members in ({"Metadata": {"x": "y" * 5000}}, {"Note": "y" * 5000}):
            refused = api.call("OpenSession", Principal="ann", **members)
            self.assertIn(refused.error, ("LimitExceededException", "ValidationException"))


class Telling(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()

    def test_logfmt(self):
        process = self.start("serve", "--memory", "--log-format", "logfmt")
        line = process.stderr.readline()
        self.assertRegex(line, r'^time=\d{4}-\d\d-\d\dT[\d:.]+Z level=info event=listening message="listening on /')
        process.terminate()
        self.assertIn('event=leaving message="shutting down: SIGTERM"', process.stderr.read())
        self.assertEqual(process.wait(), 0)

    def test_json(self):
        process = self.start("serve", "--memory", "--log-format", "json", "--log-level", "debug")
        lines = [json.loads(process.stderr.readline()) for _ in range(2)]
        self.assertEqual([line["event"] for line in lines], ["listening", "opened"])
        self.assertEqual((lines[1]["level"], lines[1]["store"], lines[1]["grants"]), ("info", "memory", 0))
        api = self.connect()
        grant = api.call("Acquire", **LOCK).json["Grant"]
        api.call("Break", Grant=grant, Reason='"}\n{"event":"forged"}')
        broken = json.loads(process.stderr.readline())
        self.assertEqual((broken["event"], broken["grant"], broken["reason"]),
                         ("break", grant, '"}\n{"event":"forged"}'))

    def test_a_level_omits_events_below_it(self):
        process = self.start("serve", "--memory", "--log-level", "warning")
        wait_until(self.answers, "it answers")
        process.terminate()
        self.assertEqual(process.stderr.read(), "")

    def answers(self):
        try:
            return self.connect().call("Ping").status == 200
        except (FileNotFoundError, ConnectionRefusedError):  # no socket yet, or not listening yet
            return False

    # B4: a long wait is logged while it lasts.
    def test_a_long_wait_is_logged_once_with_its_holder(self):
        process = self.serve("--memory", "--slow-wait", "50ms", "--log-format", "json")
        api = self.connect()
        held = api.call("Acquire", **LOCK, Note="for \"long\"").json
        waiter = self.connect()
        waiter.send("Acquire", LOCK | {"Principal": "bob", "PatienceMs": -1})
        while (line := json.loads(process.stderr.readline()))["event"] != "slow_wait":
            pass
        self.assertEqual([line[name] for name in ("level", "resource", "principal", "mode", "holder", "grant", "note")],
                         ["warning", "a", "bob", "write", "ann", held["Grant"], 'for "long"'])
        for name in ("waited", "held_for", "left"):
            self.assertRegex(line[name], r"^[\d.]+m?s$")
        api.call("Release", Session=held["Session"], Secret=held["Secret"], Grant=held["Grant"])
        self.assertTrue(waiter.receive().json["Waited"])
        process.terminate()
        self.assertNotIn("slow_wait", process.stderr.read())

    def test_a_log_without_a_reader_delays_no_client(self):
        process = self.serve("--memory", "--slow-wait", "1ms")
        # The smallest pipe that has room for a line after it was full: two pages.
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 8192)
        api = Connection(self.socket)
        self.addCleanup(api.close)
        api.call("Acquire", Principal="ann", Locks=[{"Resource": "x"}])

        def waits(count):
            for _ in range(count):
                api.send("Acquire", {"Principal": "bob", "PatienceMs": 20, "Locks": [{"Resource": "x"}]})
            for _ in range(count):
                self.assertEqual(api.receive().error, "PatienceExpiredException")

        def pipe_is_full():
            waits(20)
            return struct.unpack("i", fcntl.ioctl(process.stderr, termios.FIONREAD, b"\0" * 4))[0] > 3500

        wait_until(pipe_is_full, "the pipe is full")
        waits(80)
        self.assertEqual(api.call("Ping").status, 200)
        os.set_blocking(process.stderr.fileno(), False)
        self.assertIn("a request has waited longer than slow-wait", os.read(process.stderr.fileno(), 4096).decode())
        output = ""

        def is_reported():
            nonlocal output
            waits(1)
            with contextlib.suppress(BlockingIOError):
                output += os.read(process.stderr.fileno(), 4096).decode()
            return "lines were lost" in output

        wait_until(is_reported, "the loss is reported")
        self.assertIn("lines=", output)

    def test_an_unknown_format(self):
        for option in ("--log-format", "--log-level"):
            done = self.rocklock("serve", "--memory", option, "loud")
            self.assertEqual(done.returncode, 64)
            self.assertIn("it can be one of", done.stderr)


class Leaving(Sandbox):
    def setUp(self):
        super().setUp()
        self.state.mkdir()

    def test_within_two_seconds_although_clients_wait_or_do_not_read(self):
        process = self.serve("--db", self.folder / "db")
        api = self.connect()
        self.assertEqual(api.call("Acquire", **LOCK).status, 200)
        waiter = self.connect()
        waiter.send("Acquire", LOCK | {"Principal": "bob", "PatienceMs": -1})
        wait_until(lambda: len(api.call("ShowLock", Resource="a").json["Waiters"]) == 1, "bob waits")
        deaf = self.connect()
        deaf.socket.setblocking(False)
        request = b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\nContent-Length: 2\r\n\r\n{}"
        try:
            while True:
                deaf.socket.send(request * 100)
        except BlockingIOError:
            pass
        start = time.monotonic()
        process.terminate()
        self.assertEqual(waiter.receive().error, "ManagerClosingException")
        self.assertEqual(process.wait(60), 0)
        self.assertLess(time.monotonic() - start, 2 * max(SLOWNESS, 2))
        # The granted locks are still there.
        self.serve("--db", self.folder / "db")
        self.assertEqual([row["Principal"] for row in self.connect().call("ListLocks").json["Locks"]], ["ann"])

    def test_a_second_signal_ends_it_at_once(self):
        process = self.serve("--db", self.folder / "db")
        self.assertEqual(self.connect().call("Acquire", **LOCK).status, 200)
        deaf = self.connect()
        deaf.socket.setblocking(False)
        request = b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\nContent-Length: 2\r\n\r\n{}"
        try:
            while True:
                deaf.socket.send(request * 100)
        except BlockingIOError:
            pass
        process.terminate()
        while "shutting down" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        process.terminate()
        self.assertIn(process.wait(60), (0, -signal.SIGTERM))
        self.assertFalse(alive(process.pid))
        self.serve("--db", self.folder / "db")
        self.assertEqual(len(self.connect().call("ListLocks").json["Locks"]), 1)

    def test_a_full_disk_is_logged_and_ends_the_daemon(self):
        if os.getuid() != 0:
            self.skipTest("only root can mount a small disk")
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode:
            self.skipTest(f"cannot mount: {mounted.stderr.strip()}")
        try:
            self.fill_the_disk(disk)
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)

    def fill_the_disk(self, disk):
        # With a reserve of disk space, the daemon would continue: space_test.py.
        process = self.serve("--db", disk / "db", "--reserve-bytes", "0")
        api = self.connect()
        self.assertEqual(api.call("Acquire", **LOCK, LeaseMs=600_000).status, 200)
        for number in range(10_000):
            answer = api.call("OpenSession", Principal=f"user {number}", Note="x" * 4000)
            if answer.status != 200:
                break
        self.assertEqual((answer.status, answer.error), (500, "StorageException"))
        self.assertEqual(process.wait(60), 70)
        log = process.stderr.read()
        self.assertIn("the storage has failed", log)
        self.assertIn("start the daemon again", log)
        # Frees space on the disk. All answered requests are there.
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        self.serve("--db", disk / "db")
        self.assertEqual(len(self.connect().call("ListLocks").json["Locks"]), 1)


if __name__ == "__main__":
    tap.main()
