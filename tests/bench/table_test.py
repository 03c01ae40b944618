"""The table contains every row, marks targets that were missed, and escapes texts."""

import unittest

import results
import table
import tap


def spread(value, low=None, high=None, **more):
    return results.Spread(value, value if low is None else low, value if high is None else high, **more)


def steps():
    """Returns steps of two contestants, only one of which has all metrics."""
    return [results.Step("16", "Redis", {"a second": spread(40, 30, 50), "p50, µs": spread(7, 6, 8)}),
            results.Step("16", "a|b", {"a second": spread(20, rounds=[20]), "p50, µs": spread(9, 8, 10),
                                       "Jain's index": spread(0.9, 0.8, 1)})]


def scenario(**more):
    ratio = results.Spread(0.8, 0.71, 0.98)
    rows = [results.Row("hand-off", "a second", results.Spread(3494, 2945, 3664), "Redis, synced",
                        results.Spread(4153, 3553, 5122), ratio, 1, False),
            results.Row("a|b <i>*x*", "pairs/s", results.Spread(2, 2, 2), "etcd",
                        results.Spread(1, 1, 1), results.Spread(2, 2, 2), 1.5, True),
            results.Row("no target", "s", results.Spread(2, 2, 2), "etcd", results.Spread(1, 1, 1),
                        results.Spread(2, 2, 2))]
    alone = [results.Row("restart", "s", results.Spread(0.7, 0.6, 0.9), target=1, reached=True,
                         better="less"),
             results.Row("Jain's index", "", results.Spread(1, 1, 1), target=0.99, reached=True)]
    return results.Scenario("hot", "Hot", "", [], rows + alone, **more)


class Table(unittest.TestCase):
    def test_markdown(self):
        lines = table.lines_of([scenario(left_out=[results.LeftOut("memcached", "not *installed*")])])
        self.assertEqual(lines, [
            "| scenario | what | Rocklock | against | ratio | target | |",
            "|---|---|---|---|---|---|---|",
            "| hot | hand-off | 3494 (2945–3664) a second | Redis, synced: 4153 (3553–5122) | "
            "0.80 × (0.71–0.98) | 1.00 × | **missed, slower** |",
            "| hot | a\\|b &lt;i&gt;\\*x\\* | 2.00 pairs/s | etcd: 1.00 | 2.00 × | 1.50 × | reached |",
            "| hot | no target | 2.00 s | etcd: 1.00 | 2.00 × | | |",
            "", "By itself:", "",
            "| scenario | what | Rocklock | target | |", "|---|---|---|---|---|",
            "| hot | restart | 0.70 (0.60–0.90) s | ≤ 1.00 | reached |",
            "| hot | Jain's index | 1.00 | 0.99 | reached |",
            "", "Left out:", "", "- memcached: not \\*installed\\* (hot)",
            "", "3 of 4 targets reached, 1 missed; 1 row has no target"])

    def test_slower_rows_are_reported_with_and_without_a_target(self):
        def verdict(ratio, **more):
            return table.verdict(results.Row("", "", spread(1), "etcd", spread(1), spread(ratio), **more))

        self.assertEqual([verdict(0.9), verdict(1), verdict(2)], ["slower", "", ""])
        self.assertEqual([verdict(0.9, target=0.5, reached=True), verdict(0.9, target=1, reached=False),
                          verdict(1.1, target=2, reached=False), verdict(1.1, target=1, reached=True)],
                         ["reached, slower", "missed, slower", "missed", "reached"])
        alone = results.Row("", "", spread(0.5), target=0.7, reached=True)
        self.assertEqual(table.verdict(alone), "reached")
        self.assertEqual([result for result in ("", "reached", "missed", "slower", "missed, slower", "reached, slower")
                          if table.is_bad(result)], ["missed", "slower", "missed, slower"])

    def test_only_rows_with_a_target_are_counted(self):
        one = scenario()
        self.assertEqual(table.summary([one, one]), "6 of 8 targets reached, 2 missed; 2 rows have no target")
        one.rows = [row for row in one.rows if row.target is None]
        self.assertEqual(table.summary([one]), "1 row has no target")
        one.rows = []
        self.assertEqual(table.summary([one]), "no row has a target")

    def test_columns_of_a_terminal(self):
        lines = table.lines_of([scenario()], terminal=True, bold=True)
        rows = lines[2:5]
        self.assertEqual(lines[0].index("ratio"), rows[0].index("0.80 ×"))
        self.assertEqual(lines[0].index("ratio"), rows[1].index("2.00 ×"))
        self.assertIn("\033[1mmissed, slower\033[0m", rows[0])
        self.assertNotIn("\033", "".join(table.lines_of([scenario()], terminal=True)))
        self.assertNotIn("\033", "".join(table.lines_of([scenario()])))

    def test_control_characters_do_not_reach_a_terminal(self):
        one = scenario(failed="\033[2Jgone\r\n")
        one.rows[0].name = "\033]0;title\007\nname"
        printed = "\n".join(table.lines_of([one], terminal=True))
        self.assertNotIn("\033", printed)
        self.assertNotIn("\007", printed)
        self.assertIn("name", printed)

    def test_wide_letters_keep_the_columns(self):
        one = scenario()
        one.rows[0].name = "漢字"
        lines = table.aligned(table.COMPARED, table.compared_lines([one]))
        self.assertEqual(lines[2].index("3494") + 2, lines[3].index("2.00"))

    def test_a_shared_reason_is_reported_once(self):
        left_out = [results.LeftOut("etcd", "absent")]
        others = [scenario(left_out=left_out), scenario(left_out=left_out * 2)]
        others[1].name = "cold"
        self.assertEqual(table.left_out(others), [("etcd", "absent", ["hot", "cold"])])

    def test_without_rows_all_measured_values_are_shown(self):
        one = results.Scenario("zipf", "Zipf", "", [results.Chart("c", "", "clients", "log", "", "log", "")],
                               steps=steps())
        lines = table.lines_of([scenario(), one])
        self.assertEqual(lines[lines.index("All measurements of zipf:"):][2:6], [
            "| clients | contestant | a second | p50, µs | Jain's index |", "|---|---|---|---|---|",
            "| 16 | Redis | 40.0 (30.0–50.0) | 7.00 | |",
            "| 16 | a\\|b | 20.0 (one round) | 9.00 | 0.90 |"])
        # On a terminal, columns are aligned; with few metrics, all have ranges.
        del one.steps[1].figures["Jain's index"]
        lines = table.lines_of([one], terminal=True)
        self.assertEqual(lines[2].split(), ["clients", "contestant", "a", "second", "p50,", "µs"])
        self.assertIn("7.00 (6.00–8.00)", lines[4])
        # With rows, the steps are shown on the page only.
        self.assertNotIn("contestant", "\n".join(table.lines_of([scenario(steps=steps())])))

    def test_figures_of_a_scenario_without_charts(self):
        one = results.Scenario("zipf", "Zipf", "", [], steps=steps())
        self.assertEqual(table.step_head(one), ["what", "contestant", "a second", "p50, µs", "Jain's index"])
        self.assertEqual(table.step_lines(one)[1],
                         ["16", "a|b", "20.0 (one round)", "9.00 (8.00–10.0)", "0.90 (0.80–1.00)"])
        one.steps[0].figures = {"\033[2J|x": spread(1)}
        self.assertNotIn("\033", "".join(table.lines_of([one], terminal=True)))
        self.assertIn("\\|x", "".join(table.lines_of([one])))

    def test_failures_are_reported(self):
        lines = table.lines_of([scenario(failed="status 3: no room")])
        self.assertIn("- hot: status 3: no room", lines)
        self.assertTrue(lines[-1].endswith("1 scenario failed"))


if __name__ == "__main__":
    tap.main()
