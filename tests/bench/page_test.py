"""The page and its Markdown contain all results, escape all texts, and need no other file."""

import html.parser
import json
import pathlib
import re
import shutil
import tempfile
import unittest
import xml.etree.ElementTree as xml

import invented
import machine
import page
import results
import tap

VOID = {"meta", "br", "hr", "img", "link"}
RUN = {"kind": "run", "date": "2026-01-02 03:04 UTC", "processor": "A <fast> one", "cores": 2, "memory_gb": 3.8,
       "kernel": "Linux 6", "file_system": "ext4", "load_before": 0.1, "commit": "abc", "changed_since": True,
       "versions": {"Redis": "7.0.15"}, "settings": {"rounds": 5, "seconds": 0.3}}


class Reader(html.parser.HTMLParser):
    """Checks that tags are closed, and collects the contents."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.text = [], [], [], [], ""

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        named = dict(attrs)
        self.ids += [named["id"]] if "id" in named else []
        self.links += [named[name] for name in ("src", "href") if name in named]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


def lines_of_all():
    """Returns a results file with two scenarios, each with texts full of special characters."""
    hostile = "".join(letter for letter in invented.HOSTILE if letter.isprintable())
    spread = {"median": 0.8, "low": 0.7, "high": 0.9}
    records = [RUN]
    for name in ("hot", "cold"):
        charts = [{"name": "rate", "title": hostile, "x": "clients", "x_scale": "log", "y": "pairs a second",
                   "y_scale": "log", "better": "more"},
                  {"name": "empty", "title": "Nothing in it", "x": "", "x_scale": "words", "y": "s",
                   "y_scale": "log"}]
        records += [{"kind": "scenario", "name": name, "title": f"{name} {hostile}", "says": hostile,
                     "charts": charts},
                    {"kind": "point", "scenario": name, "chart": "rate", "series": hostile, "x": 2, **spread},
                    {"kind": "row", "scenario": name, "name": hostile, "unit": "pairs/s", "ours": spread,
                     "against": "etcd", "theirs": spread, "ratio": spread, "target": 1, "reached": False},
                    {"kind": "row", "scenario": name, "name": "alone", "unit": "s", "ours": spread},
                    {"kind": "figures", "scenario": name, "x": hostile, "contestant": hostile, "figures": [
                        {"name": hostile, **spread}, {"name": "p50, µs", **spread, "rounds": [0.8]},
                        {"name": "Jain's index", **spread}]},
                    {"kind": "left_out", "scenario": name, "contestant": "memcached", "why": hostile}]
    records.append({"kind": "failed", "scenario": "cold", "why": hostile})
    return [json.dumps(record) for record in records], hostile


class Page(unittest.TestCase):
    def setUp(self):
        lines, self.hostile = lines_of_all()
        self.found = results.read(lines)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rocklock-page-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def read(self):
        reader = Reader()
        reader.feed(page.page(self.found))
        reader.close()
        self.assertEqual(reader.open, [])
        return reader

    def test_texts_are_escaped(self):
        reader = self.read()
        self.assertNotIn("script", reader.tags)
        self.assertGreaterEqual(reader.text.count(self.hostile), 8)

    def test_it_contains_all_results(self):
        text = self.read().text
        for part in ("2026-01-02 03:04 UTC", "A <fast> one, 2 cores, 3.8 GB of memory", "Linux 6, ext4",
                     "abc, with changes", "Redis 7.0.15",
                     "5 rounds, 0.3 s per measurement, after one warm-up round", "0.80 × (0.70–0.90)", "missed", "alone",
                     "memcached", "This scenario failed.", "0 of 2 targets reached, 2 missed; 2 rows have no target; 1 scenario failed",
                     "All measurements", "0.80 (one round)", "The targets are the project's own",
                     "missed, slower", "If there was only one round"):
            self.assertIn(part, text)

    def test_it_needs_no_other_file(self):
        reader = self.read()
        self.assertEqual(set(reader.links), {"results.jsonl", "#hot", "#cold"})
        for link in reader.links:
            self.assertTrue(not link.startswith("#") or link[1:] in reader.ids)
        self.assertEqual(len(reader.ids), len(set(reader.ids)))
        self.assertNotIn("url(", page.page(self.found))
        self.assertNotIn("@import", page.page(self.found))

    def test_markdown(self):
        text = page.markdown(self.found)
        self.assertNotIn("<script", text)
        self.assertIn("](hot-rate.svg)", text)
        self.assertEqual(text.count("**missed, slower**"), 4)
        self.assertIn("**This scenario failed:**", text)
        self.assertIn("- Machine: A &lt;fast&gt; one, 2 cores", text)
        for line in text.splitlines():
            self.assertEqual(line, line.rstrip())
        # Each row of a table has as many cells as its head.
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            self.assertEqual(len(cells), 1, table)

    def test_all_measured_values_are_in_a_collapsed_table_below_the_charts(self):
        text = page.page(self.found)
        self.assertIn("<details><summary>All measurements</summary>", text)
        self.assertNotIn("<details open", text)
        section = text[text.index("<section id=\"hot\">"):text.index("<section id=\"cold\">")]
        self.assertLess(section.rindex("</figure>"), section.index("<details>"))
        for part in ("<table class=\"steps\">", "<th scope=\"col\">clients</th>", "<th scope=\"col\">contestant</th>",
                     "<td data-head=\"Jain&#x27;s index\">0.80 <small>(0.70–0.90)</small></td>",
                     "<td data-head=\"p50, µs\">0.80 <small>(one round)</small></td>"):
            self.assertIn(part, section)
        for scenario in self.found.scenarios:
            scenario.steps = []
        self.assertNotIn("<details>", page.page(self.found))

    def test_markdown_has_a_scenario_without_rows(self):
        self.assertNotIn("p50, µs", page.markdown(self.found))
        self.found.scenarios[0].rows = []
        text = page.markdown(self.found)
        self.assertEqual(text.count("| p50, µs |"), 1)
        self.assertIn("| 0.80 (0.70–0.90) | 0.80 | 0.80 |", text)

    def test_settings(self):
        for settings, expected in (({"rounds": 1, "seconds": 2}, "1 round, 2 s per measurement, after one warm-up round"),
                               ({"rounds": 3, "seconds": 0.5, "quick": "yes"},
                                "3 rounds, 0.5 s per measurement, after one warm-up round, quick yes"),
                               ({"rounds": 3}, "rounds 3"), ({"quick": "yes"}, "quick yes")):
            self.assertEqual(dict(machine.facts({"settings": settings}))["Settings"], expected)
        self.assertNotIn("Settings", dict(machine.facts({"settings": {}})))

    def test_verdicts_have_their_colours(self):
        row = self.found.scenarios[0].rows[0]
        for reached, ratio, cell in ((False, 0.8, "class=\"short\">missed, slower"),
                                     (True, 2, "class=\"reached\">reached"),
                                     (True, 0.8, "<td>reached, slower"), (False, 1, "class=\"short\">missed")):
            row.reached, row.ratio = reached, results.Spread(ratio, ratio, ratio)
            self.assertIn(cell + "</td>", page.page(self.found))

    def test_a_scenario_of_another_run_is_labelled(self):
        other = {"kind": "run", "date": "1999-09-09"}
        self.assertNotIn("Measured in another run", page.page(self.found))
        self.found.scenarios[1].run = other
        for text in (page.page(self.found), page.markdown(self.found)):
            self.assertIn("Measured in another run", text)
            self.assertIn("1999-09-09", text)

    def test_results_without_a_run(self):
        for scenario in self.found.scenarios:
            scenario.run = {}
        self.assertNotIn("<dl>", page.page(self.found))
        self.assertIn("All ratios", page.markdown(self.found))

    def test_the_readable_part_of_a_malformed_run_is_shown(self):
        self.found.scenarios[0].run = {"kind": "run", "date": 5, "settings": "x", "cores": None}
        self.assertTrue(page.page(self.found) and page.markdown(self.found))

    def test_files(self):
        page.write(self.found, self.folder)
        self.assertEqual({path.name for path in self.folder.iterdir()},
                         {"README.md", "index.html", "results.jsonl", "hot-rate.svg", "cold-rate.svg"})
        self.assertEqual(xml.parse(self.folder / "hot-rate.svg").getroot().get("width"), "760")
        again = page.kept(self.folder)
        self.assertEqual(list(again.lines()), list(self.found.lines()))

    def test_only_outdated_pictures_are_removed(self):
        page.write(self.found, self.folder)
        (self.folder / "mine.svg").write_text("mine", encoding="utf-8")
        self.found.scenarios.pop()
        page.write(self.found, self.folder)
        self.assertFalse((self.folder / "cold-rate.svg").exists())
        self.assertTrue((self.folder / "mine.svg").exists())
        self.assertTrue((self.folder / "hot-rate.svg").exists())


if __name__ == "__main__":
    tap.main()
