"""Checks that the requirements and invariants have tests that name their codes."""

import os
import re
from pathlib import Path

DOCUMENT = Path("docs/requirements.md")
ROW_START = "| <a id="
# The anchor, the code and the last column of a row.
ROW = re.compile(r'\| <a id="([\w-]+)"></a>(\w+) \| .* \|([^|]*)\|')
LINK = r"\[[^\]]+\]\(([^)\s]+)\)"
LINKS = re.compile(rf"{LINK}(?:, {LINK})*")
# A row without links has one of these texts.
WITHOUT_A_TEST = ("not implemented", "no test")


def problem_of_link(tree, code, target):
    """Returns what is wrong with a link in the row of a code, or None."""
    path = Path(os.path.normpath(DOCUMENT.parent / target))
    if not (tree.root / path).is_file():
        return f"there is no {path}"
    if not re.search(rf"\b{code}\b", tree.text(path)):
        return f"{path} does not name {code}"
    return None


def problems_of_row(tree, line):
    row = ROW.fullmatch(line)
    if not row:
        return ["not a row of an anchor, a code, a text and tests"]
    anchor, code, tests = row[1], row[2], row[3].strip()
    problems = []
    if anchor not in (f"requirement-{code.lower()}", f"invariant-{code.lower()}"):
        problems.append(f"{anchor} is not an anchor of {code}")
    if tests in WITHOUT_A_TEST:
        return problems
    if not LINKS.fullmatch(tests):
        allowed = " or ".join(f'"{text}"' for text in WITHOUT_A_TEST)
        return problems + [f"{code} needs links to tests that name it, or {allowed}"]
    found = (problem_of_link(tree, code, target) for target in re.findall(LINK, tests))
    return problems + [problem for problem in found if problem]


def check_requirements(tree):
    """Each row links files that exist and contain its code, or says why it has none."""
    rows = [(number, line) for number, line in enumerate(tree.text(DOCUMENT).splitlines(), 1)
            if line.startswith(ROW_START)]
    if not rows:
        return [f"{DOCUMENT}: no rows"]
    return [f"{DOCUMENT}:{number}: {problem}" for number, line in rows
            for problem in problems_of_row(tree, line)]
