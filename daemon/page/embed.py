#!/usr/bin/python3
"""Writes the files of the page as C++: embed.py OUTPUT FILE..."""

import pathlib
import sys


def literal(data):
    """C++ string literals of a line each: octal escapes for all that is not plain."""
    lines = []
    for line in data.splitlines(keepends=True):
        text = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in line)
        lines.append(f'    "{text}"')
    return "\n".join(lines)


def main():
    parts = ['#include "daemon/api/page_files.hpp"\n', "namespace rocklock::page {\n"]
    for path in map(pathlib.Path, sys.argv[2:]):
        name = path.name.removeprefix("page.")
        parts.append(f"const std::string_view {name} =\n{literal(path.read_bytes())};\n")
    parts.append("}  // namespace rocklock::page\n")
    pathlib.Path(sys.argv[1]).write_text("\n".join(parts), encoding="ascii")


if __name__ == "__main__":
    main()
