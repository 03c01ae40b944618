"""A client that exchanges frames with the daemon in shared memory. It is written from the description
in docs/protocol.md, independently of the code under test."""

import mmap
import os
import select
import socket
import struct

from client_seeds import GREETING, call, frame

SIZE = 82432
# Offsets in the memory: the positions of both queues, the flags, and the spaces of the queues.
CALLS_WRITTEN, CALLS_START, CALLS_READ = 0, 8, 64
RESPONSES_WRITTEN, RESPONSES_START, RESPONSES_READ = 128, 136, 192
ATTACHED, CLIENT_WAITS, CLIENT_WANTS_SPACE, DAEMON_WANTS_SPACE = 256, 260, 264, 320
CALLS, RESPONSES = 512, 16896
CALLS_SIZE, RESPONSES_SIZE = 16384, 65536
CALL, CANCEL, REPLY, REFUSAL, GOODBYE, SHARE = range(1, 7)
PATIENCE_S = 60


class SharedClient:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(str(path))
        self.memory = None
        self.socket_read = False
        self.fds = []
        self.received = b""
        self.greeted = False
        self.number = 0

    def share(self):
        """Asks for shared memory. Returns false if the daemon does not offer it."""
        self.socket.sendall((b"" if self.greeted else GREETING) + frame(SHARE, 0) + self.next_call("Ping"))
        while not self.whole():
            data, fds, _, _ = socket.recv_fds(self.socket, 1 << 16, 4)
            self.take(data)
            self.fds += fds
        self.frame()
        if self.fds:
            memory, self.woken, self.wakes = self.fds
            self.memory = mmap.mmap(memory, SIZE)
            self.numbers = memoryview(self.memory).cast("Q")
            self.flags = memoryview(self.memory).cast("I")
            self.epoll = select.epoll()
            self.epoll.register(self.woken, select.EPOLLOUT | select.EPOLLET)
            self.epoll.register(self.socket, select.EPOLLIN)
        return bool(self.fds)

    def attach(self):
        self.put32(ATTACHED, 1)
        return self

    def close(self):
        self.socket.close()
        if self.memory is not None:
            self.numbers.release()
            self.flags.release()
            self.memory.close()
            self.epoll.close()
        for fd in self.fds:
            os.close(fd)
        self.fds = []

    # ---- The memory ----

    # A memoryview reads and writes each number at once. struct.pack_into() clears the bytes first.

    def get(self, offset):
        return self.numbers[offset // 8]

    def put(self, offset, value):
        self.numbers[offset // 8] = value

    def put32(self, offset, value):
        self.flags[offset // 4] = value

    def wake(self):
        os.write(self.wakes, struct.pack("<Q", 1))

    def write(self, data):
        """Writes as much as there is space for, and returns the rest."""
        written = self.get(CALLS_WRITTEN)
        unread = written - self.get(CALLS_READ)
        if unread == 0:
            self.put(CALLS_START, written)
        start = self.get(CALLS_START)
        size = min(len(data), CALLS_SIZE - unread)
        for i in range(size):
            self.memory[CALLS + (written + i - start) % CALLS_SIZE] = data[i]
        self.put(CALLS_WRITTEN, written + size)
        self.wake()
        return data[size:]

    def read(self, limit=1 << 20):
        written, read = self.get(RESPONSES_WRITTEN), self.get(RESPONSES_READ)
        at = (read - self.get(RESPONSES_START)) % RESPONSES_SIZE
        size = min(limit, written - read)
        space = self.memory[RESPONSES:RESPONSES + RESPONSES_SIZE]
        data = (space[at:] + space[:at])[:size]
        self.put(RESPONSES_READ, read + size)
        if size > 0 and self.get(DAEMON_WANTS_SPACE) & 0xFFFFFFFF:
            self.wake()
        return data

    def wait(self):
        """Waits until the daemon has written to the memory or to the socket."""
        self.put32(CLIENT_WAITS, 1)
        if self.get(RESPONSES_WRITTEN) == self.get(RESPONSES_READ):
            if not self.epoll.poll(PATIENCE_S):
                raise TimeoutError("the daemon does not answer")
        self.put32(CLIENT_WAITS, 0)

    def next_bytes(self, limit):
        """Returns the next bytes of the daemon, if there are some. Raises EOFError if it has closed the connection."""
        in_memory = self.get(RESPONSES_WRITTEN) != self.get(RESPONSES_READ)
        if not in_memory or not self.socket_read:
            # The daemon sends on the socket until it begins to write to the memory.
            self.socket.settimeout(0)
            try:
                data = self.socket.recv(limit)
                if data:
                    return data
                if not in_memory and self.get(RESPONSES_WRITTEN) == self.get(RESPONSES_READ):
                    raise EOFError("the daemon has closed the connection")
            except BlockingIOError:
                pass
            finally:
                self.socket.settimeout(PATIENCE_S)
            self.socket_read = in_memory
        return self.read(limit)

    # ---- Frames ----

    def next_call(self, verb, **members):
        self.number += 1
        return call(self.number, verb, members)

    def take(self, data):
        if not data:
            raise EOFError("the daemon has closed the connection")
        self.received += data
        if not self.greeted and len(self.received) >= len(GREETING):
            assert self.received.startswith(GREETING), self.received
            self.received = self.received[len(GREETING):]
            self.greeted = True

    def whole(self):
        return len(self.received) >= 4 and len(self.received) >= 4 + struct.unpack_from(">I", self.received)[0]

    def frame(self):
        """Removes one frame. Returns its kind, number and body."""
        size, kind, number = struct.unpack_from(">IBQ", self.received)
        body, self.received = self.received[13:4 + size], self.received[4 + size:]
        return kind, number, body

    def send(self, verb, **members):
        """Sends a call in the memory. Returns its number."""
        rest = self.next_call(verb, **members)
        while rest := self.write(rest):
            pass
        return self.number

    def receive(self, limit=1 << 20):
        """Receives one frame from the memory, at most `limit` bytes at a time."""
        while not self.whole():
            self.wait()
            if data := self.next_bytes(limit):
                self.take(data)
        return self.frame()
