"""Clients exchange frames with the daemon in shared memory."""

import errno
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import time

import tap
from harness import Sandbox, wait_until
from shared_memory import (CALLS_READ, CALLS_START, CALLS_WRITTEN, CLIENT_WAITS, GOODBYE, REPLY, RESPONSES_READ,
                           RESPONSES_SIZE, SharedClient)


class Shared(Sandbox):
    options = ()

    def setUp(self):
        super().setUp()
        self.state.mkdir(exist_ok=True)
        self.daemon = self.serve("--memory", *self.options)

    def client(self, shares=True):
        client = SharedClient(self.socket)
        self.addCleanup(client.close)
        if shares:
            self.assertTrue(client.share())
            client.attach()
        return client

    def shared(self):
        """Returns the number of connections with shared memory."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.socket))
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            text = client.makefile().read()
        return int(re.search(r"(?m)^rocklock_shared_memory_connections (\d+)$", text)[1])

    def held(self):
        return [lock["Resource"] for lock in self.list()]


class InMemory(Shared):
    def test_calls_are_answered_in_memory(self):
        client = self.client()
        for _ in range(100):
            number = client.send("Ping")
            self.assertEqual(client.receive()[:2], (REPLY, number))
        self.assertEqual(self.shared(), 1)
        # Many calls at once, more than the queue of calls has space for.
        numbers = [client.send("Ping") for _ in range(2000)]
        self.assertEqual([client.receive()[1] for _ in numbers], numbers)
        client.close()
        wait_until(lambda: self.shared() == 0, "the memory is released")

    def test_calls_arrive_in_pieces_of_any_size(self):
        client = self.client()
        data = b"".join(client.next_call("Ping") for _ in range(40))
        expected = list(range(client.number - 39, client.number + 1))
        for size in (1, 2, 3, 7, 100):
            pieces = data if size > 1 else data[:len(data) // 2]
            rest = data[len(pieces):]
            for at in range(0, len(pieces), size):
                self.assertEqual(client.write(pieces[at:at + size]), b"")
                if at % 5 == 0:
                    time.sleep(0.0005)
            self.assertEqual(client.write(rest), b"")
            self.assertEqual([client.receive(size)[1] for _ in expected], expected)

    def test_bytes_of_the_socket_come_before_those_of_the_memory(self):
        """The client changes from the socket to the memory within a call, while the daemon is stopped."""
        for cut in (0, 1, 5, 14, 20):
            client = self.client(shares=False)
            self.assertTrue(client.share())
            first, second = client.next_call("Ping"), client.next_call("Ping")
            self.daemon.send_signal(signal.SIGSTOP)
            client.socket.sendall(first + second[:cut])
            client.attach()
            client.write(second[cut:] + client.next_call("Ping"))
            self.daemon.send_signal(signal.SIGCONT)
            numbers = [client.receive()[1] for _ in range(3)]
            self.assertEqual(numbers, [client.number - 2, client.number - 1, client.number])

    def test_a_client_that_does_not_attach_the_memory_continues_on_the_socket(self):
        client = self.client(shares=False)
        self.assertTrue(client.share())
        for _ in range(3):
            client.socket.sendall(client.next_call("Ping"))
            while not client.whole():
                client.take(client.socket.recv(1 << 16))
            self.assertEqual(client.frame()[:2], (REPLY, client.number))

    def test_memory_is_offered_once(self):
        client = self.client(shares=False)
        self.assertTrue(client.share())
        client.fds, old = [], client.fds
        self.assertFalse(client.share())
        client.fds = old
        self.assertEqual(self.shared(), 1)

    def test_long_responses_wait_until_the_client_reads(self):
        for i in range(300):
            self.assertEqual(self.api_call("Acquire", Principal="ann", Bound="none", LeaseMs=600000,
                                           Locks=[{"Resource": f"orders/{i}/{'x' * 200}", "Mode": "write"}]), 200)
        client = self.client()
        # Together, the responses are ten times as long as the queue, and as the daemon keeps.
        numbers = [client.send("ListLocks", Limit=300) for _ in range(10)]
        time.sleep(0.2)
        answers = [client.receive(4000) for _ in numbers]
        self.assertEqual(sorted((kind, number) for kind, number, _ in answers), [(REPLY, number) for number in numbers])
        self.assertGreater(sum(len(body) for _, _, body in answers), 10 * RESPONSES_SIZE)
        # The connection still works in both directions.
        client.send("Ping")
        self.assertEqual(client.receive()[:2], (REPLY, client.number))

    def api_call(self, verb, **members):
        connection = getattr(self, "connection", None) or self.connect()
        self.connection = connection
        return connection.call(verb, **members).status

    def test_grants_in_responses_that_were_not_read_are_released(self):
        lock = {"Principal": "ann", "Bound": "none", "LeaseMs": 600000}
        client = self.client()
        client.send("Acquire", Locks=[{"Resource": "read", "Mode": "write"}], **lock)
        self.assertEqual(client.receive()[0], REPLY)
        client.send("Acquire", Locks=[{"Resource": "unread", "Mode": "write"}], **lock)
        wait_until(lambda: self.held() == ["read", "unread"], "both are granted")
        client.close()
        wait_until(lambda: self.held() == ["read"], "the unread grant has ended")

    def test_a_client_that_closes_its_sending_side_gets_its_responses(self):
        client = self.client()
        numbers = [client.send("Ping") for _ in range(50)]
        client.socket.shutdown(1)
        self.assertEqual([client.receive()[1] for _ in numbers], numbers)
        with self.assertRaises(EOFError):
            client.receive()

    def test_a_client_that_closes_its_sending_side_keeps_a_grant_that_it_reads(self):
        for pause_s in (0, 0.3):
            client = self.client()
            client.send("Acquire", Principal="ann", Bound="none", LeaseMs=600000,
                        Locks=[{"Resource": f"a{pause_s}", "Mode": "write"}])
            time.sleep(pause_s)
            client.socket.shutdown(1)
            time.sleep(0.3)
            self.assertEqual(client.receive()[0], REPLY)
            client.close()
            time.sleep(0.1)
            self.assertIn(f"a{pause_s}", self.held())

    def test_calls_before_the_end_of_the_socket_are_executed(self):
        for i in range(20):
            client = self.client()
            client.send("Acquire", Principal="ann", Bound="none", LeaseMs=600000, RequestId=f"r{i}",
                        Locks=[{"Resource": f"b{i}", "Mode": "write"}])
            client.close()
        wait_until(lambda: len(self.held()) == 20, "all are granted")

    def test_a_client_attaches_the_memory_while_a_response_waits(self):
        for i in range(400):
            self.assertEqual(self.api_call("Acquire", Principal="ann", Bound="none", LeaseMs=600000,
                                           Locks=[{"Resource": f"orders/{i}/{'x' * 800}", "Mode": "write"}]), 200)
        for pause_s in (0, 0.0002, 0.001, 0.05):
            client = self.client(shares=False)
            self.assertTrue(client.share())
            client.socket.sendall(client.next_call("ListLocks", Limit=400))
            time.sleep(pause_s)
            client.attach()
            start = time.monotonic()
            self.assertGreater(len(client.receive()[2]), 320000)
            self.assertLess(time.monotonic() - start, 20)

    def test_a_waiting_call_ends_with_its_client(self):
        holder = self.client()
        lock = {"Principal": "ann", "Locks": [{"Resource": "a", "Mode": "write"}]}
        holder.send("Acquire", **lock)
        self.assertEqual(holder.receive()[0], REPLY)
        waiter = self.client()
        waiter.send("Acquire", **lock, PatienceMs=-1)
        self.wait_for_waiters("a", 1)
        waiter.close()
        self.wait_for_waiters("a", 0)

    def test_the_daemon_ends_the_connection_when_it_stops(self):
        client = self.client()
        client.send("Ping")
        self.daemon.send_signal(signal.SIGTERM)
        self.assertEqual(client.receive()[0], REPLY)
        with self.assertRaises(EOFError):
            while client.receive()[0] != GOODBYE:
                pass

    def test_invalid_frames_end_the_connection(self):
        client = self.client()
        client.write(b"\0\0\0\x09\x63" + bytes(8))
        kind, _, body = client.receive()
        self.assertEqual(kind, GOODBYE)
        self.assertIn(b"there is no kind 99", body)


class Hostile(Shared):
    """A client that does not follow the protocol can harm only its own connection."""

    def assert_ended(self, client):
        client.wake()
        client.socket.settimeout(30)
        self.assertEqual(client.socket.recv(1), b"")
        other = self.client()
        other.send("Ping")
        self.assertEqual(other.receive()[0], REPLY)
        other.close()

    def test_invalid_positions_end_the_connection(self):
        for position in (16385, 1 << 40, (1 << 64) - 1):
            client = self.client()
            client.put(CALLS_WRITTEN, position)
            self.assert_ended(client)
        client = self.client()
        client.put(RESPONSES_READ, 1 << 50)
        client.send("Ping")
        self.assert_ended(client)

    def test_random_positions_harm_nobody_else(self):
        seed = int.from_bytes(os.urandom(4), "big")
        numbers = random.Random(seed)
        for _ in range(200):
            client = self.client()
            for offset in (CALLS_WRITTEN, CALLS_START, CALLS_READ, RESPONSES_READ):
                client.put(offset, numbers.getrandbits(numbers.randrange(1, 65)))
            client.wake()
            client.close()
        self.assertIsNone(self.daemon.poll(), f"seed {seed}")
        client = self.client()
        client.send("Ping")
        self.assertEqual(client.receive()[0], REPLY, f"seed {seed}")

    def test_input_on_the_socket_and_a_wake_up_arrive_together(self):
        client = self.client()
        for _ in range(20):
            self.daemon.send_signal(signal.SIGSTOP)
            time.sleep(0.005)
            client.socket.sendall(client.next_call("Ping"))
            client.wake()
            self.daemon.send_signal(signal.SIGCONT)
            self.assertEqual(client.receive()[:2], (REPLY, client.number))

    def test_a_client_cannot_resize_the_memory_or_block_the_daemon(self):
        client = self.client()
        with self.assertRaises(OSError) as refused:
            os.ftruncate(client.fds[0], 0)
        self.assertEqual(refused.exception.errno, errno.EPERM)
        # Makes the descriptors blocking, and fills their counters.
        for fd in client.fds[1:]:
            os.set_blocking(fd, True)
        os.write(client.wakes, struct.pack("<Q", 2**64 - 2))
        os.write(client.woken, struct.pack("<Q", 2**64 - 2**32 - 1))
        client.put32(CLIENT_WAITS, 1)
        client.socket.sendall(client.next_call("Ping"))
        other = self.client()
        for _ in range(100):
            other.send("Ping")
            self.assertEqual(other.receive()[0], REPLY)

    def test_a_client_that_writes_without_reading_does_not_delay_others(self):
        client = self.client()
        for _ in range(20000):
            if client.write(client.next_call("ListLocks")):
                break
        other = self.client()
        for _ in range(100):
            other.send("Ping")
            self.assertEqual(other.receive()[0], REPLY)


class Stalled(Shared):
    options = ("--stall-timeout", "500ms")

    def test_a_client_that_does_not_read_its_responses_is_disconnected(self):
        client = self.client()
        for i in range(400):
            client.send("Acquire", Principal="ann", Bound="none", LeaseMs=600000,
                        Locks=[{"Resource": f"{i}/{'x' * 200}", "Mode": "write"}])
            client.receive()
        for _ in range(10):
            client.send("ListLocks", Limit=400)
        client.socket.settimeout(60)
        self.assertEqual(client.socket.recv(1), b"")


class SwitchedOff(Shared):
    options = ("--shared-memory", "off")

    def test_no_memory_is_offered(self):
        client = self.client(shares=False)
        self.assertFalse(client.share())
        self.assertEqual(self.shared(), 0)
        self.assertNotIn("SharedMemory", self.connect().call("Ping").json)
        self.assertEqual(self.rocklock("bench", "--clients", "2", "--duration", "200ms").returncode, 0)
        self.assertEqual(self.shared(), 0)

    def test_other_values_are_refused(self):
        done = self.rocklock("serve", "--memory", "--shared-memory", "yes")
        self.assertEqual(done.returncode, 64)
        self.assertIn("one of on, off", done.stderr)


class Limits(Sandbox):
    def serve_with(self, descriptors):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        self.state.mkdir(exist_ok=True)
        self.start("serve", "--memory", preexec_fn=limit).stderr.readline()

    def test_descriptors_are_left_for_other_connections(self):
        self.serve_with(1024)
        clients = []
        while True:
            client = SharedClient(self.socket)
            self.addCleanup(client.close)
            clients.append(client)
            if not client.share():
                break
        shared = len(clients) - 1
        self.assertGreater(shared, 30)
        # Three descriptors each; the others have one.
        plain = 0
        while plain < 700:
            client = SharedClient(self.socket)
            self.addCleanup(client.close)
            try:
                client.share()
            except (EOFError, AssertionError):
                break
            plain += 1
        self.assertGreater(plain, 600)


class Library(Sandbox):
    """The C++ client library."""

    shared = Shared.shared

    def repeat(self):
        """Lets the client acquire and release locks."""
        self.client.stdin.write("again\n")
        self.client.stdin.flush()
        self.assertEqual(self.client.stdout.readline(), "acquired\n")

    def start_client(self):
        self.client = subprocess.Popen([os.environ["ROCKLOCK_LIBRARY_CLIENT"], self.socket, "repeat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.started.append(self.client)

    def end_client(self):
        self.client.communicate(timeout=60)
        self.assertEqual(self.client.returncode, 0)
        wait_until(lambda: self.shared() == 0, "the memory is released")

    def test_a_client_with_many_calls_uses_memory(self):
        self.state.mkdir(exist_ok=True)
        self.serve("--memory")
        self.start_client()
        self.assertEqual(self.shared(), 0)
        for _ in range(10):
            self.repeat()
            self.assertEqual(self.shared(), 1)
        self.end_client()

    def test_a_client_continues_after_a_restart_of_the_daemon(self):
        self.state.mkdir(exist_ok=True)
        store = self.folder / "store"
        # The second daemon does not offer memory, and the third one does again.
        daemon = self.serve("--db", store)
        self.start_client()
        for options, shared in ((("--shared-memory", "off"), 0), ((), 1)):
            self.repeat()
            # A release is written after its response.
            time.sleep(0.1)
            daemon.kill()
            daemon.wait()
            daemon = self.serve("--db", store, *options)
            self.repeat()
            self.assertEqual(self.shared(), shared)
        self.end_client()

    def test_calls_that_are_larger_than_the_queue_are_not_delayed(self):
        self.state.mkdir(exist_ok=True)
        self.serve("--memory")

        def longest_s():
            done = subprocess.run([os.environ["ROCKLOCK_LIBRARY_CLIENT"], self.socket, "large"], timeout=60,
                                  capture_output=True, text=True, check=True)
            return int(done.stdout) / 1000
        # A client that misses a wake-up waits for a second.
        self.assert_within(0.5, longest_s)

    def test_commands_with_few_calls_do_not_use_memory(self):
        self.state.mkdir(exist_ok=True)
        self.serve("--memory")
        holder = self.hold("a")
        self.assertEqual(self.shared(), 0)
        holder.terminate()
        self.assertNotEqual(holder.wait(60), 0)


if __name__ == "__main__":
    tap.main()
