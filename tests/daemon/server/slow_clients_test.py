"""Clients that do not send the rest of a request, or do not read a response, are disconnected."""

import json
import pathlib
import re
import select
import signal
import socket
import time

import tap
from harness import Connection, Sandbox, wait_until

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: Rocklock_20261121."
TIMEOUT = "500ms"
TIMEOUT_S = 0.5
GREETING = b"\xf5RL\x01"


def request(verb, **members):
    body = json.dumps(members).encode()
    return HEAD + verb.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Stalls(Sandbox):
    def serve_with(self, timeout):
        daemon = self.serve("--memory", "--stall-timeout", timeout)
        self.api = self.connect()
        return daemon

    def client(self, data=b""):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.settimeout(60)
        client.connect(str(self.socket))
        client.sendall(data)
        return client

    def rest_of(self, client):
        """Returns what the daemon sends until it closes the connection. Closes the sending side
        after the error, because the daemon reads for a while until then.
        """
        text = b""
        try:
            while (part := client.recv(65536)):
                text += part
                if b"stall-timeout" in text:
                    client.shutdown(socket.SHUT_WR)
        except ConnectionResetError:
            pass
        return text

    def make_events(self, count):
        opened = self.api.call("OpenSession", Principal="a" * 1000, LeaseMs=600_000).json
        proof = {"Session": opened["Session"], "Secret": opened["Secret"]}
        for number in range(count):
            grant = self.api.call("Acquire", Locks=[{"Resource": f"{number}/" + "x" * 900}], **proof).json
            self.api.call("Release", Grant=grant["Grant"], **proof)

    def take_locks(self):
        """Acquires locks whose list does not fit into a socket."""
        opened = self.api.call("OpenSession", Principal="ann", LeaseMs=600_000).json
        proof = {"Session": opened["Session"], "Secret": opened["Secret"]}
        for number in range(200):
            self.api.call("Acquire", Locks=[{"Resource": f"{number}"}], Note="x" * 4000, **proof)

    def metric(self, name):
        """Returns the sum of the values of a metric."""
        metrics = self.client(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        lines = self.rest_of(metrics).decode().splitlines()
        metrics.close()
        return sum(int(line.split()[1]) for line in lines if line.startswith((name + " ", name + "{")))

    def buffered(self):
        return self.metric("rocklock_user_buffer_bytes")

    def test_the_rest_of_a_request_must_arrive(self):
        self.serve_with(TIMEOUT)
        for part in (b"P", HEAD, HEAD + b"Ping\r\nContent-Length: 9\r\n\r\n{",
                     HEAD + b"Ping\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{",
                     request("Ping") + b"POST / HTTP"):
            start = time.monotonic()
            text = self.rest_of(self.client(part))
            self.assertGreater(time.monotonic() - start, 0.9 * TIMEOUT_S)
            self.assertIn(b"HTTP/1.1 408 Request Timeout\r\n", text, part)
            self.assertIn(b"RequestTimeoutException", text)
            self.assertIn(b"stall-timeout", text)
        for part in (GREETING[:2], GREETING + b"\0\0\0\x20\x01"):
            self.assertIn(b"stall-timeout", self.rest_of(self.client(part)))

    def test_single_bytes_do_not_extend_the_time(self):
        self.serve_with(TIMEOUT)
        client = self.client(HEAD)
        deadline = time.monotonic() + 60
        while not select.select([client], [], [], TIMEOUT_S / 10)[0]:
            client.sendall(b"x")
            self.assertLess(time.monotonic(), deadline)
        self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 408 "))

    def test_a_response_must_be_read(self):
        self.serve_with(TIMEOUT)
        self.take_locks()
        client = self.client(request("ListLocks"))
        poll = select.poll()
        poll.register(client, 0)
        self.assertTrue(poll.poll(60_000), "the daemon closes the connection")
        wait_until(lambda: not self.buffered(), "its buffers are freed")

    def test_a_pause_of_the_daemon_does_not_count(self):
        """After a pause, the daemon first processes what the clients have sent and read."""
        timeout_s = 3
        daemon = self.serve_with(f"{timeout_s}s")
        self.take_locks()
        ping = request("Ping")
        sender = self.client(ping[:-1])
        reader = self.client(request("ListLocks"))
        self.assertTrue(select.select([reader], [], [], 60)[0])
        wait_until(self.buffered, "the response does not fit into the socket")
        daemon.send_signal(signal.SIGSTOP)
        stat = pathlib.Path(f"/proc/{daemon.pid}/stat")
        wait_until(lambda: stat.read_text().split()[2] == "T", "the daemon is stopped")
        sender.sendall(ping[-1:])
        text = b""
        while select.select([reader], [], [], timeout_s)[0]:
            text += reader.recv(65_536)
        daemon.send_signal(signal.SIGCONT)
        self.assertIn(b" 200 ", sender.recv(100))
        head, _, body = text.partition(b"\r\n\r\n")
        missing = int(re.search(rb"Content-Length: (\d+)", head)[1]) - len(body)
        self.assertGreater(missing, 0)
        while missing > 0:
            part = reader.recv(65_536)
            self.assertTrue(part, "the daemon closed the connection")
            missing -= len(part)

    def test_idle_connections_waits_and_streams_are_not_affected(self):
        self.serve_with("100ms")
        idle = Connection(self.socket)
        self.connections.append(idle)
        idle.call("Ping")
        new = Connection(self.socket)
        self.connections.append(new)
        greeted = self.client(GREETING)
        stream = self.client(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        held = self.api.call("Acquire", Principal="ann", Locks=[{"Resource": "a"}], LeaseMs=600_000).json
        waiting = Connection(self.socket)
        self.connections.append(waiting)
        waiting.send("Acquire", {"Principal": "bob", "Locks": [{"Resource": "a"}], "PatienceMs": 60_000})
        # Another client that stalls is disconnected after a few times the timeout.
        for _ in range(3):
            self.rest_of(self.client(HEAD))
        self.api.call("Release", Grant=held["Grant"], Session=held["Session"], Secret=held["Secret"])
        self.assertEqual(waiting.receive().status, 200)
        for connection in (idle, new):
            self.assertEqual(connection.call("Ping").status, 200)
        self.assertEqual(greeted.recv(4), GREETING)
        text = b""
        while b"event: released" not in text:
            part = stream.recv(65536)
            self.assertTrue(part, "the stream has ended")
            text += part

    def test_a_connection_that_has_stalled_is_closed_as_soon_as_others(self):
        """After the last response, a connection is kept for 2 s, even if the client had stalled
        before.
        """
        self.serve_with("60s")
        self.make_events(100)
        client = self.client(request("Acquire", Principal="bob", Locks=[{"Resource": "a"}], LeaseMs=600_000) +
                             b"GET /events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(self.buffered, "the stream stalls")
        # Leave as much unread as the socket buffers.
        while self.buffered():
            client.recv(16_384)
        client.shutdown(socket.SHUT_WR)
        start = time.monotonic()
        # Those of `self.api` and of metric() remain.
        wait_until(lambda: self.metric("rocklock_connections") <= 2, "the connection is closed")
        # The reader of a stream has 10 s.
        self.assertLess(time.monotonic() - start, 6)


tap.main()
