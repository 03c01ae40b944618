"""What clang's tools say: format, names, size, likely bugs, and locks.

Clean results are remembered in BUILD/tidy-cache under a hash of all that they depend on, so that only
what has changed is looked at again.
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

# Options of g++ that clang does not know, and what is of no use without making an object.
NOT_FOR_CLANG = ("-Wno-mismatched-new-delete", "-Wno-maybe-uninitialized", "-Wno-tsan")
WITH_VALUE = ("-o", "-MF", "-MQ", "-MT")
WITHOUT_VALUE = ("-c", "-MD", "-MMD")
# More would take more memory than time.
LARGEST_GROUP = 16
WARNING = re.compile(r"^(/\S+?|\S+?):(\d+):\d+: (?:warning|error): .*\[.*\]$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
UNITY = re.compile(r"-unity\d+\.cpp$")
NOTE = re.compile(r"^\S+?:\d+:\d+: note: ")


def check_format(tree):
    """clang-format has nothing to change (scripts/format)."""
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
        self.arguments = clang_arguments(shlex.split(entry["command"]), entry["file"])


def clang_arguments(command, source):
    """The options of a compiler's command line that clang understands, without the source."""
    if os.path.basename(command[0]) == "ccache":
        command = command[1:]
    kept = []
    arguments = iter(command[1:])
    for argument in arguments:
        if argument in WITH_VALUE:
            next(arguments)
        elif argument not in WITHOUT_VALUE + NOT_FOR_CLANG and argument != source:
            kept.append(argument)
    return kept


def units(tree, folders):
    """The files under the folders, each once, though the build may compile one several times."""
    entries = json.loads((tree.build / "compile_commands.json").read_text(encoding="utf-8"))
    root = tree.root.resolve()
    found = {}
    for entry in (each for entry in entries for each in taken_apart(entry)):
        path = Path(os.path.normpath(os.path.join(entry["directory"], entry["file"])))
        if path.is_relative_to(root) and str(path.relative_to(root)).startswith(folders):
            found.setdefault(path, Unit(entry, root))
    return [found[path] for path in sorted(found)]


def taken_apart(entry):
    """The files that a build with --unity=on compiles as one."""
    path = Path(entry["directory"], entry["file"])
    if not UNITY.search(path.name):
        return [entry]
    return [{**entry, "file": name,
             "command": entry["command"].replace(entry["file"], shlex.quote(name))}
            for name in re.findall(r"#include ?<(.*)>", path.read_text(encoding="utf-8"))]


class Includes:
    """Which files of ours a unit reads. Conditions are not looked at: it may be more than clang reads,
    and takes a hundredth of the time of asking it."""

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
    """A hash of all that the tool's verdict on a unit depends on."""
    digest = hashlib.sha256(repr((tool, unit.name, unit.arguments)).encode())
    for path in files:
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def verdicts(tree, tool, folders, judge, configurations=()):
    """The problems that `judge` finds in groups of units, not asking again about what was clean."""
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
        found = [problem for problems in pool.map(problems_of, groups(asked))
                 for problem in problems]
    # A header's problem is found by every group that reads it.
    return list(dict.fromkeys(found))


def groups(asked):
    """Units that are compiled with the same options, some together: most of the work is in the
    headers, and they are read once for each group. As many groups as there are cores, or more."""
    alike = {}
    for unit, mark in asked:
        alike.setdefault((unit.folder, *unit.arguments), []).append((unit, mark))
    size = max(1, min(LARGEST_GROUP, len(asked) // (2 * os.cpu_count())))
    return [some[at:at + size] for some in alike.values() for at in range(0, len(some), size)]


def run_clang_tidy(root, source, arguments, folder, options=()):
    """clang-tidy's complaints, each with the lines that show the place."""
    done = subprocess.run(
        ["clang-tidy-14", "--quiet", *options, str(source), "--", *arguments, "-Wno-everything"],
        cwd=folder, capture_output=True, text=True, check=False)
    problems = []
    noted = False
    for line in done.stdout.splitlines():
        # The notes on how complex a function is would fill pages.
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
    """Names, size and likely bugs, as .clang-tidy asks."""
    return clang_tidy_verdicts(tree, ("lib/", "daemon/"))


def check_clang_tidy_of_tests_and_benchmarks(tree):
    """The same of what nobody installs, which is as many lines again."""
    return clang_tidy_verdicts(tree, ("tests/", "bench/"))


def clang_tidy_verdicts(tree, folders):
    return verdicts(tree, "clang-tidy", folders, lambda group: tidy_group(tree, group),
                    configurations=[".clang-tidy", "tests/.clang-tidy"])


@contextlib.contextmanager
def as_one_file(group):
    """A file that includes the units; beside the first, so that the same .clang-tidy counts."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", prefix=".tidy-", encoding="utf-8",
                                     dir=group[0].path.parent) as together:
        together.writelines(f'#include "{unit.path}"\n' for unit in group)
        together.flush()
        yield together.name


def tidy_group(tree, group):
    """What clang-tidy says of the units as if they were one, or of its halves where their names do
    not go together."""
    root = tree.root.resolve()
    first = group[0]
    if len(group) == 1:
        return run_clang_tidy(root, first.path, first.arguments, first.folder)
    with as_one_file(group) as together:
        problems = run_clang_tidy(root, together, first.arguments, first.folder,
                                  ["--header-filter=/(lib|daemon|tests|bench)/.*[.][ch]pp$",
                                   "--checks=-bugprone-suspicious-include"])
    if not any("[clang-diagnostic-error]" in problem for problem in problems):
        return problems
    half = len(group) // 2
    return tidy_group(tree, group[:half]) + tidy_group(tree, group[half:])


def run_thread_safety(source, arguments, folder):
    done = subprocess.run(
        ["clang++-14", *arguments, "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety",
         "-fsyntax-only", str(source)],
        cwd=folder, capture_output=True, text=True, check=False)
    return [done.stderr] if done.returncode or done.stderr else []


def check_thread_safety(tree):
    """What a mutex guards is touched only with it held, by clang's annotations."""
    return verdicts(
        tree, "thread-safety", ("lib/",),
        thread_safety_of_group)


def thread_safety_of_group(group):
    with as_one_file(group) as together:
        clean = not run_thread_safety(together, group[0].arguments, group[0].folder)
    return [] if clean else [problem for unit in group for problem in
                             run_thread_safety(unit.path, unit.arguments, unit.folder)]
