"""Includes are in sorted groups, separated by blank lines.

The groups are: the file's own header, C headers of the system, the standard library, Boost and other
libraries, <rocklock/...>, and other headers of this repository.

    include_order.py --fix FILE...
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]')
LIBRARIES = ("boost/", "rocksdb/", "openssl/", "grpcpp/", "etcd.")


def group(path, line):
    """Returns the number of the group that an include line of the file belongs to."""
    delimiter, name = INCLUDE.match(line).groups()
    own = re.sub(r"_test$", "", path.stem)
    if pathlib.Path(name).stem == own and path.suffix == ".cpp" and (
            delimiter == '"' or name.startswith("rocklock/")):
        return 0
    if delimiter == '"':
        return 5
    if name.startswith("rocklock/"):
        return 4
    if name.startswith(LIBRARIES):
        return 3
    return 1 if name.endswith(".h") else 2


def ordered(path, text):
    """Returns the text with its first block of includes sorted."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if INCLUDE.match(line)), None)
    if first is None:
        return text
    end = first
    while end < len(lines) and (not lines[end].strip() or INCLUDE.match(lines[end])):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    groups = {}
    for line in lines[first:end]:
        if line.strip():
            groups.setdefault(group(path, line), []).append(line)
    block = []
    for number in sorted(groups):
        # The order of clang-format.
        block += [""] * bool(block) + sorted(set(groups[number]))
    return "\n".join(lines[:first] + block + lines[end:]) + "\n"


def check_include_order(tree):
    """Includes are grouped and sorted, as scripts/format does it."""
    return [f"{path}: includes out of order (scripts/format)" for path in tree.sources()
            if ordered(path, tree.text(path)) != tree.text(path)]


def main():
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        text = path.read_text(encoding="utf-8")
        if ordered(path, text) != text:
            path.write_text(ordered(path, text), encoding="utf-8")


if __name__ == "__main__":
    main()
