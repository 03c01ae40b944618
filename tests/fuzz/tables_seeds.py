#!/usr/bin/python3
"""Writes the initial inputs of the table fuzzer: the recorded cases that are short enough.

    tests/fuzz/tables_seeds.py FOLDER [WORDS]

If WORDS is given, this file gets the names of members for libFuzzer's dictionary.
"""

import json
import pathlib
import sys

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
# The maximum length of an input that the fuzzer keeps.
LONGEST = 4096


def cases():
    """Yields the requests of each recorded case, in order."""
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
        # Only requests with a JSON body; raw bodies are left out.
        bodies = [(step["op"], step["request"]) for step in steps if "request" in step]
        text = "".join(f"{operation} {json.dumps(body, separators=(',', ':'))}\n"
                       for operation, body in bodies)
        if len(text) > LONGEST or '"$repeat"' in text:
            continue
        (folder / f"seed-{case.replace('/', '-')}.bytes").write_text(text, encoding="utf-8")
        for operation, body in bodies:
            names.add(operation)
            # Names of members, but not of items' attributes.
            names.update(name for name in members(body) if name[:1].isupper() and name.isalpha())
    if len(sys.argv) > 2:
        lines = "".join(f'"{name}"\n' for name in sorted(filter(None, names)))
        pathlib.Path(sys.argv[2]).write_text(lines, encoding="utf-8")


main()
