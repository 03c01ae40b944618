"""Two network namespaces, connected by a virtual cable, as two hosts."""

import itertools
import os
import shutil
import subprocess
import unittest

numbers = itertools.count()


class TwoNetworks:
    """The hosts have the addresses[0] and addresses[1]. Needs root and the program `ip`."""

    addresses = ("10.213.7.1", "10.213.7.2")

    def __init__(self, folder, **names):
        """`names`: for each name, the number of the host. Programs on both hosts find the address
        of the host by this name.
        """
        if os.getuid() != 0 or not (shutil.which("ip") and shutil.which("unshare")):
            raise unittest.SkipTest("network namespaces need root, and the programs ip and unshare")
        stem = f"rl{os.getpid()}n{next(numbers)}"
        self.spaces = (f"{stem}a", f"{stem}b")
        cables = (f"{stem}a"[-15:], f"{stem}b"[-15:])
        self.hosts = folder / "hosts"
        lines = ["127.0.0.1 localhost", *(f"{self.addresses[host]} {name}" for name, host in names.items())]
        self.hosts.write_text("\n".join(lines) + "\n")
        try:
            for space in self.spaces:
                self.ip("netns", "add", space)
            self.ip("link", "add", cables[0], "netns", self.spaces[0], "type", "veth",
                    "peer", "name", cables[1], "netns", self.spaces[1])
            for space, cable, address in zip(self.spaces, cables, self.addresses):
                self.ip("-n", space, "address", "add", f"{address}/24", "dev", cable)
                self.ip("-n", space, "link", "set", cable, "up")
                self.ip("-n", space, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            self.close()
            raise unittest.SkipTest(f"no network namespaces can be created: {error.stderr.strip()}") from error

    @staticmethod
    def ip(*words):
        return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout

    def on(self, host):
        """Returns the words that run a command on a host. The command keeps its pid."""
        return ("ip", "netns", "exec", self.spaces[host], "unshare", "--mount", "sh", "-c",
                f'mount --bind {self.hosts} /etc/hosts && exec "$@"', "sh")

    def close(self):
        for space in self.spaces:
            subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)
