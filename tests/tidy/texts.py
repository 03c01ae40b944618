"""Checks that examples in the documentation are compiled by the tests, and checks the form of texts."""

import re
import textwrap
from pathlib import Path

FENCE = re.compile(r"(?:<!-- example: (\S+) (\S+) -->\n)?^```(\w*)\n(.*?)^```$",
                   re.MULTILINE | re.DOTALL)
# The hosts to which links are allowed. Add a new host here deliberately.
HOSTS = {
    "www.apache.org", "localhost", "127.0.0.1", "example.com", "locks.example",
    "0.0.0.0", "locks", "strange", "evil.example", "docs.aws.amazon.com",
    "rocksdb.org", "mesonbuild.com", "martinfowler.com", "etcd.io",
    "n1.example.org", "n2.example.org", "n3.example.org",
}
HOST = re.compile(r"https?://([\w.-]+)")
# A path that exists only on the author's machine.
MACHINE_PATH = re.compile(r"(?<![\w./<>-])/(?:home|root|work|workspace|Users|builds)/[\w.]")
TEXTS = (".md", ".txt", ".cpp", ".hpp", ".py", ".mjs", ".js", ".java", ".xml", ".sh", ".build", ".yml", ".json", ".service", "")
MEANT = "tidy: meant"


def region(text, name):
    """Returns the lines between two comments `//! [name]`, without their common indentation."""
    found = re.search(rf"^[ \t]*//! \[{re.escape(name)}\]\n(.*?)^[ \t]*//! \[{re.escape(name)}\]$",
                      text, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(found.group(1)) if found else None


def documents(tree):
    readme = [Path("README.md")] if (tree.root / "README.md").exists() else []
    return readme + tree.files(".md", under=["docs"])


def check_examples(tree):
    """Each C++ example in README.md and docs/ is a region of a file in tests/docs, word for word."""
    problems = []
    for path in documents(tree):
        for source, name, language, code in FENCE.findall(tree.text(path)):
            if language != "cpp":
                continue
            first = code.splitlines()[0] if code else ""
            if not source:
                problems.append(f"{path}: an example without its source: {first}")
            elif not (tree.root / "tests/docs" / source).exists():
                problems.append(f"{path}: there is no tests/docs/{source}")
            elif region(tree.text(Path("tests/docs") / source), name) != code:
                problems.append(f"{path}: not the region {name} of tests/docs/{source}")
    return problems


def all_texts(tree):
    top = [path.relative_to(tree.root) for path in tree.root.iterdir() if path.is_file()]
    top = [path for path in top if path.suffix in TEXTS or path.name.startswith(".clang")]
    return [path for path in top + tree.files(*TEXTS) if path.name not in ("LICENSE", ".git")]


def lines_where(tree, problem_of):
    problems = []
    for path in all_texts(tree):
        text = (tree.root / path).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            problem = None if MEANT in line else problem_of(line)
            if problem:
                problems.append(f"{path}:{number}: {problem}")
    return problems


def check_machine_paths(tree):
    """No text contains a path of one person's machine."""
    return lines_where(tree, lambda line: MACHINE_PATH.search(line) and
                       f"a path of one machine: {line.strip()}")


def check_hosts(tree):
    """Links lead only to the hosts in HOSTS."""
    def stray(line):
        hosts = sorted({host for host in HOST.findall(line) if host not in HOSTS})
        return hosts and f"a link to {', '.join(hosts)}, which tests/tidy/texts.py does not list"
    return lines_where(tree, stray)


def check_layout(tree):
    """C++ files have no tabs, lines have no trailing blanks, and files end with a newline."""
    problems = []
    for path in all_texts(tree):
        text = (tree.root / path).read_text(encoding="utf-8", errors="replace")
        if text and not text.endswith("\n"):
            problems.append(f"{path}: no newline at the end")
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                problems.append(f"{path}:{number}: a blank at the end")
            if "\t" in line and path.suffix in (".cpp", ".hpp"):
                problems.append(f"{path}:{number}: a tab")
    return problems


def check_file_names(tree):
    """The names of C++ and Python files are in snake_case."""
    return [f"{path}: not snake_case" for path in tree.files(".cpp", ".hpp", ".py")
            if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem)]
