"""Checks with clang's tools: format, names, sizes, likely bugs and thread safety.

Clean results are cached in BUILD/tidy-cache under a hash of everything that they depend on, so only
changed files are checked again.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import shlex
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Options of g++ that clang does not support, and options that matter only for object files.
NOT_FOR_CLANG = ("-Wno-mismatched-new-delete", "-Wno-maybe-uninitialized", "-Wno-tsan", "--param=")
WITH_VALUE = ("-o", "-MF", "-MQ", "-MT")
WITHOUT_VALUE = ("-c", "-MD", "-MMD")
# The size of a group in .ci/run, so that a group is one file of its build.
LARGEST_GROUP = 36
# scripts/setup installs this one with pip. It does not check the headers of other projects, so it
# takes a third of the time that Debian's takes.
INSTALLED = Path(__file__).resolve().parent / "installed/clang_tidy/data/bin/clang-tidy"
CLANG_TIDY = str(INSTALLED) if INSTALLED.exists() else "clang-tidy-14"
# Changes with the version of the installed program.
VERSION = INSTALLED.parents[3] / "requirements.txt"
WARNING = re.compile(r"^(/\S+?|\S+?):(\d+):\d+: (?:warning|error): .*\[.*\]$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
UNITY = re.compile(r"-unity\d+\.cpp$")
COMPILER_ERROR = "[clang-diagnostic-error"
NOTE = re.compile(r"^\S+?:\d+:\d+: note: ")


def check_format(tree):
    """Every file is formatted as clang-format would do it (scripts/format)."""
    files = [str(path) for path in tree.sources()]
    done = subprocess.run(["clang-format-14", "-n", "-Werror", *files], cwd=tree.root,
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    places = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.MULTILINE)))
    return [f"{place}: not as clang-format has it (scripts/format)" for place in places] or [
        done.stderr]


class Unit:
    """One source file as the build compiles it."""

    def __init__(self, entry, root):
        self.folder = entry["directory"]
        self.path = Path(os.path.normpath(os.path.join(self.folder, entry["file"])))
        self.name = str(self.path.relative_to(root))
        self.object = entry.get("output", "")
        # The file of a unity build that includes this one, or None.
        self.unity = entry.get("unity")
        self.arguments = clang_arguments(shlex.split(entry["command"]), entry["file"])


def clang_arguments(command, source):
    """Returns the options of a compiler's command line that clang supports, without the source."""
    if os.path.basename(command[0]) == "ccache":
        command = command[1:]
    kept = []
    arguments = iter(command[1:])
    for argument in arguments:
        if argument in WITH_VALUE:
            next(arguments)
        elif (argument not in WITHOUT_VALUE and not argument.startswith(NOT_FOR_CLANG)
              and argument != source):
            kept.append(argument)
    return kept


def units(tree, folders):
    """Returns each compiled file under the folders once, even if the build compiles it several times."""
    entries = json.loads((tree.build / "compile_commands.json").read_text(encoding="utf-8"))
    root = tree.root.resolve()
    found = {}
    for entry in (each for entry in entries for each in taken_apart(entry)):
        path = Path(os.path.normpath(os.path.join(entry["directory"], entry["file"])))
        if path.is_relative_to(root) and str(path.relative_to(root)).startswith(folders):
            found.setdefault(path, Unit(entry, root))
    return [found[path] for path in sorted(found)]


def taken_apart(entry):
    """Returns an entry for each file that a build with --unity=on compiles as a part of `entry`."""
    path = Path(entry["directory"], entry["file"])
    if not UNITY.search(path.name):
        return [entry]
    return [{**entry, "file": name, "unity": entry["file"],
             "command": entry["command"].replace(entry["file"], shlex.quote(name))}
            for name in re.findall(r"#include ?<(.*)>", path.read_text(encoding="utf-8"))]


class Includes:
    """Finds the files of this repository that a unit includes.

    Conditions are ignored, so it may find more files than clang reads. It takes a hundredth of the time
    that clang needs for the same question.
    """

    def __init__(self):
        self.included = functools.cache(lambda path: INCLUDE.findall(path.read_text(encoding="utf-8")))
        self.is_file = functools.cache(Path.is_file)

    def read_by(self, unit):
        folders = [Path(unit.folder, argument.removeprefix("-I"))
                   for argument in unit.arguments if argument.startswith("-I")]
        found = {unit.path}
        unread = [unit.path]
        while unread:
            for path in self.included_by(unread.pop(), folders):
                if path not in found:
                    found.add(path)
                    unread.append(path)
        return sorted(found)

    def included_by(self, path, folders):
        for delimiter, name in self.included(path):
            beside = [path.parent] if delimiter == '"' else []
            places = (Path(os.path.normpath(folder / name)) for folder in beside + folders)
            yield from itertools.islice(filter(self.is_file, places), 1)


def fingerprint(tool, unit, files):
    """Returns a hash of everything that the tool's result for a unit depends on."""
    digest = hashlib.sha256(repr((tool, unit.name, unit.arguments)).encode())
    for path in files:
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def verdicts(tree, tool, folders, judge, configurations=()):
    """Returns the problems that `judge` finds in groups of units. Units with a clean cached result are
    skipped.
    """
    cache = tree.build / "tidy-cache"
    cache.mkdir(exist_ok=True)
    configurations = [tree.root / name for name in configurations]
    includes = Includes()

    def mark_of(unit):
        return cache / fingerprint(tool, unit, includes.read_by(unit) + configurations)

    def problems_of(group):
        problems = judge([unit for unit, _ in group])
        for _, mark in group:
            if not problems:
                mark.touch()
        return problems

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        marked = [(unit, mark_of(unit)) for unit in units(tree, folders)]
        asked = [(unit, mark) for unit, mark in marked if not mark.exists()]
        found = [problem for problems in pool.map(problems_of, tree.selected(groups(asked)))
                 for problem in problems]
    # A problem in a header is found by every group that includes it.
    return list(dict.fromkeys(found))


def groups(asked):
    """Groups units that are compiled with the same options, in a unity build those of one file.

    Half of the work is in the headers, which are read once for each group. Returns at least as many
    groups as there are cores.
    """
    alike = {}
    for unit, mark in asked:
        alike.setdefault((unit.folder, unit.unity, *unit.arguments), []).append((unit, mark))
    size = max(1, min(LARGEST_GROUP, len(asked) // (2 * os.cpu_count())))
    return [some[at:at + size] for some in alike.values() for at in range(0, len(some), size)]


def run_clang_tidy(root, source, arguments, folder, options=()):
    """Returns the warnings of clang-tidy, each with the lines that show its position."""
    done = subprocess.run(
        [CLANG_TIDY, "--quiet", *options, str(source), "--", *arguments, "-Wno-everything",
         "-Wthread-safety"],
        cwd=folder, capture_output=True, text=True, check=False)
    problems = []
    noted = False
    for line in done.stdout.splitlines():
        # The notes on the complexity of a function are very long.
        noted = NOTE.match(line) or (noted and not WARNING.match(line))
        if WARNING.match(line):
            path = os.path.normpath(os.path.join(folder, line.split(":", 1)[0]))
            problems.append(os.path.relpath(path, root) + ":" + line.split(":", 1)[1])
        elif problems and not noted:
            problems[-1] += "\n" + line
    if done.returncode != 0 and not problems:
        problems.append(f"clang-tidy on {source}: {done.stdout}{done.stderr}")
    return problems


def check_clang_tidy(tree):
    """Names, sizes, likely bugs, and accesses without the mutex, as configured in .clang-tidy."""
    return clang_tidy_verdicts(tree, ("lib/", "daemon/"))


def check_clang_tidy_of_tests_and_benchmarks(tree):
    """The same for code that is not installed, which has about as many lines."""
    return clang_tidy_verdicts(tree, ("tests/", "bench/"))


def clang_tidy_verdicts(tree, folders):
    tool = VERSION.read_text(encoding="utf-8") if INSTALLED.exists() else CLANG_TIDY
    return verdicts(tree, tool, folders, lambda group: tidy_group(tree, group),
                    configurations=[".clang-tidy", "tests/.clang-tidy"])


@contextlib.contextmanager
def as_one_file(group):
    """Makes a file that includes the units. It is next to the first one, so the same .clang-tidy applies."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", prefix=".tidy-", encoding="utf-8",
                                     dir=group[0].path.parent) as together:
        together.writelines(f'#include "{unit.path}"\n' for unit in group)
        together.flush()
        yield together.name


def tidy_group(tree, group):
    """Returns the warnings of clang-tidy for a group of units.

    The units are compiled as one file. If they conflict, for example because two of them define the
    same name, the group is divided where they do.
    """
    root = tree.root.resolve()
    first = group[0]
    if len(group) == 1:
        return run_clang_tidy(root, first.path, first.arguments, first.folder)
    with as_one_file(group) as together:
        problems = run_clang_tidy(root, together, first.arguments, first.folder,
                                  ["--header-filter=/(lib|daemon|tests|bench)/.*[.][ch]pp$",
                                   "--checks=-bugprone-suspicious-include"])
    errors = [problem for problem in problems if COMPILER_ERROR in problem]
    if not errors:
        return problems
    end = conflict_in(group, errors)
    return tidy_group(tree, group[:end]) + tidy_group(tree, group[end:])


def conflict_in(group, errors):
    """Returns the index of the first unit that does not compile together with the units before it.

    If there is no error in the source of a later unit, returns the middle of the group.
    """
    names = {error.split(":", 1)[0] for error in errors}
    indexes = [index for index, unit in enumerate(group) if index > 0 and unit.name in names]
    return indexes[0] if indexes else len(group) // 2
