"""The table: aligned for a terminal, in Markdown elsewhere."""

import re
import unicodedata

import figures

COMPARED = ["scenario", "what", "Rocklock", "against", "ratio", "to reach", ""]
ALONE = ["scenario", "what", "Rocklock", "to reach", ""]


def verdict(row):
    """reached, short, or nothing where nothing is to be reached."""
    return "" if row.target is None else "reached" if row.reached else "short"


def to_reach(row):
    if row.target is None:
        return ""
    if row.ratio:
        return f"{figures.short(row.target)} ×"
    return ("≤ " if row.better == "less" else "") + figures.short(row.target)


def ours(row):
    return f"{figures.spread(row.ours)} {row.unit}".rstrip()


def theirs(row):
    return f"{row.against}: {figures.spread(row.theirs)}" if row.theirs else ""


def ratio(row):
    return figures.spread(row.ratio, " ×") if row.ratio else ""


def compared_lines(scenarios):
    """The cells of the rows with a ratio, in the order of COMPARED."""
    return [[scenario.name, row.name, ours(row), theirs(row), ratio(row), to_reach(row), verdict(row)]
            for scenario in scenarios for row in scenario.rows if row.ratio]


def alone_lines(scenarios):
    """The cells of the rows without a ratio, in the order of ALONE."""
    return [[scenario.name, row.name, ours(row), to_reach(row), verdict(row)]
            for scenario in scenarios for row in scenario.rows if not row.ratio]


def left_out(scenarios):
    """Each contestant that was left out with its reason, and the scenarios that miss it."""
    found = {}
    for scenario in scenarios:
        for one in scenario.left_out:
            names = found.setdefault((one.contestant, one.why), [])
            if scenario.name not in names:
                names.append(scenario.name)
    return [(contestant, why, names) for (contestant, why), names in found.items()]


def summary(scenarios):
    """How many rows reached what they were to reach."""
    rows = [row for scenario in scenarios for row in scenario.rows if row.target is not None]
    reached = sum(row.reached for row in rows)
    failed = sum(bool(scenario.failed) for scenario in scenarios)
    return (f"{reached} of {len(rows)} reached, {len(rows) - reached} short" +
            (f"; {failed} scenario{'s' * (failed > 1)} failed" if failed else ""))


def markdown_text(text):
    """A text that Markdown shows as it is."""
    text = re.sub(r"[\\`*_\[\]|~]", r"\\\g<0>", " ".join(text.split()))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _markdown_cell(text, bold):
    return f"**{text}**" if text == "short" and bold else markdown_text(text)


def markdown(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in lines:
        last = len(line) - 1
        cells = [_markdown_cell(cell, index == last) for index, cell in enumerate(line)]
        out.append("| " + " | ".join(cells) + " |")
    return [re.sub(r"  +", " ", line) for line in out]


def _columns(text):
    """How many columns of a terminal a text takes."""
    return sum(0 if unicodedata.combining(letter) else
               2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _printable(text):
    """Without what would move the cursor or colour the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def aligned(head, lines, bold=False):
    """In columns; what is short in bold letters."""
    lines = [[_printable(cell) for cell in line] for line in lines]
    widths = [max(map(_columns, column)) for column in zip(head, *lines)]
    out = []
    for line in [head, ["─" * width for width in widths], *lines]:
        cells = [cell + " " * (width - _columns(cell)) for cell, width in zip(line, widths)]
        if bold and line[-1] == "short":
            cells[-1] = f"\033[1m{cells[-1]}\033[0m"
        out.append("  ".join(cells).rstrip())
    return out


def lines_of(scenarios, terminal=False, bold=False):
    """All there is to print, line by line."""
    out = []

    def section(title, head, lines):
        if not lines:
            return
        if out:
            out.append("")
        if title:
            out.extend([title, ""])
        out.extend(aligned(head, lines, bold) if terminal else markdown(head, lines))

    show = _printable if terminal else markdown_text
    section("", COMPARED, compared_lines(scenarios))
    section("By itself:" if out else "", ALONE, alone_lines(scenarios))
    missing = left_out(scenarios)
    if missing:
        out.extend([""] * bool(out) + ["Left out:", ""])
        out.extend(f"- {show(contestant)}: {show(why)} ({', '.join(names)})"
                   for contestant, why, names in missing)
    failed = [scenario for scenario in scenarios if scenario.failed]
    if failed:
        out.extend([""] * bool(out) + ["Failed:", ""])
        out.extend(f"- {scenario.name}: {show(scenario.failed)}" for scenario in failed)
    out.extend([""] * bool(out) + [summary(scenarios)])
    return out
