"""The table of results: aligned for a terminal, otherwise in Markdown."""

import re
import unicodedata

import figures

COMPARED = ["scenario", "what", "Rocklock", "against", "ratio", "target", ""]
ALONE = ["scenario", "what", "Rocklock", "target", ""]
# If a step has at least this many metrics, the short form shows the range of the first one only.
MANY = 3


def verdict(row):
    """Returns `reached` or `missed` if the row has a target, and `slower` if the ratio is below
    1."""
    words = [] if row.target is None else ["reached" if row.reached else "missed"]
    return ", ".join(words + ["slower"] * bool(row.ratio and row.ratio.median < 1))


def is_bad(result):
    """Returns whether a verdict needs attention. `reached, slower` does not: the target is below
    1."""
    return result in ("missed", "missed, slower", "slower", "worse", "missed now", "worse, missed now")


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
    """Returns the cells of the rows with a ratio, in the order of COMPARED."""
    return [[scenario.name, row.name, ours(row), theirs(row), ratio(row), to_reach(row), verdict(row)]
            for scenario in scenarios for row in scenario.rows if row.ratio]


def alone_lines(scenarios):
    """Returns the cells of the rows without a ratio, in the order of ALONE."""
    return [[scenario.name, row.name, ours(row), to_reach(row), verdict(row)]
            for scenario in scenarios for row in scenario.rows if not row.ratio]


def step_head(scenario):
    """Returns the column names of the steps."""
    x = scenario.charts[0].x if scenario.charts else ""
    names = dict.fromkeys(name for step in scenario.steps for name in step.figures)
    return [x or "what", "contestant", *names]


def step_lines(scenario, short=False):
    """Returns all metrics of a scenario, in the order of step_head(). `short`: without most
    ranges."""
    names = step_head(scenario)[2:]
    short = short and len(names) >= MANY

    def cell(name, figure):
        return figures.short(figure.median) if short and name != names[0] else figures.spread(figure)

    return [[step.x, step.contestant,
             *(cell(name, step.figures[name]) if name in step.figures else "" for name in names)]
            for step in scenario.steps]


def left_out(scenarios):
    """Returns each contestant that was left out, with the reason and the scenarios that lack it."""
    found = {}
    for scenario in scenarios:
        for one in scenario.left_out:
            names = found.setdefault((one.contestant, one.why), [])
            if scenario.name not in names:
                names.append(scenario.name)
    return [(contestant, why, names) for (contestant, why), names in found.items()]


def summary(scenarios):
    """Returns the number of rows that reached their target, and of rows without a target."""
    every = [row for scenario in scenarios for row in scenario.rows]
    rows = [row for row in every if row.target is not None]
    reached = sum(row.reached for row in rows)
    without = len(every) - len(rows)
    failed = sum(bool(scenario.failed) for scenario in scenarios)
    return "; ".join(filter(None, [
        f"{reached} of {len(rows)} targets reached, {len(rows) - reached} missed" if rows else
        "no row has a target" if not without else "",
        f"{without} row{'s have' if without > 1 else ' has'} no target" if without else "",
        f"{failed} scenario{'s' * (failed > 1)} failed" if failed else ""]))


def markdown_text(text):
    """Escapes a text so that Markdown shows it unchanged."""
    text = re.sub(r"[\\`*_\[\]|~]", r"\\\g<0>", " ".join(text.split()))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _markdown_cell(text, bold):
    return f"**{text}**" if bold and is_bad(text) else markdown_text(text)


def markdown(head, lines):
    out = ["| " + " | ".join(map(markdown_text, head)) + " |", "|" + "---|" * len(head)]
    for line in lines:
        last = len(line) - 1
        cells = [_markdown_cell(cell, index == last) for index, cell in enumerate(line)]
        out.append("| " + " | ".join(cells) + " |")
    return [re.sub(r"  +", " ", line) for line in out]


def _columns(text):
    """Returns the number of terminal columns that a text needs."""
    return sum(0 if unicodedata.combining(letter) else
               2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _printable(text):
    """Replaces characters that would move the cursor or colour the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def aligned(head, lines, bold=False):
    """Returns aligned columns. Rows that are short or slower are bold if `bold`."""
    head, *lines = [[_printable(cell) for cell in line] for line in [head, *lines]]
    widths = [max(map(_columns, column)) for column in zip(head, *lines)]
    out = []
    for line in [head, ["─" * width for width in widths], *lines]:
        cells = [cell + " " * (width - _columns(cell)) for cell, width in zip(line, widths)]
        if bold and is_bad(line[-1]):
            cells[-1] = f"\033[1m{line[-1]}\033[0m"
        out.append("  ".join(cells).rstrip())
    return out


def lines_of(scenarios, terminal=False, bold=False):
    """Returns all lines to print."""
    out = []

    def section(title, head, lines):
        if not lines:
            return
        if out:
            out.append("")
        if title:
            out.extend([title, ""])
        out.extend(aligned(head, lines, bold) if terminal else markdown(head, lines))

    section("", COMPARED, compared_lines(scenarios))
    section("By itself:" if out else "", ALONE, alone_lines(scenarios))
    for scenario in scenarios:
        if not scenario.rows:
            section(f"All measurements of {scenario.name}:", step_head(scenario),
                    step_lines(scenario, short=True))
    show = _printable if terminal else markdown_text
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
