"""The results: the lines that bench_scenarios prints, parsed, validated and stored.

A results file consists of these lines. A line of the kind `run` precedes the scenarios of each run.
A line of the kind `failed` follows the lines of a scenario that failed.
"""

import json
import math
import re
from dataclasses import dataclass, field

# A part of a file name.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Misunderstood(Exception):
    """A line is invalid; the message gives the reason."""


@dataclass
class Spread:
    median: float
    low: float
    high: float
    # The value of each round, in order; empty if unknown.
    rounds: list[float] = field(default_factory=list, kw_only=True)


@dataclass
class Point(Spread):
    series: str
    # A number, or a word if the chart's x_scale is `words`.
    x: float | str


@dataclass
class Chart:
    name: str
    title: str
    x: str
    # `log`, `linear` or `words`.
    x_scale: str
    y: str
    y_scale: str
    # `more`, `less` or empty.
    better: str
    points: list[Point] = field(default_factory=list)


@dataclass
class Row:
    name: str
    unit: str
    ours: Spread
    against: str = ""
    theirs: Spread | None = None
    # How many times better Rocklock is; None if the row has no ratio.
    ratio: Spread | None = None
    # The target of the ratio or, if there is no ratio, of the value.
    target: float | None = None
    reached: bool | None = None
    # Without a ratio: `less` if the target is a maximum.
    better: str = ""


@dataclass
class Step:
    """All metrics of a contestant at one x."""
    x: str
    contestant: str
    # By name, in order.
    figures: dict[str, Spread]


@dataclass
class LeftOut:
    contestant: str
    why: str


@dataclass
class Scenario:
    name: str
    title: str
    says: str
    charts: list[Chart]
    rows: list[Row] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    # The reason of a failure; empty if the scenario succeeded.
    failed: str = ""
    # The line of its run; empty if unknown.
    run: dict = field(default_factory=dict)
    # Its lines in the order of arrival.
    records: list[dict] = field(default_factory=list)


def _no_number(text):
    raise Misunderstood(f"{text} is not a number")


def parse(line):
    """Returns the JSON object of a line."""
    try:
        record = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Misunderstood(f"not a line of JSON: {line.strip()[:200]}") from None
    if not isinstance(record, dict):
        raise Misunderstood(f"not an object: {line.strip()[:200]}")
    return record


def _member(record, name, kind, default=None):
    value = record.get(name, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Misunderstood(f"no good \"{name}\" in {json.dumps(record, ensure_ascii=False)[:200]}")
    return value


def _text(record, name, default=None):
    return _member(record, name, str, default)


def _finite(value, name):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Misunderstood(f"no good \"{name}\": {value}")
    return float(value)


def _number(record, name):
    return _finite(_member(record, name, (int, float)), name)


def _one_of(record, name, words, default=None):
    word = _text(record, name, default)
    if word not in words:
        raise Misunderstood(f"\"{name}\" is \"{word}\", and not one of {', '.join(map(repr, words))}")
    return word


def _name(record, member="name"):
    name = _text(record, member)
    if not NAME.fullmatch(name):
        raise Misunderstood(f"\"{name}\" is no name: small letters, digits, - and _")
    return name


def _spread_members(record):
    median, low, high = (_number(record, member) for member in ("median", "low", "high"))
    if not low <= median <= high:
        raise Misunderstood(f"the median {median:g} is not between {low:g} and {high:g}")
    rounds = [_finite(value, "rounds") for value in _member(record, "rounds", list, [])]
    return {"median": median, "low": low, "high": high, "rounds": rounds}


def _spread(record, name):
    return Spread(**_spread_members(_member(record, name, dict)))


def _chart(record):
    return Chart(name=_name(record), title=_text(record, "title"), x=_text(record, "x"),
                 x_scale=_one_of(record, "x_scale", ("log", "linear", "words")),
                 y=_text(record, "y"), y_scale=_one_of(record, "y_scale", ("log", "linear")),
                 better=_one_of(record, "better", ("more", "less", ""), ""))


def _scenario(record):
    charts = []
    for chart in _member(record, "charts", list, []):
        if not isinstance(chart, dict):
            raise Misunderstood(f"a chart is not an object: {chart}")
        charts.append(_chart(chart))
    if len({chart.name for chart in charts}) < len(charts):
        raise Misunderstood("two charts of one scenario have one name")
    return Scenario(name=_name(record), title=_text(record, "title"), says=_text(record, "says"),
                    charts=charts)


def _row(record):
    name = "name" if "name" in record else "row"
    ours = "ours" if "ours" in record else "rocklock"
    row = Row(name=_text(record, name), unit=_text(record, "unit"), ours=_spread(record, ours),
              better=_one_of(record, "better", ("more", "less", ""), ""))
    if record.get("ratio") is not None:
        row.against = _text(record, "against")
        row.theirs = _spread(record, "theirs")
        row.ratio = _spread(record, "ratio")
    if record.get("target") is not None:
        row.target = _number(record, "target")
        row.reached = _member(record, "reached", bool)
    return row


def _step(record):
    figures = {}
    for figure in _member(record, "figures", list):
        if not isinstance(figure, dict):
            raise Misunderstood(f"a figure is not an object: {figure}")
        name = _text(figure, "name")
        if name in figures:
            raise Misunderstood(f"the figure \"{name}\" comes twice")
        figures[name] = Spread(**_spread_members(figure))
    return Step(_text(record, "x"), _text(record, "contestant"), figures)


class Results:
    """Scenarios in the order of arrival."""

    def __init__(self):
        self.scenarios = []
        self._run = {}

    def add(self, record):
        """Adds a line. Raises Misunderstood if the line is invalid."""
        kind = _text(record, "kind")
        if kind == "run":
            self._run = record
        elif kind == "scenario":
            scenario = _scenario(record)
            if self.find(scenario.name):
                raise Misunderstood(f"the scenario {scenario.name} comes twice")
            scenario.run = self._run
            scenario.records.append(record)
            self.scenarios.append(scenario)
        else:
            self._add_to_scenario(kind, record)

    def _add_to_scenario(self, kind, record):
        scenario = self.find(_text(record, "scenario"))
        if not scenario:
            raise Misunderstood(f"the scenario {record['scenario']} has not been announced")
        if kind == "point":
            self._add_point(scenario, record)
        elif kind == "row":
            scenario.rows.append(_row(record))
        elif kind == "left_out":
            scenario.left_out.append(LeftOut(_text(record, "contestant"), _text(record, "why")))
        elif kind == "figures":
            scenario.steps.append(_step(record))
        elif kind == "failed":
            scenario.failed = _text(record, "why")
        else:
            raise Misunderstood(f"there is no kind {kind}")
        scenario.records.append(record)

    def _add_point(self, scenario, record):
        name = _text(record, "chart")
        chart = next((chart for chart in scenario.charts if chart.name == name), None)
        if not chart:
            raise Misunderstood(f"{scenario.name} has no chart {name}")
        x = _text(record, "x") if chart.x_scale == "words" else _number(record, "x")
        chart.points.append(Point(series=_text(record, "series"), x=x, **_spread_members(record)))

    def find(self, name):
        return next((scenario for scenario in self.scenarios if scenario.name == name), None)

    def fail(self, name, why):
        """Marks a known scenario as failed."""
        self.add({"kind": "failed", "scenario": name, "why": why})

    def lines(self):
        """Returns the lines of a results file with all scenarios."""
        last = {}
        for scenario in self.scenarios:
            if scenario.run != last:
                last = scenario.run
                yield to_line(last)
            yield from map(to_line, scenario.records)


def to_line(record):
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def read(lines):
    """Parses lines. Raises Misunderstood, with the number of the line, if one is invalid."""
    results = Results()
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                results.add(parse(line))
        except Misunderstood as error:
            raise Misunderstood(f"line {number}: {error}") from None
    return results


def merged(old, new, order):
    """Returns the scenarios of both; a new scenario replaces the old one. The order is that of
    `order`.
    """
    scenarios = {scenario.name: scenario for scenario in [*old.scenarios, *new.scenarios]}
    both = Results()
    # Scenarios that no longer exist are dropped.
    both.scenarios = [scenarios[name] for name in order if name in scenarios]
    return both
