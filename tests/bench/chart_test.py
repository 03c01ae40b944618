"""A chart is well-formed and complete, and its labels lie inside it without overlapping."""

import itertools
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

import canvas
import chart
import invented
import lettering
import marks
import results
import tap

CHROMIUM = shutil.which("chromium", path="/usr/bin") or shutil.which("chromium")
NAMESPACE = "{" + canvas.SVG + "}"
# Asks a real browser for the bounding boxes of the texts in each picture.
LOOK = """<script>
const wrong = [];
for (const svg of document.querySelectorAll('svg')) {
  const box = svg.viewBox.baseVal;
  const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBBox()]);
  for (const [i, [text, a]] of texts.entries()) {
    if (a.x < 0 || a.y < 0 || a.x + a.width > box.width || a.y + a.height > box.height)
      wrong.push(svg.id + ': outside: ' + text);
    for (const [other, b] of texts.slice(i + 1))
      if (a.x < b.x + b.width && b.x < a.x + a.width && a.y + 3 < b.y + b.height && b.y + 3 < a.y + a.height)
        wrong.push(svg.id + ': ' + text + ' meets ' + other);
  }
}
document.body.textContent = 'WRONG' + JSON.stringify([document.querySelectorAll('svg').length, wrong]) + 'END';
</script>"""


def pictures():
    for one in invented.many():
        for narrow in (False, True):
            yield one, narrow, chart.draw(invented.scenario(one), one, narrow=narrow)


def boxes(root):
    """Returns each text with its estimated bounding box."""
    for text in root.iter(NAMESPACE + "text"):
        size = float(text.get("font-size", canvas.SIZE))
        width = lettering.width(text.text, size, text.get("font-weight") == "600")
        x = float(text.get("x")) - {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
        y = float(text.get("y"))
        yield text.text, (x, y - 0.75 * size, x + width, y + 0.2 * size)


def letters(text):
    return re.sub(r"\s", "", canvas.clean(text))


class Pictures(unittest.TestCase):
    def test_labels_are_inside_of_the_picture_and_do_not_overlap(self):
        for one, narrow, text in pictures():
            root = xml.fromstring(text)
            _, _, width, height = map(float, root.get("viewBox").split())
            found = list(boxes(root))
            for index, (label, (left, top, right, bottom)) in enumerate(found):
                where = f"{one.name} {narrow}: {label}"
                self.assertTrue(0 <= left and 0 <= top and right <= width + 0.1 and bottom <= height, where)
                for other, (left2, top2, right2, bottom2) in found[index + 1:]:
                    self.assertFalse(left < right2 and left2 < right and top < bottom2 and top2 < bottom,
                                     f"{where} meets {other}")

    def test_all_shapes_are_inside_of_the_picture(self):
        for one, narrow, text in pictures():
            root = xml.fromstring(text)
            _, _, width, height = map(float, root.get("viewBox").split())
            for line in root.iter(NAMESPACE + "polyline"):
                for place in line.get("points").split():
                    x, y = map(float, place.split(","))
                    self.assertTrue(0 <= x <= width and 0 <= y <= height, (one.name, narrow, place))
            for bar in root.iter(NAMESPACE + "rect"):
                self.assertLessEqual(float(bar.get("x", 0)) + float(bar.get("width")), width)
                self.assertLessEqual(float(bar.get("y", 0)) + float(bar.get("height")), height)

    def test_all_series_words_and_titles_are_present(self):
        for one, narrow, text in pictures():
            root = xml.fromstring(text)
            shown = letters("".join(element.text for element in root.iter(NAMESPACE + "text")))
            names = {point.series for point in one.points} | {one.title, one.x, one.y}
            if one.x_scale == "words":
                names |= set(invented.WORDS)
            for name in names:
                self.assertIn(letters(name), shown, (one.name, narrow))

    def test_each_point_has_a_marker_with_its_value(self):
        one = invented.chart("log", "log", ["Redis", "Rocklock"])
        root = xml.fromstring(chart.draw(invented.scenario(one), one))
        tips = [element.text for path in root.iter(NAMESPACE + "path") for element in path]
        self.assertEqual(len(tips), len(one.points))
        self.assertTrue(any(tip.startswith("Rocklock: ") and tip.endswith("at 16 clients") for tip in tips))

    def test_ranges_are_drawn_if_there_are_any(self):
        one = invented.chart("log", "log", ["Redis"])
        with_ranges = chart.draw(invented.scenario(one), one)
        for point in one.points:
            point.low = point.high = point.median
        without = chart.draw(invented.scenario(one), one)
        self.assertIn("lowest round", with_ranges)
        self.assertNotIn("lowest round", without)
        self.assertEqual(with_ranges.count("stroke-opacity=\"0.75\""), len(one.points))
        self.assertEqual(without.count("stroke-opacity=\"0.75\""), 0)

    def test_it_shows_the_better_direction_and_the_scale(self):
        one = invented.chart("log", "log", ["Redis"], better="less")
        text = chart.draw(invented.scenario(one), one)
        self.assertIn("pairs a second (log scale) – less is better", text)
        self.assertIn("<desc id=\"hot-log-log-desc\">pairs a second over clients. Less is better. Redis: 2: ",
                      text)

    def test_bars_are_as_long_as_their_values(self):
        one = results.Chart("kinds", "Kinds", "", "words", "seconds", "linear", "less",
                            [invented.point("Redis", "a", 10, 0), invented.point("Redis", "b", 40, 0)])
        root = xml.fromstring(chart.draw(invented.scenario(one), one))
        widths = [float(rect.get("width")) for rect in root.iter(NAMESPACE + "rect") if len(rect)]
        self.assertAlmostEqual(widths[1] / widths[0], 4, places=2)

    def bars(self, medians, y_scale, share=0):
        """Returns the picture of a chart with bars, the widths of the bars, and the texts of the
        picture.
        """
        one = results.Chart("kinds", "Kinds", "", "words", "seconds", y_scale, "less",
                            [invented.point("Redis", str(index), median, share) for index, median in enumerate(medians)])
        root = xml.fromstring(chart.draw(invented.scenario(one), one))
        widths = [float(rect.get("width")) for rect in root.iter(NAMESPACE + "rect") if len(rect)]
        return root, widths, [text.text for text in root.iter(NAMESPACE + "text")]

    def test_bars_begin_at_zero_on_every_scale(self):
        for y_scale in ("log", "linear"):
            _, widths, texts = self.bars([10, 1000], y_scale, 0.1)
            self.assertAlmostEqual(widths[1] / widths[0], 100, places=0)
            self.assertIn("0", texts)
            self.assertNotIn("log scale", "".join(texts))
            self.assertIn("Bars are medians", "".join(texts))

    def test_values_far_apart_are_points_on_a_logarithmic_scale(self):
        for y_scale in ("log", "linear"):
            root, widths, texts = self.bars([10, 1001, 0], y_scale, 0.1)
            self.assertEqual(widths, [])
            self.assertIn("seconds (log scale; 0 lies apart)", "".join(texts))
            self.assertIn("Points are medians", "".join(texts))
            tips = [element.text for path in root.iter(NAMESPACE + "path") for element in path]
            self.assertEqual(len(tips), 3)
            self.assertTrue(tips[0].startswith("Redis, 0: 10.0 (9.00–11.0) seconds"))

    def line_parts(self, medians, y_scale="log"):
        """Returns the number of points in each line, and the picture."""
        one = results.Chart("rate", "Rate", "clients", "log", "a second", y_scale, "more",
                            [invented.point("Redis", 2 ** x, median, 0) for x, median in enumerate(medians)])
        text = chart.draw(invented.scenario(one), one)
        return [len(line.get("points").split()) for line in xml.fromstring(text).iter(NAMESPACE + "polyline")], text

    def test_no_line_leads_to_a_separate_zero(self):
        for medians, parts in (([0, 10, 20], [2]), ([1, 10, 20], [3]), ([0, 0, 5], [2]), ([5, 0, 5], [])):
            self.assertEqual(self.line_parts(medians)[0], parts)
        apart, whole = self.line_parts([0, 10, 20])[1], self.line_parts([1, 10, 20])[1]
        self.assertIn("a second (log scale; 0 lies apart)", apart)
        self.assertIn("a second (log scale) –", whole)
        # The two strokes that mark a break of the axis.
        self.assertEqual((apart.count("l10 -4"), whole.count("l10 -4")), (2, 0))
        parts, linear = self.line_parts([0, 10, 20], "linear")
        self.assertEqual((parts, linear.count("l10 -4")), ([3], 0))

    def test_a_single_round_is_reported(self):
        one = invented.chart("log", "log", ["Redis"])
        for point in one.points:
            point.rounds, point.low, point.high = [point.median], point.median, point.median
        text = chart.draw(invented.scenario(one), one)
        self.assertEqual(text.count(" (one round) pairs a second"), len(one.points))

    def test_odd_values(self):
        chance = random.Random(3)
        for _ in range(200):
            x_scale = chance.choice(["log", "linear", "words"])
            one = results.Chart("odd", "Odd", "x", x_scale, "y", chance.choice(["log", "linear"]), "")
            for _ in range(chance.randint(1, 6)):
                value = chance.choice([0, 0, 1, 1e-12, 1e15, -4, 10 ** chance.uniform(-9, 12)])
                x = chance.choice([0, 1, 1e9, -2, 0.5])
                one.points.append(results.Point(value, value, value, chance.choice("ab"),
                                                str(x) if x_scale == "words" else x))
            self.assertTrue(chart.draw(invented.scenario(one), one))

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_no_label_is_outside_or_overlaps_in_a_browser(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rocklock-chart-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        drawn = [text.replace("<svg ", f"<svg id=\"{one.name} {narrow}\" ", 1) for one, narrow, text in pictures()]
        page = folder / "page.html"
        page.write_text("<!DOCTYPE html><meta charset=utf-8><body>" + "".join(drawn) + LOOK, encoding="utf-8")
        said = subprocess.run(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=100,
            env={"HOME": str(folder), "PATH": "/usr/bin:/bin"}, check=True).stdout
        found = re.search("WRONG(.*)END", said, re.DOTALL)
        self.assertTrue(found, said[:500])
        count, wrong = json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        self.assertEqual((count, wrong), (len(drawn), []))


# Colour perception with all cones, and without each of the three kinds: Machado, Oliveira,
# Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", 2009.
EYES = [((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
        ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
        ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900))]
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1, 1.08883)


def times(matrix, vector):
    return [min(max(sum(a * b for a, b in zip(row, vector)), 0), 1.1) for row in matrix]


def light(colour):
    """Returns the linear red, green and blue of a colour."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one, other):
    """Returns the contrast ratio as defined by WCAG."""
    dark, bright = sorted(times(TO_XYZ, light(colour))[1] for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


def lab(colour, eye):
    x, y, z = (value / white for value, white in zip(times(TO_XYZ, times(eye, light(colour))), WHITE))
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


class Colours(unittest.TestCase):
    def test_they_are_distinguishable_with_colour_blindness_and_from_the_background(self):
        for colours, back in zip(zip(*marks.COLOURS), ("#ffffff", "#14181d")):
            self.assertIn(f"fill: {back}", marks.STYLE)
            self.assertGreaterEqual(min(contrast(colour, back) for colour in colours), 3)
            for one, other in itertools.combinations(colours, 2):
                for eye in EYES:
                    self.assertGreaterEqual(math.dist(lab(one, eye), lab(other, eye)), 20, (one, other))


class Marks(unittest.TestCase):
    def test_rocklock_is_first_and_heavier(self):
        looks = marks.marks(["etcd", "Rocklock, durable", "Redis", "Rocklock, in memory"])
        self.assertEqual(list(looks), ["Rocklock, durable", "Rocklock, in memory", "etcd", "Redis"])
        self.assertEqual([mark.heavy for mark in looks.values()], [True, True, False, False])

    def test_a_contestant_keeps_its_colour(self):
        first = marks.marks(["Redis, synced", "etcd", "Rocklock"])
        second = marks.marks(["Rocklock", "optimistic", "etcd", "Redis, no log"])
        self.assertEqual(first["etcd"].colour, second["etcd"].colour)
        self.assertEqual(first["Redis, synced"].colour, second["Redis, no log"].colour)

    def test_each_family_has_a_unique_colour_and_mark(self):
        families = [["Rocklock, durable", "Rocklock daemon", "daemon, written", "Rocklock"],
                    ["Rocklock embedded", "embedded, durable", "Rocklock embedded, 16 threads"],
                    ["Rocklock, durable, over HTTP", "Rocklock over HTTP"], ["Redis", "Redis, no log"],
                    ["memcached"], ["PostgreSQL, row lock", "PostgreSQL, advisory lock"], ["etcd"],
                    ["RocksDB TransactionDB", "RocksDB", "raw RocksDB"], ["dynalite, LevelDB"],
                    ["DynamoDB Local, on file"]]
        colours = [{marks.family(name) for name in names} for names in families]
        self.assertEqual({len(one) for one in colours}, {1})
        self.assertEqual(set.union(*colours), set(range(len(marks.COLOURS))))
        self.assertEqual(len({mark.shape for mark in marks.marks(names[0] for names in families).values()}),
                         len(families))
        for name in ("embeddedness", "Redistribution", "optimistic", "not Redis", "shows its lock"):
            self.assertIsNone(marks.family(name))

    def test_a_contestant_looks_the_same_in_all_scenarios(self):
        scenarios = [
            ["Rocklock daemon", "Rocklock over HTTP", "Rocklock embedded", "RocksDB TransactionDB",
             "Redis, always synced", "PostgreSQL, row lock", "etcd", "Redis, synced every second", "Redis, no log",
             "memcached", "PostgreSQL, advisory lock"],
            ["Rocklock, durable", "Rocklock, in memory", "Redis, always synced", "Redis, no log"],
            ["embedded, durable", "embedded, written", "daemon, durable"],
            ["who waits before: the median", "Rocklock embedded, written", "Redis, no log"],
            ["Rocklock, in memory", "dynalite, in memory", "DynamoDB Local, in memory", "Rocklock, written",
             "Rocklock, durable", "dynalite, LevelDB", "DynamoDB Local, on file"],
            ["Rocklock embedded, closed before", "Rocklock embedded, killed before", "Rocklock embedded",
             "Redis, from its RDB file", "Redis"],
            ["Redis, no log", "Redis", "Rocklock embedded", "RocksDB TransactionDB"]]
        looks = {}
        for names in scenarios:
            for name, mark in marks.marks(names).items():
                self.assertEqual(looks.setdefault(name, mark), mark, name)
        self.assertEqual(looks["embedded, written"], looks["Rocklock embedded, written"])

    def test_no_two_look_the_same(self):
        looks = marks.marks(invented.SERIES)
        seen = {(mark.colour, mark.dash) for mark in looks.values()}
        self.assertEqual(len(seen), len(invented.SERIES))
        shapes = {(mark.colour, mark.shape) for mark in looks.values()}
        self.assertEqual(len(shapes), len(invented.SERIES))


if __name__ == "__main__":
    tap.main()
