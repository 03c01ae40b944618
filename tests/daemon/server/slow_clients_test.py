"""Clients that do not read a response are disconnected."""

import json
import socket
import time

import tap
from harness import Sandbox, wait_until

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: Rocklock_20261121."


def request(verb, **members):
    body = json.dumps(members).encode()
    return HEAD + verb.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Stalls(Sandbox):
    def client(self, data=b""):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.settimeout(60)
        client.connect(str(self.socket))
        client.sendall(data)
        return client

    def rest_of(self, client):
        """Returns what the daemon sends until it closes the connection."""
        text = b""
        while (part := client.recv(65536)):
            text += part
        return text

    def make_events(self, count):
        opened = self.api.call("OpenSession", Principal="a" * 1000, LeaseMs=600_000).json
        proof = {"Session": opened["Session"], "Secret": opened["Secret"]}
        for number in range(count):
            grant = self.api.call("Acquire", Locks=[{"Resource": f"{number}/" + "x" * 900}], **proof).json
            self.api.call("Release", Grant=grant["Grant"], **proof)

    def metric(self, name):
        """Returns the sum of the values of a metric."""
        metrics = self.client(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        lines = self.rest_of(metrics).decode().splitlines()
        metrics.close()
        return sum(int(line.split()[1]) for line in lines if line.startswith((name + " ", name + "{")))

    def buffered(self):
        return self.metric("rocklock_user_buffer_bytes")

    def test_a_connection_that_has_stalled_is_closed_as_soon_as_others(self):
        """After the last response, a connection is kept for 2 s, even if the client had stalled
        before.
        """
        self.serve("--memory")
        self.api = self.connect()
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
