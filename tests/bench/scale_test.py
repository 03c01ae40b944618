"""Ticks are round numbers around the values, positions match values, and labels do not overlap."""

import random
import unittest

import figures
import lettering
import results
import tap
from scale import Scale, linear_ticks, log_ticks


def digits(value):
    return f"{value:e}".split("e")[0].rstrip("0").rstrip(".")


class Ticks(unittest.TestCase):
    def test_linear(self):
        self.assertEqual(linear_ticks(0, 23300), [0, 5000, 10000, 15000, 20000, 25000])
        self.assertEqual(linear_ticks(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1])
        self.assertEqual(linear_ticks(0, 0.3), [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
        self.assertEqual(linear_ticks(-3, 7), [-4, -2, 0, 2, 4, 6, 8])
        self.assertEqual(linear_ticks(5, 5)[0], 5)

    def test_logarithmic(self):
        self.assertEqual(log_ticks(141, 22000), [100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000])
        self.assertEqual(log_ticks(60, 70000), [10, 100, 1000, 10000, 100000])
        self.assertEqual(log_ticks(1e4, 1e7), [1e4, 1e5, 1e6, 1e7])
        self.assertEqual(log_ticks(3, 9), [3, 4, 5, 7, 10])
        self.assertGreaterEqual(len(log_ticks(1000, 1100)), 3)
        self.assertLessEqual(len(log_ticks(1e-9, 1e12)), 12)

    def test_any_values_are_enclosed_by_few_round_ticks(self):
        chance = random.Random(1)
        for _ in range(3000):
            low = 10 ** chance.uniform(-8, 9)
            high = low * 10 ** chance.choice([0, 0.01, chance.uniform(0, 12)])
            for ticks in (linear_ticks(low, high), linear_ticks(0, high), log_ticks(low, high)):
                self.assertEqual(ticks, sorted(set(ticks)), (low, high))
                self.assertLessEqual(2, len(ticks), (low, high))
                self.assertLessEqual(len(ticks), 12, (low, high, ticks))
                self.assertLessEqual(ticks[0], low * (1 + 1e-9), (low, high))
                self.assertGreaterEqual(ticks[-1], high * (1 - 1e-9), (low, high))
            for tick in log_ticks(low, high) if high / low > 2 else []:
                self.assertIn(digits(tick), "1 2 3 4 5 7".split(), (low, high))


class Places(unittest.TestCase):
    def test_each_factor_of_ten_has_the_same_length(self):
        scale = Scale("log", [1, 1000], 0, 300)
        self.assertEqual([round(scale.position(value), 6) for value in (1, 10, 100, 1000)],
                         [0, 100, 200, 300])

    def test_a_linear_axis_begins_at_zero(self):
        scale = Scale("linear", [80, 100], 300, 0, from_zero=True)
        self.assertEqual((scale.position(0), scale.position(50), scale.position(100)), (300, 150, 0))

    def test_zero_has_a_place_on_a_logarithmic_axis(self):
        scale = Scale("log", [0, 1, 100], 300, 0)
        self.assertTrue(scale.log)
        self.assertEqual(scale.ticks[0], 0)
        self.assertEqual(scale.position(0), 300)
        self.assertLess(scale.position(1), 300)
        self.assertEqual(scale.position(100), 0)

    def test_negative_values_make_it_linear(self):
        scale = Scale("log", [-5, 10], 0, 100)
        self.assertFalse(scale.log)
        self.assertLessEqual(0, scale.position(-5))

    def test_a_single_value(self):
        for kind in ("log", "linear"):
            for value in (0, 1, 42, 1e-5):
                scale = Scale(kind, [value], 0, 100, tight=True)
                self.assertTrue(0 <= scale.position(value) <= 100, (kind, value))


class Labels(unittest.TestCase):
    def test_labels_stay_in_place_if_they_have_room(self):
        self.assertEqual(lettering.share([10, 50, 90], [20, 20, 20], 0, 100), [10, 50, 90])

    def test_labels_never_overlap(self):
        chance = random.Random(2)
        for _ in range(1000):
            count = chance.randint(1, 12)
            wanted = [chance.uniform(0, 300) for _ in range(count)]
            heights = [chance.choice([18, 34]) for _ in range(count)]
            places = lettering.share(wanted, heights, 0, max(300, sum(heights)))
            boxes = sorted((place - height / 2, place + height / 2)
                           for place, height in zip(places, heights))
            self.assertGreaterEqual(boxes[0][0], -1e-6)
            self.assertLessEqual(boxes[-1][1], max(300, sum(heights)) + 1e-6)
            for (_, end), (begin, _) in zip(boxes, boxes[1:]):
                self.assertLessEqual(end, begin + 1e-6)

    def test_lines_are_not_wider_than_the_maximum(self):
        for text in ("conditional put and delete, durable", "x" * 200, "a " * 90, "漢字" * 40, ""):
            lines = lettering.wrap(text, 13, 120)
            self.assertEqual("".join(lines).replace(" ", ""), text.replace(" ", ""))
            self.assertLessEqual(max(lettering.width(line, 13) for line in lines), 120)


class Figures(unittest.TestCase):
    def test_short(self):
        for value, text in ((0, "0"), (0.0123, "0.012"), (0.8, "0.80"), (1, "1.00"), (9.999, "10.0"),
                            (57.26, "57.3"), (999.7, "1000"), (3076, "3076"), (9999.7, "10.0k"),
                            (22012, "22.0k"), (999600, "1.00M"), (1.5e9, "1.50G"), (-12, "-12.0")):
            self.assertEqual(figures.short(value), text)

    def test_ranges(self):
        for rounds, text in (([], "2.00 s (1.00–3.00)"), ([1, 2, 3], "2.00 s (1.00–3.00)"),
                             ([2], "2.00 s (one round)")):
            self.assertEqual(figures.spread(results.Spread(2, 1, 3, rounds=rounds), " s"), text)
        self.assertEqual(figures.spread(results.Spread(2, 2, 2)), "2.00")
        self.assertEqual(figures.spread(results.Spread(2, 2, 2, rounds=[2, 2])), "2.00")

    def test_ticks_are_exact(self):
        for value, text in ((0, "0"), (0.3, "0.3"), (256, "256"), (1000, "1k"), (1024, "1024"),
                            (1500, "1.5k"), (10000, "10k"), (65536, "65536"), (1e6, "1M"),
                            (0.00001, "0.00001"), (-5, "-5")):
            self.assertEqual(figures.tick(value), text)

    def test_durations(self):
        self.assertEqual([figures.duration(value) for value in (7.9, 754, 3723)],
                         ["0:07", "12:34", "1:02:03"])


if __name__ == "__main__":
    tap.main()
