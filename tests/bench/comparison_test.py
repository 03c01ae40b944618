"""Results are compared row by row with earlier ones."""

import unittest

import comparison
import results
import tap


def spread(median, low, high):
    return results.Spread(median, low, high)


def ratio(name, median, low, high, **more):
    return results.Row(name, "pairs/s", spread(9, 8, 10), "Redis", spread(3, 2, 4), spread(median, low, high), **more)


def alone(name, median, low, high, **more):
    return results.Row(name, "ms", spread(median, low, high), **more)


def scenario(name, *rows):
    return results.Scenario(name, name, "", [], list(rows))


def compared(before, now):
    return comparison.lines([scenario("hot", *before)], [scenario("hot", *now)])


class Comparison(unittest.TestCase):
    def test_ratios_are_compared_and_differences_within_the_ranges_do_not_count(self):
        before = [ratio("a", 2, 1.5, 2.5), ratio("b", 2, 1.9, 2.1), ratio("c", 2, 1.9, 2.1)]
        now = [ratio("a", 2.4, 1.8, 3), ratio("b", 2.5, 2.2, 3), ratio("c", 1, 0.9, 1.2)]
        self.assertEqual([line[4:] for line in compared(before, now)],
                         [["1.20 ×", ""], ["1.25 ×", "better"], ["0.50 ×", "worse"]])
        self.assertEqual(compared(before, now)[0][:4],
                         ["hot", "a (against Redis)", "2.00 × (1.50–2.50)", "2.40 × (1.80–3.00)"])

    def test_less_is_better_for_times(self):
        before = [alone("a", 4, 3, 5, better="less"), alone("b", 4, 3, 5), alone("c", -4, -5, -3, better="less")]
        now = [alone("a", 2, 1, 2.5, better="less"), alone("b", 2, 1, 2.5), alone("c", 2, 1, 3, better="less")]
        self.assertEqual([line[4:] for line in compared(before, now)],
                         [["2.00 ×", "better"], ["0.50 ×", "worse"], ["", "worse"]])

    def test_targets_that_are_reached_or_missed_now(self):
        before = [ratio("a", 2, 1, 3, target=2.1, reached=False), ratio("b", 2, 1, 3, target=1.9, reached=True)]
        now = [ratio("a", 2.2, 1, 3, target=2.1, reached=True), ratio("b", 1.8, 1, 3, target=1.9, reached=False)]
        lines = compared(before, now)
        self.assertEqual([line[-1] for line in lines], ["reached now", "missed now"])
        self.assertEqual(comparison.summary(lines), "Compared 2 rows: 1 reached now, 1 missed now")

    def test_rows_without_a_counterpart_are_listed(self):
        lines = compared([ratio("gone", 1, 1, 1), alone("a", 1, 1, 1)], [ratio("a", 1, 1, 1), ratio("added", 1, 1, 1)])
        self.assertEqual([(line[1], line[-1]) for line in lines],
                         [("a (against Redis)", "new"), ("added (against Redis)", "new"),
                          ("gone (against Redis)", "not measured"), ("a", "not measured")])
        # A scenario that was not measured now is left out.
        self.assertEqual(comparison.lines([scenario("zipf", ratio("a", 1, 1, 1))], []), [])
        self.assertEqual(comparison.summary([]), "Compared 0 rows: no change beyond the ranges")


if __name__ == "__main__":
    tap.main()
