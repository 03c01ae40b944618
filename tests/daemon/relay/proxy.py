"""A TCP proxy with the faults of a network: it can stop each direction, and end or refuse connections."""

import contextlib
import socket
import threading

TO_TARGET, TO_CLIENT = 0, 1


class Proxy:
    """Passes bytes between its port and the port `target`, both of this machine."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.mutex = threading.Lock()
        self.pairs = set()
        # Set while bytes pass in this direction.
        self.passes = [threading.Event(), threading.Event()]
        self.refuses = False
        self.resume()
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self, *directions):
        """Holds back the bytes of these directions, by default of both, until resume()."""
        for direction in directions or (TO_TARGET, TO_CLIENT):
            self.passes[direction].clear()

    def resume(self):
        for event in self.passes:
            event.set()

    def reset(self):
        """Ends all connections."""
        with self.mutex:
            pairs = list(self.pairs)
        for pair in pairs:
            self._end(pair)

    def cut(self):
        """Ends all connections, and refuses new ones until mend()."""
        self.refuses = True
        self.reset()

    def mend(self):
        self.refuses = False
        self.resume()

    def close(self):
        # A thread that is blocked in accept() keeps the socket open after close().
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.refuses = True
        self.reset()
        self.resume()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.refuses:
                    raise ConnectionRefusedError
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = (near, far)
            with self.mutex:
                self.pairs.add(pair)
            if self.refuses:
                self._end(pair)
            for direction in (TO_TARGET, TO_CLIENT):
                threading.Thread(target=self._pass, args=(pair, direction), daemon=True).start()

    def _pass(self, pair, direction):
        source, destination = pair if direction == TO_TARGET else pair[::-1]
        try:
            while data := source.recv(65536):
                self.passes[direction].wait()
                destination.sendall(data)
        except OSError:
            pass
        # A network that loses bytes also loses the end of the connection.
        self.passes[direction].wait()
        self._end(pair)

    def _end(self, pair):
        """Ends a connection. Its threads notice this; the sockets are closed with their last references."""
        for end in pair:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self.mutex:
            self.pairs.discard(pair)
