"""Clients of a relay, which passes their calls to the manager of another host (requirement S5)."""

import json
import os
import signal
import socket
import subprocess
import time

import boto3
import tap
from harness import Connection, wait_until
from relayed import Relays, free_port


class Clients(Relays):
    def setUp(self):
        super().setUp()
        self.main = self.manager()
        self.web = self.relay(self.main.peer)

    def hold_at(self, daemon, resource, *options):
        process = self.start("run", "--socket", daemon.socket, *options, resource, "--", "sleep", "1000")
        wait_until(lambda: resource in self.resources(self.main) or process.poll() is not None, "it is held")
        self.assertIsNone(process.poll())
        return process

    def test_clients_of_both_daemons_exclude_each_other(self):
        self.assertEqual(self.at(self.web, "acquire", "a", "--lease", "1m").returncode, 0)
        self.assertEqual(self.at(self.main, "acquire", "b", "--lease", "1m").returncode, 0)
        for daemon in (self.main, self.web):
            self.assertEqual(self.resources(daemon), ["a", "b"])
            for resource in ("a", "b"):
                self.assertEqual(self.at(daemon, "acquire", resource).returncode, 75)
        done = self.at(self.web, "run", "c", "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)

    def test_a_waiting_client_gets_the_lock(self):
        holder = self.hold_at(self.main, "a")
        waiter = self.start("run", "--socket", self.web.socket, "a", "--", "echo", "mine")
        wait_until(lambda: "web" not in self.at(self.main, "waits").stdout and
                   self.at(self.main, "waits").stdout.count("\n") > 1, "it waits")
        holder.terminate()
        self.assertEqual(waiter.communicate(timeout=30)[0], "mine\n")

    def test_a_lock_ends_with_its_process(self):
        holder = self.hold_at(self.web, "a", "--on-death", "kill")
        os.kill(holder.pid, signal.SIGKILL)
        wait_until(lambda: self.resources(self.main) == [], "the lock is free", 10)

    def sleeper(self, **options):
        process = subprocess.Popen(["sleep", "1000"], **options)
        self.started.append(process)
        return process

    def end(self, process):
        process.kill()
        process.wait()

    def test_a_session_ends_with_other_processes_of_its_host(self):
        first, second = self.sleeper(), self.sleeper()
        opened = self.at(self.web, "acquire", "a", "--lease", "1h", "--for-process", first.pid, "--json")
        self.assertEqual(opened.returncode, 0, opened.stderr)
        grant = json.loads(opened.stdout)
        owner = {"ROCKLOCK_SESSION": f"{grant['Session']}:{grant['Secret']}"}
        joined = self.at(self.web, "session", "join", "--for-process", second.pid, environment=owner)
        self.assertEqual(joined.returncode, 0, joined.stderr)
        self.end(first)
        self.assertEqual(self.at(self.main, "acquire", "a", "--patience", "300ms").returncode, 75)
        self.end(second)
        wait_until(lambda: self.resources(self.main) == [], "the lock is free", 10)

    # The wait is known only after the process was found.
    def test_a_waiting_acquire_for_another_process_is_cancelled_with_its_client(self):
        holder = self.hold_at(self.main, "a")
        waiter = self.start("acquire", "--socket", self.web.socket, "a", "--lease", "1h", "--patience", "1h",
                            "--for-process", self.sleeper().pid)
        waits = lambda: json.loads(self.at(self.main, "show", "--json", "a").stdout)["Waiters"]
        wait_until(waits, "it waits")
        waiter.kill()
        wait_until(lambda: not waits(), "it does not wait any more", 10)
        self.end(holder)

    def test_run_that_is_killed_keeps_its_lock_until_the_command_ends(self):
        file = self.folder / "pid"
        run = self.start("run", "--socket", self.web.socket, "--on-death", "hold", "a", "--", "sh", "-c",
                         f"echo $$ > {file}; exec sleep 1000")
        wait_until(lambda: file.exists() and file.read_text().strip(), "the command runs")
        run.kill()
        self.assertEqual(self.at(self.main, "acquire", "a", "--patience", "500ms").returncode, 75)
        os.kill(int(file.read_text()), signal.SIGKILL)
        wait_until(lambda: self.resources(self.main) == [], "the lock is free", 10)

    def test_processes_that_cannot_be_bound_are_refused(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        done = self.at(self.web, "acquire", "a", "--for-process", ended.pid)
        self.assertEqual((done.returncode, f"sees no process {ended.pid}" in done.stderr), (64, True), done.stderr)
        if os.getuid() == 0:
            self.folder.chmod(0o755)
            self.web.socket.chmod(0o666)
            done = self.at(self.web, "acquire", "a", "--for-process", os.getpid(), user=65534, group=65534)
            self.assertEqual((done.returncode, "belongs to another user" in done.stderr), (77, True), done.stderr)
        self.assertEqual(self.resources(self.main), [])

    def test_a_process_of_another_host_cannot_join(self):
        for opener, joiner, host in ((self.web, self.main, "host web1"), (self.main, self.web, "the host of the manager")):
            opened = self.at(opener, "acquire", "a", "--lease", "1h", "--for-process", os.getpid(), "--json")
            grant = json.loads(opened.stdout)
            owner = {"ROCKLOCK_SESSION": f"{grant['Session']}:{grant['Secret']}"}
            done = self.at(joiner, "session", "join", "--for-process", os.getpid(), environment=owner)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn(f"is bound to processes of {host}: a process of another host cannot be added", done.stderr)
            self.assertEqual(self.at(opener, "session", "close", environment=owner).returncode, 0)

    def test_a_session_is_shown_with_its_node(self):
        self.at(self.web, "acquire", "a", "--lease", "1m")
        session = json.loads(self.at(self.main, "sessions", "--json").stdout)
        self.assertEqual((session["Uid"], session["Node"]), (os.getuid(), "web1"))

    def test_status_names_the_relay_and_the_users_of_each_host(self):
        self.at(self.web, "acquire", "a", "--lease", "1m")
        self.at(self.main, "acquire", "b", "--lease", "1m")
        through = self.at(self.web, "status").stdout
        self.assertIn("through   the relay of this host, which is the node web1", through)
        self.assertIn(f"uid {os.getuid()} of the manager's host (1 session)", through)
        local = self.at(self.main, "status").stdout
        self.assertNotIn("through", local)
        self.assertIn(f"uid {os.getuid()} of node web1 (1 session)", local)

    # A client that reads slowly gets the whole last response.
    def test_a_slow_client_gets_the_whole_response(self):
        connection = Connection(self.web.socket)
        session = connection.call("OpenSession", Principal="ann", LeaseMs=600000).json
        for part in range(10):
            names = [f"{part}-{number}-{'x' * 900}" for number in range(100)]
            self.assertEqual(connection.call("Acquire", Session=session["Session"], Secret=session["Secret"],
                                             Locks=[{"Resource": name} for name in names]).status, 200)
        connection.close()
        slow = Connection(self.web.socket)
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.send("ListLocks", {"Limit": 1000}, "Connection: close\r\n")
        time.sleep(4)
        answer = slow.receive()
        slow.close()
        self.assertEqual(len(answer.json["Locks"]), 1000)

    # The relay of a host can claim any uid.
    def test_administrator_rights_do_not_pass(self):
        grant = json.loads(self.at(self.main, "acquire", "a", "--lease", "1m", "--json").stdout)["Grant"]
        for words in (("class", "put", "*", "--max-hold", "1m"), ("break", str(grant), "--reason", "test"),
                      ("session", "end", "--principal", "ann", "--reason", "test"),
                      ("db", "backup", str(self.folder / "copy"))):
            done = self.rocklock(*words, "--socket", self.web.socket)
            self.assertEqual(done.returncode, 77, (words, done.stderr))

    def test_http_and_tables(self):
        port = free_port()
        web = self.relay(self.main.peer, "--http", f"127.0.0.1:{port}", node="web2")
        web.wait_for("listening on http://")
        connection = Connection(port)
        connection.send("Acquire", {"Locks": [{"Resource": "a"}], "Principal": "ann", "LeaseMs": 60000},
                        "Content-Type: application/json\r\n")
        grant = connection.receive()
        self.assertEqual(grant.status, 200, grant.body)
        connection.close()
        self.assertEqual(self.resources(self.main), ["a"])
        # An AWS SDK needs only the address.
        client = boto3.client("dynamodb", region_name="local", endpoint_url=f"http://localhost:{port}",
                              aws_access_key_id="ann", aws_secret_access_key="x")
        client.create_table(TableName="orders", BillingMode="PAY_PER_REQUEST",
                            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
        client.put_item(TableName="orders", Item={"id": {"S": "42"}, "state": {"S": "new"}})
        item = client.get_item(TableName="orders", Key={"id": {"S": "42"}})["Item"]
        self.assertEqual(item["state"], {"S": "new"})

    def test_a_long_response_is_complete(self):
        connection = Connection(self.web.socket)
        session = connection.call("OpenSession", Principal="ann", LeaseMs=600000).json
        names = [f"{'x' * 1000}/{number}" for number in range(2000)]
        for part in range(0, len(names), 100):
            got = connection.call("Acquire", Session=session["Session"], Secret=session["Secret"],
                                  Locks=[{"Resource": name} for name in names[part:part + 100]])
            self.assertEqual(got.status, 200, got.body)
        connection.close()
        shown = [self.at(daemon, "ls", "--json").stdout for daemon in (self.web, self.main)]
        self.assertEqual(*([json.loads(line)["Resource"] for line in text.splitlines()] for text in shown))
        self.assertEqual(shown[0].count("\n"), 2000)

    def test_many_clients_at_once(self):
        done = self.rocklock("bench", "--socket", self.web.socket, "--clients", "40", "--duration", "1s", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.resources(self.main), [])

    # A grant whose response the client has not read is released, as for a local client.
    def test_a_client_that_leaves_without_reading_leaves_nothing(self):
        for _ in range(20):
            connection = Connection(self.web.socket)
            connection.send("Acquire", {"Locks": [{"Resource": "a"}], "Principal": "ann", "LeaseMs": 600000})
            connection.socket.close()
            connection.file.close()
        wait_until(lambda: self.resources(self.main) == [], "nothing is held", 10)


class Failures(Relays):
    def test_a_holder_keeps_its_lock_while_the_manager_restarts(self):
        port = free_port()
        store = ("--db", self.folder / "db")
        main = self.manager(port=port, store=store)
        web = self.relay(main.peer)
        holder = self.start("run", "--socket", web.socket, "a", "--", "sleep", "1000")
        wait_until(lambda: self.resources(main) == ["a"], "it is held")
        main.stop(signal.SIGKILL)
        main = self.manager(port=port, store=store)
        wait_until(lambda: web.log().count("connected to the manager") == 2, "it is connected again")
        time.sleep(1)
        self.assertIsNone(holder.poll())
        self.assertEqual(self.resources(main), ["a"])
        self.assertEqual(self.at(web, "run", "--no-wait", "a", "--", "true").returncode, 75)
        holder.terminate()
        self.assertEqual(holder.wait(), 128 + signal.SIGTERM)
        self.assertEqual(self.resources(main), [])

    def test_a_holder_keeps_its_lock_while_the_relay_restarts(self):
        main = self.manager()
        web = self.relay(main.peer)
        holder = self.start("run", "--socket", web.socket, "a", "--", "sleep", "1000")
        wait_until(lambda: self.resources(main) == ["a"], "it is held")
        web.stop(signal.SIGKILL)
        web = self.relay(main.peer)
        time.sleep(1)
        self.assertIsNone(holder.poll())
        self.assertEqual(self.resources(main), ["a"])
        # The new relay watches the process, too.
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        wait_until(lambda: self.resources(main) == [], "the lock is free", 10)

    def test_a_process_that_ends_while_no_relay_runs(self):
        main = self.manager()
        web = self.relay(main.peer)
        holder = self.start("run", "--socket", web.socket, "--lease", "10m", "a", "--", "sleep", "1000")
        wait_until(lambda: self.resources(main) == ["a"], "it is held")
        web.stop(signal.SIGKILL)
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        self.relay(main.peer)
        wait_until(lambda: self.resources(main) == [], "the lock is free", 10)

    def test_a_client_waits_until_the_manager_can_be_reached(self):
        port = free_port()
        web = self.relay(f"127.0.0.1:{port}", connected=False)
        waiter = self.start("run", "--socket", web.socket, "a", "--", "echo", "ran")
        web.wait_for("cannot connect to the manager")
        self.assertIsNone(waiter.poll())
        self.manager(port=port)
        self.assertEqual(waiter.communicate(timeout=30)[0], "ran\n")

    def test_a_client_is_refused_after_the_relay_timeout(self):
        port = free_port()
        web = self.relay(f"127.0.0.1:{port}", "--relay-timeout", "300ms", connected=False)
        reason = (f"the relay cannot connect to the manager 127.0.0.1:{port}: Connection refused; check that the manager "
                  "runs, and see the log of the relay")
        for words in (("acquire", "a", "--patience", "1s"), ("ls",), ("run", "a", "--", "true"), ("status",)):
            done = self.at(web, *words)
            self.assertEqual((done.returncode, done.stderr), (69, f"rocklock: {reason}\n"))
        self.assertIn("runs, but cannot be used", done.stdout)
        answer = Connection(web.socket).call("Ping")
        self.assertEqual((answer.status, answer.error), (503, "UnreachableException"))
        self.assertIn(reason, answer.body.decode())

    def test_a_relay_stops_in_order(self):
        main = self.manager()
        web = self.relay(main.peer)
        web.stop(signal.SIGTERM)
        self.assertEqual(web.process.returncode, 0)
        main.wait_for("the connection of a relay has ended")
        self.assertFalse(web.socket.exists())

    def test_the_service_manager_is_notified(self):
        main = self.manager()
        notify = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(str(notify))
            receiver.settimeout(20)
            environment = {"NOTIFY_SOCKET": str(notify), "WATCHDOG_USEC": "300000"}
            self.relay(main.peer, environment=environment)
            self.assertIn("READY=1", receiver.recv(4096).decode())
            for _ in range(3):
                self.assertEqual(receiver.recv(4096).decode(), "WATCHDOG=1")

    def test_the_log_can_be_a_file(self):
        main = self.manager()
        log = self.folder / "relay-file.log"
        web = self.daemon("web1", "--relay", main.peer, "--node", "web1", "--log-file", log)
        wait_until(lambda: log.exists() and "connected to the manager" in log.read_text(), "it is in the file")
        log.rename(self.folder / "old.log")
        web.process.send_signal(signal.SIGHUP)
        wait_until(log.exists, "the file is opened again")
        web.stop(signal.SIGTERM)
        self.assertIn("shutting down", log.read_text())

    def test_garbage_on_the_port_is_refused_and_logged(self):
        main = self.manager()
        host, port = main.peer.split(":")
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xf5RLP" * 50, b"\x16\x03\x01\x00\x05hello", b""):
            with socket.create_connection((host, int(port))) as stranger:
                stranger.sendall(garbage)
                stranger.shutdown(socket.SHUT_WR)
                stranger.settimeout(20)
                try:
                    while stranger.recv(4096):
                        pass
                except ConnectionError:
                    pass
        wait_until(lambda: main.log().count("a connection to the port for relays was refused") >= 4, main.log())
        web = self.relay(main.peer)
        self.assertEqual(self.at(web, "acquire", "a").returncode, 0)

    def test_users_of_nodes_have_limits_of_their_own(self):
        main = self.manager("--max-user-sessions", "1", store=("--memory",))
        webs = [self.relay(main.peer, node=node) for node in ("web1", "web2")]
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        for index, web in enumerate(webs):
            web.socket.chmod(0o777)
            self.folder.chmod(0o755)
            done = self.at(web, "acquire", f"a{index}", "--lease", "1m", **user)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = self.at(web, "acquire", f"b{index}", "--lease", "1m", **user)
            self.assertIn("has 1 sessions, and the limit is 1", done.stderr)

    def test_contradictory_options_are_64(self):
        for words, reason in (
                (("--relay", "127.0.0.1:7", "--peer-listen", "127.0.0.1:0"), "either a relay or a manager"),
                (("--relay", "127.0.0.1:7", "--memory"), "a relay has no store, and --memory has no effect"),
                (("--relay", "127.0.0.1:7", "--idle-exit", "5m"), "--idle-exit has no effect on it"),
                (("--relay", "nowhere"), "must be HOST:PORT"),
                (("--relay", "192.0.2.1:7"), "needs a certificate"),
                (("--memory", "--peer-listen", "0.0.0.0:0"), "needs a certificate"),
                (("--relay", "127.0.0.1:7", "--node", "a b"), "is not a name of a node")):
            done = self.rocklock("serve", "--socket", self.folder / "s", *words)
            self.assertEqual((done.returncode, reason in done.stderr), (64, True), done.stderr)


class OtherBoot(Relays):
    """The relay and its clients have another boot clock than the manager, as on another machine."""

    def setUp(self):
        super().setUp()
        self.inside = ("unshare", "--time", "--boottime", "100000")
        self.main = self.manager()
        web = self.daemon("web1", "--relay", self.main.peer, "--node", "web1", prefix=self.inside)
        wait_until(lambda: "connected to the manager" in web.log() or web.process.poll() is not None, "it is connected")
        if "connected" not in web.log():
            self.skipTest(web.log())
        self.web = web

    def elsewhere(self, *words):
        process = self.start(words[0], "--socket", self.web.socket, *words[1:], prefix=self.inside)
        stdout, stderr = process.communicate(timeout=60)
        return process.returncode, stdout, stderr

    def test_a_lease_is_renewed_and_counted_on_the_clock_of_the_client(self):
        began = time.monotonic()
        status, stdout, stderr = self.elsewhere("run", "--lease", "2s", "a", "--", "sh", "-c", "sleep 5; echo kept")
        self.assertEqual((status, stdout), (0, "kept\n"), stderr)
        self.assertGreater(time.monotonic() - began, 5)

    def test_replies_have_no_deadline_of_another_boot_clock(self):
        connection = Connection(self.web.socket)
        self.connections.append(connection)
        opened = connection.call("OpenSession", Principal="ann", LeaseMs=60000).json
        self.assertEqual((opened["Node"], "DeadlineBootMs" in opened), ("web1", False), opened)
        self.assertIn(opened["HeldMs"], range(1000))
        self.assertEqual(connection.call("Ping").json["Node"], "web1")
        local = Connection(self.main.socket)
        self.connections.append(local)
        self.assertIn("DeadlineBootMs", local.call("OpenSession", Principal="ann", LeaseMs=60000).json)

    # The lease begins with the grant, not with the request that has waited.
    def test_a_grant_after_a_wait_has_its_whole_lease(self):
        holder = self.start("run", "--socket", self.main.socket, "a", "--", "sleep", "3")
        wait_until(lambda: self.resources(self.main) == ["a"], "it is held")
        status, stdout, stderr = self.elsewhere("run", "--lease", "2s", "a", "--", "sh", "-c", "sleep 3; echo kept")
        self.assertEqual((status, stdout), (0, "kept\n"), stderr)
        self.assertEqual(holder.wait(), 0)

    def test_the_printed_deadline_is_on_the_clock_of_the_client(self):
        status, stdout, stderr = self.elsewhere("acquire", "a", "--lease", "1m", "--json")
        self.assertEqual(status, 0, stderr)
        with open("/proc/uptime", encoding="ascii") as file:
            now_ms = float(file.read().split()[0]) * 1000 + 100_000_000
        left = json.loads(stdout)["DeadlineBootMs"] - now_ms
        self.assertTrue(50_000 < left < 60_500, left)


if __name__ == "__main__":
    tap.main()
