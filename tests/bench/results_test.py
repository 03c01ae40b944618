"""Valid lines are parsed and stored in order; invalid lines are rejected."""

import json
import unittest

import results
import tap

SCENARIO = {"kind": "scenario", "name": "hot", "title": "Hot", "says": "It is.", "charts": [
    {"name": "rate", "title": "Rate", "x": "clients", "x_scale": "log", "y": "pairs a second",
     "y_scale": "log", "better": "more"},
    {"name": "kinds", "title": "Kinds", "x": "", "x_scale": "words", "y": "seconds",
     "y_scale": "linear", "better": ""}]}
POINT = {"kind": "point", "scenario": "hot", "chart": "rate", "series": "Redis", "x": 16,
         "median": 2, "low": 1, "high": 3}
SPREAD = {"median": 2, "low": 1, "high": 3}
ROW = {"kind": "row", "scenario": "hot", "name": "pairs", "unit": "pairs/s", "ours": SPREAD,
       "against": "Redis", "theirs": SPREAD, "ratio": SPREAD, "target": 1.5, "reached": True}
FIGURES = {"kind": "figures", "scenario": "hot", "x": "16", "contestant": "Redis",
           "figures": [{"name": "a second", **SPREAD, "rounds": [1, 2, 3]}, {"name": "p50, µs", **SPREAD}]}
RUN = {"kind": "run", "date": "2026-01-02"}


def lines(*records):
    return [json.dumps(record) for record in records]


class Reading(unittest.TestCase):
    def refused(self, *records):
        with self.assertRaises(results.Misunderstood) as caught:
            results.read(record if isinstance(record, str) else json.dumps(record)
                         for record in records)
        return str(caught.exception)

    def test_all_kinds(self):
        left_out = {"kind": "left_out", "scenario": "hot", "contestant": "etcd", "why": "absent"}
        found = results.read(lines(RUN, SCENARIO, POINT, ROW, left_out,
                                   POINT | {"chart": "kinds", "x": "a word"}))
        scenario = found.find("hot")
        self.assertEqual(scenario.run, RUN)
        self.assertEqual(scenario.charts[0].points[0].x, 16)
        self.assertEqual(scenario.charts[1].points[0].x, "a word")
        self.assertEqual((scenario.rows[0].ratio.high, scenario.rows[0].reached), (3, True))
        self.assertEqual(scenario.left_out[0].contestant, "etcd")

    def test_a_row_in_the_format_of_the_other_benchmarks(self):
        row = {"kind": "row", "scenario": "hot", "row": "pairs", "unit": "s", "rocklock": SPREAD}
        found = results.read(lines(SCENARIO, row)).find("hot").rows[0]
        self.assertEqual((found.name, found.ours.low, found.ratio, found.target), ("pairs", 1, None, None))

    def test_figures_of_a_step(self):
        steps = results.read(lines(SCENARIO, FIGURES, FIGURES | {"x": "", "figures": []})).find("hot").steps
        self.assertEqual([(step.x, step.contestant, list(step.figures)) for step in steps],
                         [("16", "Redis", ["a second", "p50, µs"]), ("", "Redis", [])])
        self.assertEqual([figure.rounds for figure in steps[0].figures.values()], [[1, 2, 3], []])

    def test_rounds_of_rows_and_points(self):
        with_rounds = SPREAD | {"rounds": [2, 1, 3.5]}
        found = results.read(lines(SCENARIO, POINT | {"rounds": [2]}, POINT,
                                   ROW | {"ours": with_rounds, "theirs": with_rounds, "ratio": with_rounds})).find("hot")
        row = found.rows[0]
        self.assertEqual([spread.rounds for spread in (row.ours, row.theirs, row.ratio)], [[2, 1, 3.5]] * 3)
        self.assertEqual([point.rounds for point in found.charts[0].points], [[2], []])

    def test_unknown_lines_are_reported(self):
        for wrong in ("junk", "[]", "null", "1", "{\"kind\":", "[" * 100000, {"kind": 1}, {},
                      {"kind": "party", "scenario": "hot"}, POINT | {"scenario": "cold"},
                      POINT | {"chart": "none"}, POINT | {"x": "16"}, POINT | {"x": True},
                      POINT | {"median": None}, POINT | {"median": 9}, POINT | {"series": 1},
                      POINT | {"chart": "kinds"}, ROW | {"ratio": 2}, ROW | {"reached": "yes"},
                      ROW | {"theirs": None}, ROW | {"unit": None}, SCENARIO,
                      SCENARIO | {"name": "../hot"}, SCENARIO | {"name": ""},
                      SCENARIO | {"name": "other", "charts": [{}]},
                      SCENARIO | {"name": "other", "charts": SCENARIO["charts"][:1] * 2},
                      POINT | {"rounds": 1}, POINT | {"rounds": ["1"]}, POINT | {"rounds": [True]},
                      POINT | {"rounds": [None]}, ROW | {"ours": SPREAD | {"rounds": [{}]}},
                      FIGURES | {"x": 16}, FIGURES | {"contestant": None}, FIGURES | {"figures": {}},
                      FIGURES | {"figures": [1]}, FIGURES | {"figures": [SPREAD]}, FIGURES | {"scenario": "cold"},
                      FIGURES | {"figures": [FIGURES["figures"][0]] * 2},
                      FIGURES | {"figures": [{"name": "a second", "median": 1, "low": 2, "high": 3}]},
                      json.dumps(POINT | {"rounds": [1]}).replace("[1]", "[1e999]"),
                      json.dumps(POINT | {"high": float("nan")}),
                      json.dumps(POINT | {"high": float("inf")}), json.dumps(POINT).replace("2", "1e999")):
            self.assertIn("line 2:", self.refused(SCENARIO, wrong), wrong)

    def test_a_line_of_the_wrong_kind_changes_nothing(self):
        found = results.read(lines(SCENARIO))
        before = list(found.lines())
        for wrong in (POINT | {"median": 9}, ROW | {"target": "x"}):
            with self.assertRaises(results.Misunderstood):
                found.add(wrong)
        self.assertEqual(list(found.lines()), before)


class Keeping(unittest.TestCase):
    def test_lines_are_kept_unchanged(self):
        text = [line + "\n" for line in (json.dumps(record, separators=(",", ":"), ensure_ascii=False)
                for record in (RUN, SCENARIO, POINT, ROW | {"name": "<é>", "more": 1}))]
        self.assertEqual(list(results.read(text).lines()), text)

    def test_a_failure_is_kept(self):
        found = results.read(lines(SCENARIO, POINT))
        found.fail("hot", "it broke")
        again = results.read(found.lines()).find("hot")
        self.assertEqual((again.failed, len(again.charts[0].points)), ("it broke", 1))

    def test_new_scenarios_replace_old_ones(self):
        other = RUN | {"date": "2026-02-03"}
        old = results.read(lines(RUN, SCENARIO, SCENARIO | {"name": "gone"}, SCENARIO | {"name": "cold"}))
        new = results.read(lines(other, SCENARIO | {"title": "New"}))
        both = results.read(results.merged(old, new, ["cold", "hot", "never"]).lines())
        self.assertEqual([(one.name, one.title, one.run["date"]) for one in both.scenarios],
                         [("cold", "Hot", "2026-01-02"), ("hot", "New", "2026-02-03")])


if __name__ == "__main__":
    tap.main()
