"""The check of prose finds each kind of planted violation, and only those."""

import pathlib
import unittest

import comments
import prose
import tap
from tidy_test import Planted

CLEAN_TEXT = "The caller holds the mutex. If the queue is empty, it returns null. "


class Prose(Planted):
    def problems(self, path, text):
        self.write(path, text)
        return prose.check_prose(self.tree)

    def test_plain_text_has_no_problem(self):
        self.write("docs/a.md", f"# Title\n\n{CLEAN_TEXT}\n\n- {CLEAN_TEXT}\n")
        self.write("scripts/run", f"#!/bin/sh\n# {CLEAN_TEXT}\n")
        self.write("tests/a_test.py", f'"""{CLEAN_TEXT}"""\n\n# {CLEAN_TEXT}\n')
        self.assertEqual(self.problems("lib/base/a.cpp", f"// {CLEAN_TEXT}\n"), [])

    def test_a_banned_word_in_each_language(self):
        for path, text in (("lib/lock/b.hpp", "#pragma once\n\n// Begins {}.\n"),
                           ("lib/lock/b.hpp", "#pragma once\n\nint x;  // Begins {}.\n"),
                           ("lib/lock/b.hpp", "#pragma once\n/* A block.\n * Begins {}. */\n"),
                           ("daemon/page/a.js", "'use strict';\n\n// Begins {}.\n"),
                           ("scripts/a.py", "import sys\n\n# Begins {}.\n"),
                           ("scripts/a.py", "\n\n\"\"\"Begins {}.\"\"\"\n"),
                           ("scripts/a.py", "def f():\n    \"\"\"Short.\n\n    Begins {}.\"\"\"\n"),
                           ("scripts/a", "#!/bin/sh\n\n# Begins {}.\n"),
                           ("lib/lock/meson.build", "\nsources += files('b.cpp')  # Begins {}.\n"),
                           ("tests/lock/scenarios/a.txt", "# Begins {}.\nann try orders/42\n"),
                           ("scripts/a", "#!/usr/bin/env python3\n\n# Begins {}.\n"),
                           ("docs/a.md", "# Title\n\nBegins {}.\n"),
                           ("README.md", "# Title\n\n| a |\n|---|\n| begins {} |\n")):
            for word, instead in prose.BANNED.items():
                line = text[:text.index("{}")].count("\n") + 1
                with self.subTest(path=path, word=word):
                    found = [problem for problem in self.problems(path, text.format(word))
                             if "\n" not in problem]
                    self.assert_found(found, f"{path}:{line}: \"{word}\"", instead)
            (self.root / path).unlink()
            self.write("lib/lock/b.hpp", "#pragma once\n")

    def test_a_banned_word_across_two_lines(self):
        self.assert_found(self.problems("docs/a.md", "One. It is\nto be\nhad again.\n"),
                          "docs/a.md:2", "to be had")

    def test_a_banned_word_in_a_quotation_in_code_or_in_an_example(self):
        for text in ('Do not write "whoever".\n', "Do not write `whoever`.\n",
                     "```\nwhoever\n```\n", "Text:\n\n    whoever\n",
                     "| instead of | write |\n|---|---|\n| whoever | the client |\n"):
            self.assertEqual(self.problems("docs/a.md", text), [], text)
        for text in ('const char* text = "// whoever";\n', "const auto text = R\"(// whoever)\";\n",
                     "// Usage:\n//\n//     whoever\n", "constexpr int many = 1'000;  // \"whoever\"\n"):
            self.assertEqual(self.problems("lib/base/a.cpp", text), [], text)
        self.assertEqual(self.problems("scripts/a.py", "x = '# whoever'\ny = 'whoever'\n"), [])

    def test_too_many_openings(self):
        for words in ("What waits", "Where it waits", "How it waits", "Who waits", "Whose", "Of now",
                      "Behind it"):
            text = f"// {words} is first.\n//\n" * (prose.ALWAYS_ALLOWED + 1)
            found = [problem for problem in self.problems("lib/base/a.cpp", text) if "begin" in problem]
            self.assert_found(found, "lib: 3 sentences", "lib/base/a.cpp:5", words.split()[0])

    def test_an_opening_within_a_paragraph_a_list_or_a_heading(self):
        self.assert_found(self.problems("docs/a.md", "# What is it\n\nIt waits. What waits is\nlost.\n\n"
                                        "1. What waits.\n- What ends.\n"),
                          "docs/a.md:1", "docs/a.md:3", "docs/a.md:6", "docs/a.md:7")

    def test_questions_may_begin_with_what(self):
        self.assertEqual(self.problems("docs/a.md", "What is it? How does it end? Where?\n" * 9), [])

    def test_too_many_pronouns_and_tellings(self):
        for word in ("who", "nobody", "told"):
            self.assert_found(self.problems("docs/a.md", f"It has {word}.\n" * 3), "docs/a.md:3", word)

    def test_a_large_folder_may_have_more(self):
        text = "Somebody waits. " * 3 + CLEAN_TEXT * 200
        self.assertEqual(self.problems("docs/a.md", text + "\n"), [])

    def test_documents_of_the_root_count_with_docs(self):
        self.write("docs/a.md", "It is nobody.\n" * 2)
        self.assert_found(self.problems("CONTRIBUTING.md", "It is nobody.\n"), "docs: 3", "CONTRIBUTING.md:1")


class Columns(Planted):
    LONG = "word " * 20 + "end"

    def test_a_long_line(self):
        for path in ("README.md", "docs/decisions/a.md"):
            self.write(path, f"# Title\n\n{self.LONG}\n")
            self.assert_found(prose.check_document_columns(self.tree), f"{path}:3: 103 columns")
            (self.root / path).unlink()

    def test_a_line_at_the_limit(self):
        self.write("docs/a.md", self.LONG[:100] + "\n")
        self.assertEqual(prose.check_document_columns(self.tree), [])

    def test_a_long_line_in_a_table_in_code_or_with_a_link(self):
        for text in (f"| {self.LONG} |\n", f"```\n{self.LONG}\n```\n", f"    {self.LONG}\n",
                     f"- [text](https://example.com/{'x' * 100})\n"):
            self.write("docs/a.md", text)
            self.assertEqual(prose.check_document_columns(self.tree), [], text)


class Comments(unittest.TestCase):
    def lines(self, path, text):
        return [(line, part) for block in comments.blocks_of(pathlib.Path(path), text)
                for line, part in block]

    def test_comments_that_follow_each_other_are_one_block(self):
        found = comments.blocks_of(pathlib.Path("a.cpp"), "// One\n// two.\nint x;  // Three\n"
                                                          "        // four.\n\n// Five.\n")
        self.assertEqual([len(block) for block in found], [2, 2, 1])

    def test_a_comment_mark_in_a_literal_is_ignored(self):
        for path, text in (("a.cpp", "auto a = \"https:/" + "/x\"; auto b = '\"'; auto c = \"//\";"),
                           ("a.mjs", "const a = `//`, b = '//', c = x.replace(/[/]\\/\\//, '');"),
                           ("a.py", "a = '#'\nb = f'{a} # b'\n"),
                           ("a.sh", "echo \"a # b\"\necho ${a#b}\n")):
            self.assertEqual(self.lines(path, text), [], path)

    def test_a_comment_after_a_literal(self):
        self.assertEqual(self.lines("a.cpp", "char a = '\"';  // One.\nint b = 1'000;  // Two."),
                         [(1, "One."), (2, "Two.")])
        self.assertEqual(self.lines("a.sh", "echo \"a # b\" 'c'  # One. # Two.\n"), [(1, "One. # Two.")])

    def test_a_file_without_a_known_language_has_no_prose(self):
        self.assertEqual(self.lines("a", "# whoever\n"), [])


if __name__ == "__main__":
    tap.main()
