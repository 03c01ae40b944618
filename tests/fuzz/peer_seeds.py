#!/usr/bin/python3
"""Writes the initial inputs of the fuzzer of connections between daemons.

    tests/fuzz/peer_seeds.py FOLDER [WORDS]

If WORDS is given, this file gets words for libFuzzer's dictionary.
"""

import pathlib
import struct
import sys


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def string(text):
    return varint(len(text)) + text


def message(mark, rest, version=1, status=0):
    return b"\xf5" + mark + bytes([version, status]) + struct.pack(">H", len(rest)) + rest


def frame(kind, channel, payload=b""):
    return struct.pack(">IBI", len(payload), kind, channel) + payload


PREFACE = message(b"RLP", string(b"web1") + string(b"0f3c9a52-6f5b-4c0c-9d7e-1f2a3b4c5d6e") + string(b"0.1.0"))
ANSWER = message(b"RLA", string(b"0.1.0") + string(b""))
PROCESS = varint(4242) + varint(987654)
CLIENT = struct.pack(">I", 1000) + string(b"ann") + PROCESS + b"\0"
FRAMES = [frame(1, 1, CLIENT), frame(2, 1, b"GET / HTTP/1.1\r\n\r\n"), frame(3, 1), frame(4, 1, b"\x05"),
          frame(5, 1, b"\x80\x80\x04"), frame(6, 1, b"too many connections"), frame(7, 0, PROCESS),
          frame(8, 0, PROCESS), frame(9, 0, PROCESS), frame(10, 0, b"\x07" + struct.pack(">I", 1000) + varint(4242)),
          frame(11, 0, b"\x07" + PROCESS + b"\1")]
NODES = [b"web1\n", b"web1\nweb2 certificate=web2.example.org resources=orders/,stock/ rights=locks # no tables\n",
         b"a rights=locks,tables\n\n# nothing\n"]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    inputs = [b"\0" + PREFACE, b"\1" + ANSWER, b"\0" + PREFACE + b"".join(FRAMES), b"\1" + ANSWER + b"".join(FRAMES),
              b"\0" + message(b"RLP", b"", version=2), b"\1" + message(b"RLA", string(b"0.1.0") + string(b"why"), status=1),
              *(b"\0" + PREFACE + one for one in FRAMES), *(b"\2" + text for text in NODES)]
    for number, data in enumerate(inputs):
        (folder / f"seed-{number:02}.bytes").write_bytes(data)
    if len(sys.argv) > 2:
        words = ["\\xf5RLP\\x01\\x00", "\\xf5RLA\\x01\\x00", "certificate=", "resources=", "rights=", "locks", "tables"]
        pathlib.Path(sys.argv[2]).write_text("".join(f'"{word}"\n' for word in words))


if __name__ == "__main__":
    main()
