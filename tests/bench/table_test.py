"""The table has every row, says what is short, and shows texts as they are."""

import unittest

import results
import table
import tap


def scenario(**more):
    spread = results.Spread(0.8, 0.71, 0.98)
    rows = [results.Row("hand-off", "a second", results.Spread(3494, 2945, 3664), "Redis, synced",
                        results.Spread(4153, 3553, 5122), spread, 1, False),
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
            "| scenario | what | Rocklock | against | ratio | to reach | |",
            "|---|---|---|---|---|---|---|",
            "| hot | hand-off | 3494 (2945–3664) a second | Redis, synced: 4153 (3553–5122) | "
            "0.80 × (0.71–0.98) | 1.00 × | **short** |",
            "| hot | a\\|b &lt;i&gt;\\*x\\* | 2.00 pairs/s | etcd: 1.00 | 2.00 × | 1.50 × | reached |",
            "| hot | no target | 2.00 s | etcd: 1.00 | 2.00 × | | |",
            "", "By itself:", "",
            "| scenario | what | Rocklock | to reach | |", "|---|---|---|---|---|",
            "| hot | restart | 0.70 (0.60–0.90) s | ≤ 1.00 | reached |",
            "| hot | Jain's index | 1.00 | 0.99 | reached |",
            "", "Left out:", "", "- memcached: not \\*installed\\* (hot)",
            "", "3 of 4 reached, 1 short"])

    def test_columns_of_a_terminal(self):
        lines = table.lines_of([scenario()], terminal=True, bold=True)
        rows = lines[2:5]
        self.assertEqual(lines[0].index("ratio"), rows[0].index("0.80 ×"))
        self.assertEqual(lines[0].index("ratio"), rows[1].index("2.00 ×"))
        self.assertIn("\033[1mshort", rows[0])
        self.assertNotIn("\033", "".join(table.lines_of([scenario()], terminal=True)))
        self.assertNotIn("\033", "".join(table.lines_of([scenario()])))

    def test_a_terminal_is_not_steered(self):
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

    def test_one_reason_is_told_once(self):
        left_out = [results.LeftOut("etcd", "absent")]
        others = [scenario(left_out=left_out), scenario(left_out=left_out * 2)]
        others[1].name = "cold"
        self.assertEqual(table.left_out(others), [("etcd", "absent", ["hot", "cold"])])

    def test_failures_are_told(self):
        lines = table.lines_of([scenario(failed="status 3: no room")])
        self.assertIn("- hot: status 3: no room", lines)
        self.assertTrue(lines[-1].endswith("1 scenario failed"))


if __name__ == "__main__":
    tap.main()
