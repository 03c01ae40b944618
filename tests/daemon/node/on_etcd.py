"""Tests of a daemon in memory, repeated on a store on etcd."""

import pathlib
import shutil
import tempfile
import unittest
import uuid

from cluster import Member, etcd_is_usable
from harness import wait_until
from relayed import free_port


class OneMember:
    """A member of etcd that all tests of a module share. Each test has a prefix of its own."""

    def __init__(self):
        self.folder = None
        self.member = None

    def start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rl-", dir="/tmp"))
        client, peer = free_port(), free_port()
        self.member = Member(self.folder, "m0", client, peer, f"m0=http://127.0.0.1:{peer}")
        self.member.start()
        wait_until(self.member.answers, "etcd answers")

    def stop(self):
        if self.member is not None:
            self.member.kill()
            shutil.rmtree(self.folder)
            self.member = None

    def store(self):
        """Returns the options of a daemon with a new store."""
        return ("--store", f"etcd://127.0.0.1:{self.member.port}/t-{uuid.uuid4().hex}", "--node", "n")


shared = OneMember()


@unittest.skipUnless(etcd_is_usable(), "etcd is not installed, or this build has no client for it")
class OnEtcd:
    """A mixin for a test class. Its daemons in memory become daemons with a store on etcd."""

    def serve(self, *options):
        words = []
        for option in options:
            words += shared.store() if option == "--memory" else [option]
        process = super().serve(*words)
        # A daemon with a store on etcd listens before the store is open.
        line = ""
        while "the store is open" not in line:
            line = process.stderr.readline()
            self.assertTrue(line, "the daemon has ended")
        return process

