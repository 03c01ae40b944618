"""Limits of size: lines of a file, files of a folder, data members of a class.

If run as a program, it prints the values:

    python3 tests/tidy/sizes.py ROOT
"""

import collections
import json
import re
import subprocess
import sys

from tree import TOP_FOLDERS, Tree

MAX_LINES = 600
MAX_FILES = 45
MAX_MEMBERS = 25
CODE = tuple(folder for folder in TOP_FOLDERS if folder != "docs")
SOURCES = (".cpp", ".hpp", ".py", ".js", ".mjs", ".java", ".sh")
MACRO = re.compile(r"#define (ROCKLOCK_\w+)(\()?")
# A plain data record may have these functions.
OF_A_RECORD = re.compile(r"^(operator\b|~)")
SHOWN = 10


def lines_of_files(tree):
    return {path: len(tree.text(path).splitlines()) for path in tree.files(*SOURCES, under=CODE)}


def files_of_folders(tree):
    return collections.Counter(path.parent for path in tree.files(*SOURCES, under=CODE))


def macros(tree, paths):
    """Returns the options that make ctags ignore macros, with their arguments if there are any."""
    found = {}
    for path in paths:
        found.update(MACRO.findall(tree.text(path)))
    return [f"-I{name}{'+' if arguments else ''}" for name, arguments in sorted(found.items())]


def tags(tree, paths):
    """Returns the tags that ctags finds in C++ files, as dictionaries."""
    command = ["ctags", "--languages=C++", "--langmap=C++:.cpp.hpp", "--kinds-C++=+p",
               "--output-format=json", "--fields=+s", "--fields-C++=+{properties}",
               *macros(tree, paths), "-L", "-", "-f", "-"]
    done = subprocess.run(command, cwd=tree.root, input="\n".join(map(str, paths)), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ctags failed; scripts/setup installs universal-ctags: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def members_of_classes(tree):
    """Returns the number of data members of each class that is not a plain data record."""
    members = collections.Counter()
    functions = collections.defaultdict(list)
    for tag in tags(tree, tree.sources(under=CODE)):
        if tag.get("scopeKind") not in ("class", "struct"):
            continue
        owner = (tag["scope"], tag["path"])
        if tag["kind"] == "member" and "static" not in tag.get("properties", ""):
            members[owner] += 1
        elif tag["kind"] in ("function", "prototype"):
            functions[tag["scope"]].append(tag["name"])
    return {owner: count for owner, count in members.items()
            if any(is_behaviour(name, owner[0]) for name in functions[owner[0]])}


def is_behaviour(function, owner):
    return not OF_A_RECORD.match(function) and function != owner.rpartition("::")[2]


def check_file_lengths(tree):
    """No source file has more than MAX_LINES lines."""
    return [f"{path}: {lines} lines; at most {MAX_LINES} are allowed: split it by topic"
            for path, lines in lines_of_files(tree).items() if lines > MAX_LINES]


def check_folder_sizes(tree):
    """No folder has more than MAX_FILES source files."""
    return [f"{folder}: {count} source files; at most {MAX_FILES} are allowed: make subfolders"
            for folder, count in sorted(files_of_folders(tree).items()) if count > MAX_FILES]


def check_class_sizes(tree):
    """No class has more than MAX_MEMBERS data members; plain data records may."""
    return [f"{path}: {name} has {count} data members; at most {MAX_MEMBERS} are allowed: split it "
            "by responsibility"
            for (name, path), count in sorted(members_of_classes(tree).items())
            if count > MAX_MEMBERS]


def print_largest(title, limit, counts):
    print(f"{title}, at most {limit}:")
    for what, count in sorted(counts.items(), key=lambda pair: -pair[1])[:SHOWN]:
        print(f"  {count:5}  {what if not isinstance(what, tuple) else ' in '.join(what)}")


def main():
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else ".")
    print_largest("lines of a file", MAX_LINES, lines_of_files(tree))
    print_largest("source files of a folder", MAX_FILES, files_of_folders(tree))
    print_largest("data members of a class", MAX_MEMBERS, members_of_classes(tree))


if __name__ == "__main__":
    main()
