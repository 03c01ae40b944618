#!/usr/bin/python3
"""Writes inputs for the fuzzer to begin with: conversations that make sense, over HTTP.

    tests/fuzz/seeds.py FOLDER
"""

import json
import pathlib
import sys

LOCK = [{"Resource": "orders/1", "Mode": "write"}]
OPEN = ("OpenSession", {"Principal": "ann", "LeaseMs": 1000, "Bound": "connection", "Note": "n",
                        "Metadata": {"k": "v"}, "RequestId": "o1"})
PROOF = {"Session": "A" * 22, "Secret": "B" * 22}

CONVERSATIONS = {
    "open": [OPEN, OPEN],
    "acquire": [("Acquire", {"Principal": "ann", "LeaseMs": 500, "Locks": LOCK}),
                ("Acquire", {"Principal": "bob", "LeaseMs": 500, "Locks": LOCK}),
                ("ShowLock", {"Resource": "orders/1"})],
    "wait": [("Acquire", {"Principal": "ann", "LeaseMs": 500, "Locks": LOCK, "RequestId": "a"}),
             ("Acquire", {"Principal": "bob", "LeaseMs": 500, "Locks": LOCK, "PatienceMs": -1}),
             ("Acquire", {"Principal": "bob", "LeaseMs": 500, "Locks": LOCK, "PatienceMs": 50})],
    "set": [("Acquire", {"Principal": "ann", "Locks": [
        {"Resource": "a/b", "Subtree": True, "To": "edit"}, {"Resource": "c", "Mode": "read"},
        {"Resource": "d", "Mode": "exclusive"}], "MaxHoldMs": 900, "Held": "count"}),
            ("ListLocks", {"Prefix": "a", "Limit": 1}), ("ListSessions", {"Limit": 1})],
    "classes": [("PutClass", {"Pattern": "orders/*", "Policy": "read_write", "Steal": "anyone",
                              "LeaseMs": 1000, "MaxLeaseMs": 5000, "MaxHoldMs": 100, "MinHoldMs": 1,
                              "LockDelayMs": 2, "QueueLimit": 2,
                              "Dependants": [{"Resource": "customers", "Mode": "read"}]}),
                ("PutClass", {"Pattern": "permits/*", "Permits": 3}),
                ("Acquire", {"Principal": "ann", "Locks": [{"Resource": "permits/x", "Permits": 2}]}),
                ("Acquire", {"Principal": "bob", "Locks": [{"Resource": "permits/x", "Permits": 2}],
                             "PatienceMs": -1}),
                ("Acquire", {"Principal": "ann", "Locks": [{"Resource": "orders/1", "To": "edit"}]}),
                ("DeleteClass", {"Pattern": "orders/*"}), ("ListClasses", {})],
    "session": [(verb, {**PROOF, **members}) for verb, members in [
        ("RenewSession", {"LeaseMs": 700, "Note": "x"}), ("Convert", {"Grant": 1, "Mode": "read"}),
        ("Release", {"Grant": 1}), ("Transfer", {"Grant": 1, "To": "C" * 22}),
        ("Steal", {"Grant": 1, "Reason": "r"}), ("CloseSession", {})]],
    "break": [("Acquire", {"Principal": "ann", "Locks": LOCK}), ("Break", {"Grant": 1, "Reason": "r"}),
              ("Ping", {}), ("Nonsense", {})],
    "watch": [("Watch", {"Prefix": "o", "After": 0, "Limit": 5, "PatienceMs": 10})],
}


def request(verb, members):
    body = json.dumps(members, separators=(",", ":")).encode()
    return (f"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: Rocklock_20261121.{verb}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, calls in CONVERSATIONS.items():
        text = b"".join(request(*call) for call in calls)
        (folder / f"seed-{name}").write_bytes(b"\x00" + text)
    (folder / "seed-get").write_bytes(b"\x01GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nHEAD / HTTP/1.0\r\n\r\n")
    (folder / "seed-chunks").write_bytes(
        b"\x02POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\nExpect: 100-continue\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n")


main()
