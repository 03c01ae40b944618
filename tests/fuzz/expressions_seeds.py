#!/usr/bin/python3
"""Writes the initial inputs of the expression fuzzer: the expressions of the recorded cases, and
some with the names and values that the player knows.

    tests/fuzz/expressions_seeds.py FOLDER [WORDS]

If WORDS is given, this file gets words and placeholders for libFuzzer's dictionary.
"""

import hashlib
import json
import pathlib
import sys

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
# The order defines the first byte of an input, as the player reads it.
KINDS = ["ConditionExpression", "UpdateExpression", "KeyConditionExpression", "FilterExpression",
         "ProjectionExpression"]
MADE = {
    "ConditionExpression": [
        "attribute_exists(#s) AND NOT (#n < :n OR attribute_not_exists(l[1]))",
        "contains(ss, :s) OR begins_with(#s, :s) AND attribute_type(ss, :T)",
        "#n BETWEEN :n AND :h", "#r IN (:n, :s, :b)", "size(#m.a.x[0]) <> :n AND #d = :s",
        "(b = :b) AND (t = :t OR u = :u) AND m = :m AND l = :l AND ss = :ss AND ns = :ns"],
    "UpdateExpression": [
        "SET #n = #n + :n, #m.b = if_not_exists(nothing, :n) - :n REMOVE l[0], #m.a.x[0].y",
        "SET l = list_append(l, :l), l[9] = :s ADD ns :ns, #n :h DELETE ss :ss",
        "REMOVE #d ADD other :n", "SET #m.a = :m, e = :e, u = :u"],
    "KeyConditionExpression": [
        "pk = :s AND sk BETWEEN :n AND :n", "pk = :s AND begins_with(sk, :s)", "sk >= :n AND pk = :s"],
    "FilterExpression": ["#n > :n AND (attribute_type(ss, :T) OR NOT t = :t)"],
    "ProjectionExpression": ["#s, #m.a.x[0].y, l[2][0], #d, l[0]"],
}
WORDS = ["AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE", "attribute_exists(",
         "attribute_not_exists(", "attribute_type(", "begins_with(", "contains(", "size(",
         "if_not_exists(", "list_append(", "<>", "<=", ">=",
         *(f"#{name}" for name in "snmldr"),
         *(f":{value}" for value in ["s", "e", "n", "h", "b", "t", "u", "l", "m", "ss", "ns", "bs", "T"])]


def recorded(value):
    """Yields a pair of kind and text for each expression in a request."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name in KINDS and isinstance(member, str):
                yield name, member
            yield from recorded(member)
    elif isinstance(value, list):
        for element in value:
            yield from recorded(element)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    texts = {(kind, text) for kind, made in MADE.items() for text in made}
    for path in GOLDEN.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            texts.update(recorded(json.loads(line).get("request")))
    for kind, text in texts:
        data = bytes([KINDS.index(kind)]) + text.encode()
        (folder / f"seed-{hashlib.sha1(data).hexdigest()}.bytes").write_bytes(data)
    if len(sys.argv) > 2:
        lines = "".join(f'"{word}"\n' for word in WORDS)
        pathlib.Path(sys.argv[2]).write_text(lines, encoding="utf-8")


main()
