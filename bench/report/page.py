"""Writes the files of --save and --output: the results, one picture per chart, an HTML page, and
Markdown.
"""

import html
import pathlib
import re
import textwrap

import chart
import machine
import marks
import results
import table

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1c2128; --soft: #57606a; --line: #d5dae0;
  --shade: #f5f7f9; --link: #0b5cad; --short: #a8320a; --reached: #00694c; }
@media (prefers-color-scheme: dark) { :root { --back: #0e1116; --text: #e8ebef; --soft: #a3acb7;
  --line: #323a43; --shade: #171c22; --link: #7cbcff; --short: #ff9a6b; --reached: #4fd6aa; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; }
main { max-width: 880px; margin: 0 auto; padding: 16px 16px 64px; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 24px 0 8px; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 56px 0 8px; padding-top: 12px;
  border-top: 1px solid var(--line); }
a { color: var(--link); }
p { margin: 8px 0 16px; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 16px 0;
  padding: 12px 16px; background: var(--shade); border-radius: 6px; font-size: .92rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: .92rem; }
.wide { overflow-x: auto; margin: 16px 0; }
.wide:focus-visible { outline: 2px solid var(--link); }
.rl-wide, .rl-narrow { display: block; width: 100%; height: auto; }
.rl-narrow { display: none; }
@media (max-width: 620px) { .rl-wide { display: none; } .rl-narrow { display: block; } }
figure { margin: 16px 0; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
table { border-collapse: collapse; font-size: .88rem; width: 100%; min-width: 640px;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0;
  border-bottom: 1px solid var(--line); min-width: 4.5em; }
th, .ratio { white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
.short { color: var(--short); font-weight: 700; }
summary { cursor: pointer; }
.steps th { white-space: normal; }
small { color: var(--soft); white-space: nowrap; }
.reached { color: var(--reached); }
.failed { border-left: 4px solid var(--short); padding: 8px 12px; background: var(--shade);
  white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 620px) {
  table { min-width: 0; } table, tbody, tr, td { display: block; } thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: 8px 0; } td { border: 0; padding: 1px 0; }
  td:empty { display: none; }
  td[data-head]::before { content: attr(data-head) ": "; color: var(--soft); } }
nav ol { padding-left: 1.6em; columns: 20em 2; }
"""
# The range that follows a median.
RANGE = re.compile(r"\([-+.\dekMG]+–[-+.\dekMG]+\)|\(one round\)")
# The width of the text in Markdown.
COLUMNS = 100
HOW_TO_READ = ("Each value is the median of the rounds, with the minimum and the maximum in brackets. If "
               "there was only one round, the brackets say so. Every round measures all contestants of a "
               "row (the systems or methods that are compared). Memory and the renewals of the library are the "
               "exception: all measurements of one contestant are completed before those of the next begin. A ratio is "
               "computed in each round. It says how many times better the value in the column 'Rocklock' is than "
               "the value in the column 'against'. If the ratio is less than 1, the value is worse, and the row "
               "is marked slower, even if it measures memory. The targets are the project's own; the targets of "
               "ratios are for a machine with 2 cores. Rows without a target are for comparison only. A pair is "
               "one acquire and one release. Durable means that a change is synced to disk before the answer. "
               "Written means that the change is passed to the operating system before the answer.")


def _escaped(text):
    return html.escape("".join(letter if letter.isprintable() or letter in "\n " else "\ufffd"
                               for letter in text))


def _attributes(head, kind):
    named = {"class": kind, "data-head": head}
    return "".join(f" {name}=\"{_escaped(value)}\"" for name, value in named.items() if value)


def _kind(name, cell):
    """Returns the class of a cell, determined by the name of its column or by its verdict."""
    if name == "":
        return "short" if table.is_bad(cell) else "reached" if cell == "reached" else ""
    return "ratio" if name == "ratio" else ""


def _cell(text):
    """Returns the cell as HTML, with ranges in small text."""
    return RANGE.sub(r"<small>\g<0></small>", _escaped(text))


def _table(head, lines, kind=""):
    out = ["<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">"
           f"<table{_attributes('', kind)}><thead><tr>",
           *(f"<th scope=\"col\">{_escaped(name)}</th>" for name in head), "</tr></thead><tbody>"]
    for line in lines:
        cells = (f"<td{_attributes(name, _kind(name, cell))}>{_cell(cell)}</td>"
                 for name, cell in zip(head, line))
        out.append(f"<tr>{''.join(cells)}</tr>")
    return [*out, "</tbody></table></div>"]


def _facts(run):
    facts = machine.facts(run)
    if not facts:
        return []
    return ["<dl>", *(f"<dt>{_escaped(name)}</dt><dd>{_escaped(value)}</dd>" for name, value in facts),
            "</dl>"]


def _steps(scenario):
    if not scenario.steps:
        return []
    return ["<details><summary>All measurements</summary>",
            *_table(table.step_head(scenario), table.step_lines(scenario), "steps"), "</details>"]


def _without_scenario(lines):
    return [line[1:] for line in lines]


def _scenario(scenario, main_run):
    out = [f"<section id=\"{scenario.name}\"><h2>{_escaped(scenario.title)}</h2>",
           f"<p>{_escaped(scenario.says)}</p>"]
    if scenario.run != main_run:
        out += ["<p class=\"soft\">Measured in another run:</p>", *_facts(scenario.run)]
    if scenario.failed:
        out.append("<p class=\"failed\"><strong>This scenario failed.</strong> The results "
                   f"until then follow.\n{_escaped(scenario.failed)}</p>")
    for one in chart.drawn(scenario):
        out += ["<figure>", chart.draw(scenario, one, alone=False),
                chart.draw(scenario, one, alone=False, narrow=True), "</figure>"]
    out += _steps(scenario)
    compared = _without_scenario(table.compared_lines([scenario]))
    alone = _without_scenario(table.alone_lines([scenario]))
    if compared:
        out += _table(table.COMPARED[1:], compared)
    if alone:
        out += _table(table.ALONE[1:], alone)
    if scenario.left_out:
        reasons = (f"{_escaped(one.contestant)} ({_escaped(one.why)})" for one in scenario.left_out)
        out.append(f"<p class=\"soft\">Left out: {'; '.join(reasons)}.</p>")
    out.append(f"<p class=\"soft\">To measure it: <code>scripts/bench {scenario.name}</code></p>")
    return [*out, "</section>"]


def main_run(found):
    """Returns the run that most scenarios belong to."""
    runs = [scenario.run for scenario in found.scenarios]
    return max(runs, key=runs.count, default={})


def page(found):
    """Returns the HTML page. It needs no other files."""
    run = main_run(found)
    scenarios = found.scenarios
    out = ["<!DOCTYPE html>", "<html lang=\"en\">", "<head>", "<meta charset=\"utf-8\">",
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
           "<title>Benchmarks of Rocklock</title>", f"<style>{STYLE}{marks.STYLE}</style>", "</head>",
           "<body><main>", "<h1>Benchmarks of Rocklock</h1>",
           f"<p>{_escaped(table.summary(scenarios))}. Measured by <code>scripts/bench</code>; the "
           "raw results are in <a href=\"results.jsonl\">results.jsonl</a>.</p>",
           *_facts(run), f"<p>{HOW_TO_READ}</p>", "<nav aria-label=\"Scenarios\"><ol>"]
    for scenario in scenarios:
        failed = " <span class=\"short\">failed</span>" if scenario.failed else ""
        out.append(f"<li><a href=\"#{scenario.name}\">{_escaped(scenario.title)}</a>{failed}</li>")
    out.append("</ol></nav>")
    compared = table.compared_lines(scenarios)
    if compared:
        out += ["<section id=\"all\"><h2>All ratios</h2>", *_table(table.COMPARED, compared), "</section>"]
    for scenario in scenarios:
        out += _scenario(scenario, run)
    return "\n".join([*out, "</main></body>", "</html>", ""])


def _wrapped(text, indent=""):
    """Returns the lines of a paragraph. `indent` precedes all lines but the first."""
    return textwrap.wrap(text, COLUMNS, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)


def _markdown_facts(run):
    return [line for name, value in machine.facts(run)
            for line in _wrapped(f"- {name}: {table.markdown_text(value)}", "  ")]


def _markdown_scenario(scenario, run):
    out = [f"## {table.markdown_text(scenario.title)}", "", *_wrapped(table.markdown_text(scenario.says)), ""]
    if scenario.run != run:
        out += ["Measured in another run:", "", *_markdown_facts(scenario.run), ""]
    if scenario.failed:
        out += [*_wrapped(f"**This scenario failed:** {table.markdown_text(scenario.failed)}"), ""]
    for one in chart.drawn(scenario):
        out += [f"![{table.markdown_text(one.title)}]({chart.file_name(scenario, one)})", ""]
    for head, lines in ((table.COMPARED, table.compared_lines([scenario])),
                        (table.ALONE, table.alone_lines([scenario]))):
        if lines:
            out += [*table.markdown(head[1:], _without_scenario(lines)), ""]
    if scenario.steps and not scenario.rows:
        out += [*table.markdown(table.step_head(scenario), table.step_lines(scenario, short=True)), ""]
    if scenario.left_out:
        reasons = (f"{one.contestant} ({one.why})" for one in scenario.left_out)
        out += [*_wrapped(table.markdown_text(f"Left out: {'; '.join(reasons)}.")), ""]
    return out


def markdown(found):
    """Returns the content of the page as Markdown, which refers to the picture files."""
    run = main_run(found)
    out = ["# Benchmarks", "",
           *_wrapped(f"{table.summary(found.scenarios)}. `scripts/bench --save` writes this page, "
                     "[its HTML version](index.html) and [the raw results](results.jsonl)."), "",
           *_markdown_facts(run), *[""] * bool(run), *_wrapped(HOW_TO_READ), ""]
    compared = table.compared_lines(found.scenarios)
    if compared:
        out += ["## All ratios", "", *table.markdown(table.COMPARED, compared), ""]
    for scenario in found.scenarios:
        out += _markdown_scenario(scenario, run)
    while out[-1] == "":
        out.pop()
    return "\n".join(line.rstrip() for line in out) + "\n"


def kept(folder):
    """Returns the results that a folder contains; empty results if there is no such file."""
    path = pathlib.Path(folder) / "results.jsonl"
    if not path.exists():
        return results.Results()
    with path.open(encoding="utf-8") as file:
        return results.read(file)


def _pictures(found):
    return {chart.file_name(scenario, one): (scenario, one)
            for scenario in found.scenarios for one in chart.drawn(scenario)}


def write(found, folder):
    """Writes all files, and removes the pictures of charts that no longer exist."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    new = _pictures(found)
    for name in _pictures(kept(folder)).keys() - new.keys():
        (folder / name).unlink(missing_ok=True)
    texts = {name: chart.draw(*picture) for name, picture in new.items()}
    texts |= {"results.jsonl": "".join(found.lines()), "index.html": page(found),
              "README.md": markdown(found)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
