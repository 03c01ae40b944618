#!/usr/bin/python3
"""Writes the initial inputs of the fuzzer: valid conversations, over HTTP and in frames.

    tests/fuzz/client_seeds.py FOLDER [WORDS]

If WORDS is given, this file gets entries for libFuzzer's dictionary that mutations would hardly
find: the numbers of members and verbs, and the credentials of sessions. Frames are encoded here as
docs/protocol.md describes, independently of the code under test.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import struct
import sys

GREETING = b"\xf5RL\x01"
WORDS = {
    "Mode": ["read", "write", "exclusive"], "Held": ["refuse", "join", "count"],
    "Bound": ["none", "process", "connection"], "Steal": ["never", "anyone", "idle", "ask"],
    "Policy": ["exclusive_write", "exclusive_read", "read_write"], "To": ["read", "edit"],
}


def session(number):
    """Returns the id of a session. play_client() numbers its sessions, and the store's key is
    zeros.
    """
    return number.to_bytes(16, "big")


def proof(number):
    return {"Session": session(number),
            "Secret": hmac.new(bytes(32), session(number), hashlib.sha256).digest()}


def grant(number):
    """Returns a grant id. The numbers of a store begin at the second in which it is created."""
    return (1767225600 << 21) + number


WRITE = {"Resource": "orders/1", "Mode": "write"}
READ = {"Resource": "orders/1", "Mode": "read"}
ANN = {"Principal": "ann", "LeaseMs": 500}
BOB = {"Principal": "bob", "LeaseMs": 900}
OPEN = ("OpenSession", {"Principal": "ann", "LeaseMs": 1000, "Bound": "connection", "Note": "n",
                        "Metadata": {"k": "v"}, "RequestId": "o1"})


def acquire(who, *locks, **more):
    return ("Acquire", {**who, "Locks": list(locks), **more})


CONVERSATIONS = {
    "open": [OPEN, OPEN, ("OpenSession", {"Principal": "bob"}), ("ListSessions", {"Limit": 1}),
             ("ListSessions", {"Principal": "bob"}), ("ShowSession", proof(1)),
             ("RenewSession", {**proof(1), "LeaseMs": 700, "Note": "x", "Active": True}),
             ("RenewSession", {**proof(2), "Metadata": {"a": "b", "c": ""}, "Rebind": True}),
             ("JoinProcess", {**proof(2), "Pid": 1}), ("CloseSession", proof(1)),
             ("CloseSession", proof(1)), ("CloseSession", {**proof(2), "Secret": bytes(32)})],
    "acquire": [acquire(ANN, WRITE), acquire(BOB, WRITE), ("ShowLock", {"Resource": "orders/1"}),
                ("Release", {**proof(1), "Grant": grant(0)}),
                ("Release", {**proof(1), "Grant": grant(0)}), acquire(BOB, WRITE),
                ("ListHistory", {"Resource": "orders/1", "Limit": 1}),
                ("ListHistory", {"Resource": "orders/1"})],
    "wait": [acquire(ANN, WRITE, RequestId="a"), acquire(BOB, WRITE, PatienceMs=-1),
             acquire(BOB, WRITE, PatienceMs=50), acquire(ANN, WRITE, RequestId="a"),
             ("ListWaits", {}), ("ListLocks", {"Contended": True, "Asker": "ann"}),
             ("RenewSession", proof(1)), ("Release", {**proof(1), "Grant": grant(0)})],
    "set": [acquire({"Principal": "ann"}, {"Resource": "a/b", "Subtree": True, "To": "edit"},
                    {"Resource": "c", "Mode": "read"}, {"Resource": "d", "Mode": "exclusive"},
                    MaxHoldMs=900, Held="count"),
            ("ListLocks", {"Prefix": "a", "Limit": 1}),
            ("ListLocks", {"Limit": 1, "Next": f"{grant(0)}:a/b"}),
            ("ListLocks", {"Principal": "ann", "Session": session(1), "Class": "*"}),
            ("Convert", {**proof(1), "Grant": grant(0), "Mode": "read"}),
            ("Convert", {**proof(1), "Grant": grant(0), "PatienceMs": 100, "RequestId": "c",
                         "Locks": [{"Resource": "c", "Mode": "write"}]}),
            acquire(proof(1), {"Resource": "c", "Mode": "read"}, Held="join"),
            acquire(proof(1), {"Resource": "a/b/c"}, Held="count", Note="n", Metadata={"m": "n"}),
            acquire(ANN, {"Resource": "c"}, {"Resource": "e"}, Any=True, Priority=1, PatienceMs=9)],
    "classes": [("PutClass", {"Pattern": "orders/*", "Policy": "read_write", "Steal": "anyone",
                              "LeaseMs": 1000, "MaxLeaseMs": 5000, "MaxHoldMs": 100, "MinHoldMs": 1,
                              "LockDelayMs": 2, "QueueLimit": 2, "MaxPriority": 3,
                              "Dependants": [{"Resource": "customers", "Mode": "read"}]}),
                ("PutClass", {"Pattern": "permits/*", "Permits": 3}),
                acquire(ANN, {"Resource": "permits/x", "Permits": 2}),
                acquire(BOB, {"Resource": "permits/x", "Permits": 2}, PatienceMs=-1),
                acquire({"Principal": "ann"}, {"Resource": "orders/1", "To": "edit"}),
                acquire({"Principal": "bob"}, {"Resource": "permits/y"}),
                ("DeleteClass", {"Pattern": "orders/*"}), ("ListClasses", {})],
    "steal": [("PutClass", {"Pattern": "orders/*", "Steal": "ask", "StealAfterMs": 5}),
              acquire({"Principal": "ann"}, WRITE), ("OpenSession", {"Principal": "bob"}),
              ("Steal", {**proof(2), "Grant": grant(0), "Reason": "r"}),
              ("RenewSession", {**proof(1), "Active": True}),
              ("AnswerWanted", {**proof(1), "Grant": grant(0), "Allow": False}),
              ("Steal", {**proof(2), "Grant": grant(0), "Reason": "r", "Force": True}),
              ("RenewSession", proof(1)), ("Release", {**proof(1), "Grant": grant(0)}),
              ("Transfer", {**proof(2), "Grant": grant(1), "To": session(1)}),
              ("OpenSession", {"Principal": "cleo"}),
              ("Transfer", {**proof(2), "Grant": grant(1), "To": session(3)}),
              ("Break", {"Grant": grant(2), "Reason": "r"}),
              ("Reacquire", {**proof(3), "Grant": grant(2)}), ("ListAudit", {"Limit": 9}),
              ("ListAudit", {"After": 1})],
    "deadlock": [("OpenSession", {"Principal": "ann"}), ("OpenSession", {"Principal": "bob"}),
                 acquire(proof(1), {"Resource": "a"}), acquire(proof(2), {"Resource": "b"}),
                 acquire(proof(1), {"Resource": "b"}, PatienceMs=100),
                 acquire(proof(2), {"Resource": "a"}, PatienceMs=100), ("ListDeadlocks", {}),
                 ("ListWaits", {}), ("CloseSession", proof(1))],
    "break": [acquire(ANN, WRITE), ("Break", {"Grant": grant(0), "Reason": "r"}), ("Ping", {}),
              ("ShowStatistics", {}), ("ListOutliers", {"Limit": 3}),
              ("Backup", {"Directory": "/x"}), ("Nonsense", {})],
    "readers": [acquire(ANN, READ), acquire(BOB, READ), ("OpenSession", {"Principal": "cleo"}),
                acquire(proof(3), WRITE, PatienceMs=700), ("ShowLock", {"Resource": "orders/1"}),
                ("Convert", {**proof(1), "Grant": grant(0), "Mode": "exclusive"})],
    "watch": [("Watch", {"Prefix": "o", "After": 0, "Limit": 5, "PatienceMs": 10}),
              acquire(ANN, WRITE), ("Watch", {"After": 1, "PatienceMs": 1000}),
              ("Watch", {"After": 2**53 - 1})],
}


# ---- HTTP ----

def as_json(value):
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
    if isinstance(value, dict):
        return {name: as_json(member) for name, member in value.items()}
    return [as_json(element) for element in value] if isinstance(value, list) else value


def request(verb, members):
    body = json.dumps(as_json(members), separators=(",", ":")).encode()
    return (f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"X-Amz-Target: Rocklock_20261121.{verb}\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode() + body


# ---- Frames ----

def number_of(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value & 0x7FFF


def varint(value):
    result = b""
    while value >= 0x80:
        result += bytes([value & 0x7F | 0x80])
        value >>= 7
    return result + bytes([value])


def block(value):
    return varint(len(value)) + value


def zigzag(value):
    return varint(2 * value if value >= 0 else -2 * value - 1)


def value_of(name, value):
    """Returns the encoded value, and its wire type: 1 for bytes, otherwise 0."""
    if isinstance(value, bool):
        return varint(int(value)), 0
    if isinstance(value, int):
        return (zigzag(value) if name.endswith("Ms") or name == "Pid" else varint(value)), 0
    if isinstance(value, bytes):
        return block(value), 1
    if name == "Metadata":
        pairs = b"".join(block(text.encode()) for pair in value.items() for text in pair)
        return block(varint(len(value)) + pairs), 1
    if isinstance(value, list):
        elements = b"".join(block(members_of(element)) for element in value)
        return block(varint(len(value)) + elements), 1
    if value in WORDS.get(name, []):
        return varint(WORDS[name].index(value)), 0
    return block(value.encode()), 1


def members_of(members):
    result = b""
    for name, value in members.items():
        written, is_bytes = value_of(name, value)
        result += struct.pack(">H", number_of(name) * 2 + is_bytes) + written
    return result


def frame(kind, number, body=b""):
    return struct.pack(">IBQ", 9 + len(body), kind, number) + body


def call(number, verb, members):
    return frame(1, number, struct.pack(">H", number_of(verb)) + members_of(members))


# ---- All inputs ----

HANGS_UP, CLOSES, OVER_TCP, TAKES_LATE = 0, 1, 2, 4


def time(power):
    """Returns the bits of a pause after each piece: 2 to this power milliseconds, up to 2^30."""
    return (power + 1) << 3


def inputs():
    for place, (name, calls) in enumerate(CONVERSATIONS.items()):
        http = b"".join(request(*each) for each in calls)
        frames = GREETING + b"".join(call(i + 1, *each) for i, each in enumerate(calls))
        yield f"http-{name}", 0, CLOSES, http
        yield f"frames-{name}", 0, CLOSES, frames
        # In pieces while time passes; with late reading; and over TCP, where the kernel cannot
        # identify the client.
        yield f"http-{name}-slowly", 200, CLOSES | time(place % 8), http
        yield f"frames-{name}-slowly", 40, CLOSES | time(place % 8), frames
        yield f"frames-{name}-late", 255, HANGS_UP | TAKES_LATE, frames
        yield f"http-{name}-tcp", 0, OVER_TCP | CLOSES, http

    wait = call(1, *acquire(ANN, WRITE)) + call(2, *acquire(BOB, WRITE, PatienceMs=-1))
    yield "frames-cancel", 0, CLOSES, GREETING + wait + frame(2, 2) + frame(2, 9)
    yield "frames-twice", 0, CLOSES, GREETING + wait + call(2, "Ping", {})
    yield "frames-kind", 0, CLOSES, GREETING + frame(3, 1)
    yield "frames-long", 0, CLOSES, GREETING + b"\xff" * 20
    yield "frames-version", 0, CLOSES, b"\xf5RL\x02" + wait
    yield "frames-verb", 0, CLOSES, GREETING + frame(1, 1, b"\x00\x00") + frame(1, 2, b"\x00")

    yield "http-get", 0, CLOSES, (
        b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\nGET /readyz HTTP/1.1\r\n\r\n"
        b"GET /nowhere HTTP/1.1\r\n\r\nHEAD / HTTP/1.0\r\n\r\n")
    yield "http-page", 0, CLOSES | OVER_TCP, (
        b"GET /page.js HTTP/1.1\r\nHost: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:80\r\n"
        b"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n"
        b"GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: null\r\nConnection: close\r\n\r\n")
    yield "http-chunks", 0, CLOSES, (
        b"POST / HTTP/1.1\r\nX-Amz-Target: Rocklock_20261121.Ping\r\nExpect: 100-continue\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n")
    yield "http-events", 0, CLOSES | TAKES_LATE, request(*acquire(ANN, WRITE)) + (
        b"GET /events?prefix=o%72&after=0 HTTP/1.1\r\nLast-Event-ID: 1\r\n\r\n")


def words():
    """Returns the encoded beginnings of calls and members, and the credentials of sessions."""
    for calls in CONVERSATIONS.values():
        for verb, members in calls:
            yield struct.pack(">H", number_of(verb))
            for name, value in members.items():
                yield members_of({name: value})[:2]
                for inner in value if name in ("Locks", "Dependants") else []:
                    yield from (members_of({key: inner[key]})[:2] for key in inner)
    for number in 1, 2, 3:
        yield members_of(proof(number))
        yield session(number)
        yield json.dumps(as_json(proof(number)), separators=(",", ":"))[1:-1].encode()
    for number in 0, 1, 2:
        yield varint(grant(number))
        yield str(grant(number)).encode()


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, piece, manner, what in inputs():
        (folder / f"seed-{name}.bytes").write_bytes(bytes([piece, manner]) + what)
    if len(sys.argv) > 2:
        escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in words())
        lines = "".join(f'"{word}"\n' for word in dict.fromkeys(escaped))
        pathlib.Path(sys.argv[2]).write_text(lines, encoding="ascii")


if __name__ == "__main__":
    main()
