"""Observes all revisions of the keys of a store, through the JSON gateway of etcd."""

import contextlib
import http.client
import json
import threading
import time

from cluster import STORE, ask_member, decoded, encoded
from judge import Chain

# A member that is paused sends nothing.
SILENCE_S = 3


class Observer(threading.Thread):
    """Reads the revisions from the first one on, from any member that answers."""

    def __init__(self, ports):
        super().__init__(daemon=True)
        self.ports = ports
        self.chain = Chain(STORE.encode())
        # The changes of all revisions up to this one were read.
        self.revision = 0
        self.reconnects = 0
        self.problems = []
        self.stopping = False

    def run(self):
        while not self.stopping:
            port = self.ports[self.reconnects % len(self.ports)]
            self.reconnects += 1
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SILENCE_S)
            with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                self.watch(connection)
            time.sleep(0.02)

    def watch(self, connection):
        wanted = {"key": encoded(STORE), "range_end": encoded(STORE[:-1] + "0"), "start_revision": self.revision + 1}
        connection.request("POST", "/v3/watch", json.dumps({"create_request": wanted}))
        with connection.getresponse() as response:
            for line in response:
                if self.stopping:
                    return
                self.read(json.loads(line))

    def read(self, message):
        result = message.get("result")
        if result is None or result.get("canceled"):
            if "compact_revision" in str(message):
                self.problems.append(f"history was compacted before it was observed: {message}")
                self.stopping = True
            raise http.client.HTTPException(message)
        revisions = {}
        for event in result.get("events", ()):
            pair = event["kv"]
            deleted = event.get("type") == "DELETE"
            change = (decoded(pair["key"]), None if deleted else int(pair["create_revision"]),
                      decoded(pair.get("value", "")))
            revisions.setdefault(int(pair["mod_revision"]), []).append(change)
        for revision in sorted(revisions):
            self.chain.add(revision, revisions[revision])
            self.revision = revision

    def await_quiet(self, timeout_s=60):
        """Waits until all revisions were read, while the store does not change."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until and not self.problems:
            with contextlib.suppress(OSError, ValueError, KeyError, http.client.HTTPException):
                found = ask_member(self.ports[0], "/v3/kv/range", {"key": encoded(STORE + "commit")})
                if int(found["kvs"][0]["mod_revision"]) <= self.revision:
                    return
            time.sleep(0.05)
        self.problems.append(f"the observer has read only the revisions up to {self.revision}")
