"""All requests are read and answered, however their bytes and the end of the input arrive."""

import signal
import socket
import threading

import tap
from harness import Sandbox
from relayed import free_port

# The lock API is not offered over TCP, so there each request is refused.
PING = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\nContent-Length: 2\r\n\r\n{}"
RESPONSE = b"HTTP/1.1 "
# As many bytes as the daemon reads at once.
ONE_READ = 65536


def exactly(size):
    """Returns pings of this total size, and their number. The last one has a longer header."""
    count = size // len(PING) - 1
    rest = size - count * len(PING) - len(PING) - len(b"X: \r\n")
    last = PING.replace(b"Host: 127.0.0.1\r\n", b"Host: 127.0.0.1\r\nX: " + b"a" * rest + b"\r\n")
    data = PING * count + last
    assert len(data) == size
    return data, count + 1


class Input(Sandbox):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.daemon = self.serve("--memory", "--http", f"127.0.0.1:{self.port}")

    def connected(self, kind):
        client = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
        self.addCleanup(client.close)
        client.settimeout(60)
        client.connect(str(self.socket) if kind == "unix" else ("127.0.0.1", self.port))
        return client

    def assert_answered(self, client, count):
        """Reads until the daemon closes the connection."""
        text = b""
        while part := client.recv(1 << 20):
            text += part
        self.assertEqual(text.count(RESPONSE), count)

    def test_requests_and_the_end_of_the_input_arrive_together(self):
        for kind in ("unix", "tcp"):
            for count in (1, 3):
                client = self.connected(kind)
                self.daemon.send_signal(signal.SIGSTOP)
                client.sendall(PING * count)
                client.shutdown(socket.SHUT_WR)
                self.daemon.send_signal(signal.SIGCONT)
                self.assert_answered(client, count)

    def test_as_many_bytes_as_the_daemon_reads_at_once(self):
        for kind in ("unix", "tcp"):
            for size in (ONE_READ - 1, ONE_READ, ONE_READ + 1, 2 * ONE_READ):
                data, count = exactly(size)
                client = self.connected(kind)
                sender = threading.Thread(target=client.sendall, args=(data,))
                sender.start()
                answered = b""
                while answered.count(RESPONSE) < count:
                    part = client.recv(1 << 20)
                    self.assertTrue(part, "the daemon has closed the connection")
                    answered += part
                sender.join()
                # The connection still works.
                client.sendall(PING)
                client.shutdown(socket.SHUT_WR)
                self.assert_answered(client, 1)

    def test_more_requests_than_the_daemon_executes_at_once(self):
        """The input is paused after a time slice, and while responses wait for the client."""
        count = 20_000
        for kind in ("unix", "tcp"):
            client = self.connected(kind)

            def send(client=client):
                client.sendall(PING * count)
                client.shutdown(socket.SHUT_WR)

            sender = threading.Thread(target=send)
            sender.start()
            self.assert_answered(client, count)
            sender.join()

    def test_a_client_that_ends_without_reading(self):
        for kind in ("unix", "tcp"):
            for _ in range(20):
                client = self.connected(kind)
                client.sendall(PING * 50)
                client.close()
        client = self.connected("unix")
        client.sendall(PING)
        client.shutdown(socket.SHUT_WR)
        self.assert_answered(client, 1)


if __name__ == "__main__":
    tap.main()
