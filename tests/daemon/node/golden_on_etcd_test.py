"""The recorded cases of DynamoDB (tests/golden), replayed against a daemon with a store on etcd.

The suite `wire` replays all of them on the fake etcd. Without ROCKLOCK_TEST_ALL, only some files are
replayed here.
"""

import os

from cluster import etcd_is_usable
from golden_replay_test import FILES, Daemon, Tap, replay_over
from on_etcd import shared

SOME = ("batch", "conditions", "put-get", "transact")


def main():
    tap = Tap()
    if not etcd_is_usable():
        print("1..0 # SKIP etcd is not installed, or this build has no client for it")
        return
    shared.start()
    daemon = Daemon(*shared.store())
    try:
        everything = os.environ.get("ROCKLOCK_TEST_ALL") == "1"
        files = [file for file in FILES if everything or file.stem in SOME]
        replay_over("etcd", ["--unix", daemon.socket], tap, daemon.folder, files)
    finally:
        status = daemon.stop()
        shared.stop()
    tap.line(status == 0, "the daemon leaves in order")
    tap.end()


if __name__ == "__main__":
    main()
