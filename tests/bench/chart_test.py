"""A chart is well-formed, tells all it has, and its labels lie in it and apart."""

import json
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
# Asks the browser itself where the letters of each picture are.
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
    """Each text with the edges of its box, guessed."""
    for text in root.iter(NAMESPACE + "text"):
        size = float(text.get("font-size", canvas.SIZE))
        width = lettering.width(text.text, size, text.get("font-weight") == "600")
        x = float(text.get("x")) - {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
        y = float(text.get("y"))
        yield text.text, (x, y - 0.75 * size, x + width, y + 0.2 * size)


def letters(text):
    return re.sub(r"\s", "", canvas.clean(text))


class Pictures(unittest.TestCase):
    def test_labels_lie_in_the_picture_and_apart(self):
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

    def test_all_that_is_drawn_lies_in_the_picture(self):
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

    def test_each_series_each_word_and_all_titles_are_there(self):
        for one, narrow, text in pictures():
            root = xml.fromstring(text)
            shown = letters("".join(element.text for element in root.iter(NAMESPACE + "text")))
            names = {point.series for point in one.points} | {one.title, one.x, one.y}
            if one.x_scale == "words":
                names |= set(invented.WORDS)
            for name in names:
                self.assertIn(letters(name), shown, (one.name, narrow))

    def test_each_point_has_a_marker_that_tells_its_value(self):
        one = invented.chart("log", "log", ["Redis", "Rocklock"])
        root = xml.fromstring(chart.draw(invented.scenario(one), one))
        tips = [element.text for path in root.iter(NAMESPACE + "path") for element in path]
        self.assertEqual(len(tips), len(one.points))
        self.assertTrue(any(tip.startswith("Rocklock: ") and tip.endswith("at 16 clients") for tip in tips))

    def test_ranges_are_drawn_where_there_are_some(self):
        one = invented.chart("log", "log", ["Redis"])
        with_ranges = chart.draw(invented.scenario(one), one)
        for point in one.points:
            point.low = point.high = point.median
        without = chart.draw(invented.scenario(one), one)
        self.assertIn("lowest round", with_ranges)
        self.assertNotIn("lowest round", without)
        self.assertEqual(with_ranges.count("stroke-opacity=\"0.75\""), len(one.points))
        self.assertEqual(without.count("stroke-opacity=\"0.75\""), 0)

    def test_it_says_what_is_better_and_which_scale(self):
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
    def test_a_browser_finds_no_label_outside_or_on_another(self):
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

    def test_no_two_look_the_same(self):
        looks = marks.marks(invented.SERIES)
        seen = {(mark.colour, mark.dash) for mark in looks.values()}
        self.assertEqual(len(seen), len(invented.SERIES))
        shapes = {(mark.colour, mark.shape) for mark in looks.values()}
        self.assertEqual(len(shapes), len(invented.SERIES))


if __name__ == "__main__":
    tap.main()
