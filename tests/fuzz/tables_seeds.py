#!/usr/bin/python3
"""Writes inputs for the fuzzer of tables to begin with: the recorded cases that are short enough.

    tests/fuzz/tables_seeds.py FOLDER [WORDS]

WORDS is a file that gets the names of members, for libFuzzer's dictionary.
"""

import json
import pathlib
import sys

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
# What the fuzzer keeps.
LONGEST = 4096


def cases():
    """Of each recorded case its requests, in order."""
    for path in sorted(GOLDEN.glob("*.jsonl")):
        steps = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            steps.setdefault(record["case"], []).append(record)
        yield from steps.items()


def members(value):
    if isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from members(member)
    elif isinstance(value, list):
        for element in value:
            yield from members(element)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    names = set()
    for case, steps in cases():
        # A body of other bytes is sent as it is.
        bodies = [(step["op"], step["request"]) for step in steps if "request" in step]
        text = "".join(f"{operation} {json.dumps(body, separators=(',', ':'))}\n"
                       for operation, body in bodies)
        if len(text) > LONGEST or '"$repeat"' in text:
            continue
        (folder / f"seed-{case.replace('/', '-')}.bytes").write_text(text, encoding="utf-8")
        for operation, body in bodies:
            names.add(operation)
            # Not those of items.
            names.update(name for name in members(body) if name[:1].isupper() and name.isalpha())
    if len(sys.argv) > 2:
        lines = "".join(f'"{name}"\n' for name in sorted(filter(None, names)))
        pathlib.Path(sys.argv[2]).write_text(lines, encoding="utf-8")


main()
