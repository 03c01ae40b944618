"""Tests that each check of tests/tidy finds a planted violation in a small tree."""

import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import clang
import headers
import include_order
import layers
import requirements
import sizes
import tap
import texts
import tidy
from tree import Tree

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LIB_BUILD = """
modules = {
  'base' : [],    # 'no' : ['module'],
  'lock' : ['base'],
  'wire' : ['base', 'lock'],
}
"""
DAEMON_BUILD = """
daemon_modules = {
  'http' : [],
  'cli' : ['http'],
}
"""
BASE_BUILD = "sources += files('a.cpp')\nheaders += files('../include/rocklock/a.hpp')\n"
CLEAN = {
    "lib/meson.build": LIB_BUILD,
    "lib/include/rocklock/a.hpp": "#pragma once\n#include <string>\n",
    "lib/base/meson.build": BASE_BUILD,
    "lib/base/a.cpp": "#include <rocklock/a.hpp>\n",
    "lib/lock/meson.build": "sources += files('b.cpp')\n",
    "lib/lock/b.hpp": "#pragma once\n#include <rocklock/a.hpp>\n",
    "lib/lock/b.cpp": '#include "lock/b.hpp"\n',
    "lib/wire/meson.build": "sources += files('c.cpp')\n",
    "lib/wire/c.cpp": '#include <rocklock/a.hpp>\n\n#include "lock/b.hpp"\n',
    "daemon/meson.build": DAEMON_BUILD,
    "daemon/main.cpp": '#include "daemon/cli/e.hpp"\n',
    "daemon/http/f.hpp": "#pragma once\n",
    "daemon/cli/e.hpp": '#pragma once\n#include "daemon/http/f.hpp"\n',
}


class Planted(unittest.TestCase):
    """A clean tree of three modules, which each test changes."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="rocklock-tidy-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.tree = Tree(self.root, self.root / "build")
        for path, text in CLEAN.items():
            self.write(path, text)
        for name in (".clang-format", ".clang-tidy", "tests/.clang-tidy"):
            self.write(name, (REPOSITORY / name).read_text(encoding="utf-8"))

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def compiled(self, path, text):
        """Writes a source file that the build knows how to compile."""
        self.write(path, text)
        command = f"c++ -I../lib -I../lib/include -std=c++20 -Wno-tsan -o x.o -c ../{path}"
        entry = {"directory": str(self.root / "build"), "file": f"../{path}", "command": command}
        self.write("build/compile_commands.json", json.dumps([entry]))

    def assert_found(self, problems, *words):
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])


class Layers(Planted):
    def test_a_clean_tree_has_no_problem(self):
        for check in (layers.check_layers, layers.check_libraries,
                      include_order.check_include_order, headers.check_headers_alone,
                      headers.check_headers_standard, texts.check_examples,
                      texts.check_machine_paths, texts.check_hosts, texts.check_layout,
                      texts.check_file_names, clang.check_format):
            self.assertEqual(check(self.tree), [], check.__name__)

    def test_an_include_of_ours_upward(self):
        self.write("lib/base/a.cpp", '#include "lock/b.hpp"\n')
        self.assert_found(layers.check_layers(self.tree), "lib/base/a.cpp",
                          "base may not include lock")

    def test_a_public_include_upward(self):
        self.write("lib/include/rocklock/c.hpp", "#pragma once\n")
        self.write("lib/wire/meson.build",
                   "sources += files('c.cpp')\nheaders += files('../include/rocklock/c.hpp')\n")
        self.write("lib/lock/b.cpp", '#include "lock/b.hpp"\n\n#include <rocklock/c.hpp>\n')
        self.assert_found(layers.check_layers(self.tree), "lock may not include wire")

    def test_a_public_header_that_includes_upward(self):
        self.write("lib/include/rocklock/b.hpp", "#pragma once\n")
        self.write("lib/lock/meson.build",
                   "sources += files('b.cpp')\nheaders += files('../include/rocklock/b.hpp')\n")
        self.write("lib/include/rocklock/a.hpp", "#pragma once\n#include <rocklock/b.hpp>\n")
        self.assert_found(layers.check_layers(self.tree), "base may not include lock")

    def test_an_unused_permission(self):
        self.write("lib/wire/c.cpp", '#include "lock/b.hpp"\n')
        self.assert_found(layers.check_layers(self.tree), "wire may include base, but does not")

    def test_a_header_that_no_module_lists(self):
        self.write("lib/include/rocklock/stray.hpp", "#pragma once\n")
        self.assert_found(layers.check_layers(self.tree), "stray.hpp")

    def test_a_source_that_no_module_lists(self):
        self.write("lib/lock/stray.cpp", "\n")
        self.assert_found(layers.check_layers(self.tree), "stray.cpp", "does not list it")

    def test_an_include_upward_in_the_daemon(self):
        self.write("daemon/http/f.hpp", '#pragma once\n#include "daemon/cli/e.hpp"\n')
        self.assert_found(layers.check_layers(self.tree), "daemon/http/f.hpp",
                          "http may not include cli")

    def test_an_include_of_the_daemon_in_the_library(self):
        self.write("lib/lock/b.cpp", '#include "lock/b.hpp"\n\n#include "daemon/http/f.hpp"\n')
        self.assert_found(layers.check_layers(self.tree), "lib may not include daemon")

    def test_a_source_of_the_daemon_that_no_module_lists(self):
        self.write("daemon/http/f.cpp", '#include "daemon/http/f.hpp"\n')
        self.assert_found(layers.check_layers(self.tree), "daemon/http/meson.build does not list")

    def test_a_source_in_a_folder_that_is_not_a_module(self):
        self.write("lib/lock/model/d.hpp", "#pragma once\n")
        self.assert_found(layers.check_layers(self.tree), "d.hpp", "its folder is no module")

    def test_a_nested_folder_is_a_separate_module(self):
        self.write("lib/meson.build", LIB_BUILD.replace("'wire' :", "'lock/model' : [],\n  'wire' :"))
        self.write("lib/lock/model/meson.build", "sources += files('d.cpp')\n")
        self.write("lib/lock/model/d.cpp", '#include "lock/b.hpp"\n')
        self.assert_found(layers.check_layers(self.tree), "lock/model may not include lock")

    def test_an_include_of_ours_that_names_no_module(self):
        self.write("lib/lock/b.cpp", '#include "b.hpp"\n')
        self.assert_found(layers.check_layers(self.tree), "there is no lib/b.hpp")

    def test_a_library_in_the_wrong_folder(self):
        self.write("lib/lock/b.cpp", "#include <rocksdb/db.h>\n")
        self.assert_found(layers.check_libraries(self.tree), "rocksdb/db.h")


class IncludeOrder(Planted):
    def test_groups_in_the_wrong_order(self):
        self.write("lib/lock/b.cpp", "#include <string>\n\n#include \"lock/b.hpp\"\n")
        self.assert_found(include_order.check_include_order(self.tree), "lib/lock/b.cpp")

    def test_groups_without_a_line_between(self):
        self.write("lib/lock/b.cpp", '#include "lock/b.hpp"\n#include <string>\n')
        self.assert_found(include_order.check_include_order(self.tree), "lib/lock/b.cpp")

    def test_the_fixed_order(self):
        text = ('#include "base/x.hpp"\n#include <rocksdb/db.h>\n#include <string>\n'
                "#include <rocklock/c.hpp>\n#include <rocklock/b.hpp>\n#include <unistd.h>\n\nint x;\n")
        self.assertEqual(
            include_order.ordered(pathlib.Path("lib/lock/b.cpp"), text),
            "#include <rocklock/b.hpp>\n\n#include <unistd.h>\n\n#include <string>\n\n"
            "#include <rocksdb/db.h>\n\n#include <rocklock/c.hpp>\n\n"
            '#include "base/x.hpp"\n\nint x;\n')


class Headers(Planted):
    def test_a_public_header_that_leans_on_its_includer(self):
        self.write("lib/include/rocklock/a.hpp", "#pragma once\ninline std::string name();\n")
        self.assert_found(headers.check_headers_alone(self.tree), "does not compile alone")

    def test_a_public_header_that_cannot_be_included_twice(self):
        self.write("lib/include/rocklock/a.hpp", "struct Twice {};\n")
        self.assert_found(headers.check_headers_alone(self.tree), "does not compile alone")

    def test_a_public_header_with_a_library(self):
        for line in ("#include <boost/version.hpp>", "#include <zlib.h>", '#include "lock/b.hpp"'):
            self.write("lib/include/rocklock/a.hpp", f"#pragma once\n{line}\n")
            self.assert_found(headers.check_headers_standard(self.tree), "not of the standard library")


class Texts(Planted):
    EXAMPLE = "int main() {\n    //! [sum]\n    int x = 1;\n\n        x += 1;\n    //! [sum]\n}\n"

    def documented(self, code, source="<!-- example: one.cpp sum -->\n"):
        self.write("tests/docs/one.cpp", self.EXAMPLE)
        self.write("README.md", f"Text.\n\n{source}```cpp\n{code}```\n")
        return texts.check_examples(self.tree)

    def test_an_example_like_its_source(self):
        self.assertEqual(self.documented("int x = 1;\n\n    x += 1;\n"), [])

    def test_an_example_that_differs_from_its_source(self):
        self.assert_found(self.documented("int x = 2;\n\n    x += 1;\n"), "not the region sum")

    def test_an_example_without_a_source(self):
        self.assert_found(self.documented("int x = 1;\n", source=""), "without its source")

    def test_an_example_of_a_source_that_is_not_there(self):
        self.assert_found(self.documented("", source="<!-- example: two.cpp sum -->\n"),
                          "there is no tests/docs/two.cpp")

    def test_other_languages_need_no_source(self):
        self.write("README.md", "```sh\nscripts/test\n```\n\n```\na ──► b\n```\n")
        self.assertEqual(texts.check_examples(self.tree), [])

    def test_a_path_of_one_machine(self):
        path = "/ho" + "me/ann/rocklock"
        self.write("docs/a.md", f"See {path}.\n")
        self.assert_found(texts.check_machine_paths(self.tree), "docs/a.md:1")

    def test_a_link_to_an_unknown_host(self):
        self.write("lib/lock/b.cpp", "// From https:" + "//host.invalid/page.\n")
        self.assert_found(texts.check_hosts(self.tree), "lib/lock/b.cpp:1", "host.invalid")

    def test_a_registry_in_a_lock_file(self):
        locked = '{"resolved": "https:' + '//registry.invalid/a.tgz"}\n'
        self.write("tests/javascript/package-lock.json", locked)
        self.assert_found(texts.check_hosts(self.tree), "package-lock.json:1", "registry.invalid")

    def test_installed_packages_are_not_checked(self):
        for folder in ("tests/javascript/node_modules", "tests/java/installed"):
            self.write(f"{folder}/a/README.md", "See https:" + "//host.invalid/page. ")
        self.assertEqual(texts.check_hosts(self.tree) + texts.check_layout(self.tree), [])

    def test_a_blank_at_the_end_of_a_line(self):
        self.write("docs/a.md", "One.\nTwo. \n")
        self.assert_found(texts.check_layout(self.tree), "docs/a.md:2")

    def test_a_last_line_without_an_end(self):
        self.write("docs/a.md", "One.")
        self.assert_found(texts.check_layout(self.tree), "no newline")

    def test_a_file_name_in_capitals(self):
        self.write("lib/lock/LockTable.hpp", "#pragma once\n")
        self.assert_found(texts.check_file_names(self.tree), "LockTable.hpp")


class Requirements(Planted):
    LINK = "[a](../tests/lock/a.txt)"

    def found(self, tests, anchor="requirement-m1"):
        self.write("tests/lock/a.txt", "# Readers share (M1, M12).\n")
        self.write("docs/requirements.md", "| code | requirement | tests |\n|---|---|---|\n"
                   f'| <a id="{anchor}"></a>M1 | Readers share. | {tests} |\n')
        return requirements.check_requirements(self.tree)

    def test_a_row_with_tests_that_name_its_code(self):
        self.write("tests/lock/b.cpp", "// M1: readers share.\n")
        for tests in (self.LINK, f"{self.LINK}, [b](../tests/lock/b.cpp)"):
            self.assertEqual(self.found(tests), [], tests)

    def test_a_row_that_says_why_it_has_no_test(self):
        for tests in ("not implemented", "no test"):
            self.assertEqual(self.found(tests), [], tests)

    def test_a_row_without_a_test(self):
        for tests in ("", "later", f"{self.LINK}, no test", f"not implemented, {self.LINK}"):
            self.assert_found(self.found(tests), "docs/requirements.md:3", "M1 needs links")

    def test_a_link_to_a_file_that_does_not_exist(self):
        self.assert_found(self.found(f"{self.LINK}, [b](../tests/lock/none.cpp)"),
                          "docs/requirements.md:3", "there is no tests/lock/none.cpp")

    def test_a_linked_file_that_does_not_name_the_code(self):
        for text in ("# Readers share.\n", "# M12, XM1 and M1a.\n"):
            self.write("tests/lock/b.txt", text)
            self.assert_found(self.found(f"{self.LINK}, [b](../tests/lock/b.txt)"),
                              "docs/requirements.md:3", "tests/lock/b.txt does not name M1")

    def test_an_anchor_of_another_code(self):
        self.assert_found(self.found(self.LINK, "requirement-m2"), "requirement-m2 is not an anchor of M1")

    def test_a_row_with_too_few_columns(self):
        self.write("docs/requirements.md", '| <a id="requirement-m1"></a>M1 | Readers share. |\n')
        self.assert_found(requirements.check_requirements(self.tree), "docs/requirements.md:1", "not a row")

    def test_a_document_without_rows(self):
        self.write("docs/requirements.md", "# Requirements\n")
        self.assert_found(requirements.check_requirements(self.tree), "no rows")


class Sizes(Planted):
    def test_a_long_file(self):
        self.write("lib/lock/b.cpp", "int x;\n" * (sizes.MAX_LINES + 1))
        self.assert_found(sizes.check_file_lengths(self.tree), "lib/lock/b.cpp", "601 lines")

    def test_a_file_at_the_limit(self):
        self.write("tests/lock/b_test.py", "x = 1\n" * sizes.MAX_LINES)
        self.assertEqual(sizes.check_file_lengths(self.tree), [])

    def test_a_full_folder(self):
        for number in range(sizes.MAX_FILES + 1):
            self.write(f"tests/lock/a{number}.cpp", "")
        self.assert_found(sizes.check_folder_sizes(self.tree), "tests/lock: 46 source files")

    def members(self, kind, functions, count=sizes.MAX_MEMBERS + 1):
        data = "".join(f"    int m{number} ROCKLOCK_GUARDED_BY(mutex) = 0;\n" for number in range(count))
        self.write("lib/base/mutex.hpp", "#pragma once\n#define ROCKLOCK_GUARDED_BY(x)\n")
        self.write("lib/lock/b.hpp", f"namespace a {{\n{kind} Big {{\npublic:\n{functions}{data}}};\n}}\n")
        return sizes.check_class_sizes(self.tree)

    def test_a_class_with_many_members(self):
        self.assert_found(self.members("class", "    void go();\n"), "lib/lock/b.hpp", "a::Big has 26")

    def test_a_struct_with_functions_and_many_members(self):
        self.assert_found(self.members("struct", "    int sum() const { return m1 + m2; }\n"), "a::Big has 26")

    def test_a_plain_record_may_have_many_members(self):
        functions = "    Big() = default;\n    ~Big();\n    bool operator==(const Big&) const = default;\n"
        self.assertEqual(self.members("struct", functions), [])

    def test_static_members_do_not_count(self):
        functions = "    void go();\n    static constexpr int limit = 3;\n"
        self.assertEqual(self.members("class", functions, sizes.MAX_MEMBERS), [])


class Clang(Planted):
    def test_a_line_that_clang_format_would_change(self):
        self.write("lib/lock/b.hpp", "#pragma once\n\nint  sum( int a );\n")
        self.assert_found(clang.check_format(self.tree), "lib/lock/b.hpp")

    def tidied(self, text, path="lib/lock/b.cpp"):
        self.compiled(path, text)
        return clang.check_clang_tidy(self.tree)

    def test_names(self):
        for text in ("class lock_table {};", "int sumOf();", "enum class Mode { Read };",
                     "class A {\n    int size;\n};", "#define CHECK 1", "namespace Lock {}",
                     "using grant = int;", "int total(int Count);"):
            self.assert_found(self.tidied(text + "\n"), "readability-identifier-naming")

    def test_good_names(self):
        self.assertEqual(self.tidied(
            "#define ROCKLOCK_ONE 1\nnamespace rocklock {\nclass LockTable {\npublic:\n"
            "    using value_type = int;\n    int first_size() const { return size_; }\n\n"
            "private:\n    int size_ = ROCKLOCK_ONE;\n};\nstruct Grant {\n    int id = 0;\n};\n"
            "template <typename T>\nT same(T value) {\n    return value;\n}\n"
            "enum class Mode { read };\n}  // namespace rocklock\n"), [])

    def test_a_function_that_is_too_long(self):
        lines = "    x += 1;\n" * 80
        self.assert_found(self.tidied(f"int sum(int x) {{\n{lines}    return x;\n}}\n"),
                          "readability-function-size")

    def test_a_function_that_is_too_complex(self):
        nested = "if (x > 0) {\nif (x > 1) {\nif (x > 2) {\n"
        found = self.tidied("int f(int x) {\n" + nested + "x -= x > 3 ? 1 : 2;\n" * 6 + "}\n" * 3 +
                            "return x;\n}\n")
        self.assert_found(found, "readability-function-cognitive-complexity")
        self.assertNotIn("note:", found[0])

    def test_a_likely_bug(self):
        self.assert_found(
            self.tidied("#include <string>\n#include <utility>\nint f(std::string a) {\n"
                        "    const std::string b = std::move(a);\n    return a == b ? 1 : 0;\n}\n"),
            "bugprone-use-after-move")

    def test_a_problem_in_a_header_of_ours(self):
        self.write("lib/lock/b.hpp", "#pragma once\nclass lock_table {};\n")
        self.assert_found(self.tidied('#include "lock/b.hpp"\n'), "lib/lock/b.hpp")

    def test_files_that_are_compiled_as_one(self):
        self.write("lib/lock/b.cpp", "class lock_table {};\n")
        self.write("lib/wire/c.cpp", "int sumOf();\n")
        self.compiled("build/lib-unity0.cpp", "".join(f"#include<{self.root}/build/../lib/{name}>\n"
                                                      for name in ("lock/b.cpp", "wire/c.cpp")))
        found = clang.check_clang_tidy(self.tree)
        self.assertEqual([problem.split(":")[0] for problem in sorted(found)],
                         ["lib/lock/b.cpp", "lib/wire/c.cpp"])

    def test_a_third_of_the_files(self):
        entries = []
        for name in "abcdefg":
            self.compiled(f"lib/lock/{name}.cpp", f"class lock_{name} {{}};\n")
            entries += json.loads((self.root / "build/compile_commands.json").read_text())
        # With different options, so that they are not grouped.
        for entry in entries:
            entry["command"] += f" -DNAME={entry['file'][-5]}"
        self.write("build/compile_commands.json", json.dumps(entries))
        found = []
        for third in range(3):
            some = clang.check_clang_tidy(Tree(self.root, self.root / "build", third))
            self.assertIn(len(some), (2, 3))
            found += some
        self.assertEqual(sorted(found), sorted(clang.check_clang_tidy(self.tree)))
        self.assertEqual(len(found), 7)

    def test_a_file_that_does_not_compile(self):
        self.assertTrue(self.tidied("int sum(;\n"))

    def test_a_clean_file_is_checked_again_if_a_header_changes(self):
        self.write("lib/lock/b.hpp", "#pragma once\nclass LockTable {};\n")
        self.assertEqual(self.tidied('#include "lock/b.hpp"\n'), [])
        self.write("lib/lock/b.hpp", "#pragma once\nclass lock_table {};\n")
        self.assert_found(self.tidied('#include "lock/b.hpp"\n'), "lib/lock/b.hpp")

    def test_a_guarded_member_touched_without_its_mutex(self):
        for name in ("mutex.hpp", "fork.hpp", "mutant.hpp", "assert.hpp"):
            shutil.copy(REPOSITORY / "lib/base" / name, self.root / "lib/base" / name)
        good = ('#include "base/mutex.hpp"\nnamespace rocklock {\nclass Counter {\npublic:\n'
                "    int count() {\n        HOLD\n        return count_;\n    }\n\nprivate:\n"
                "    Mutex mutex_;\n    int count_ ROCKLOCK_GUARDED_BY(mutex_) = 0;\n};\n"
                "int count(Counter& counter) { return counter.count(); }\n}\n")
        self.compiled("lib/lock/b.cpp", good.replace("HOLD", "const MutexLock lock(mutex_);"))
        self.assertEqual(clang.check_clang_tidy(self.tree), [])
        self.compiled("lib/lock/b.cpp", good.replace("HOLD", ""))
        self.assert_found(clang.check_clang_tidy(self.tree), "requires holding mutex")


class Runner(Planted):
    def test_a_check_that_cannot_run_has_not_passed(self):
        def broken(_):
            raise FileNotFoundError("clang-tidy-14")
        self.assert_found(tidy.problems_of(broken, self.tree), "clang-tidy-14")

    def test_a_problem_is_reported_and_fails_the_program(self):
        self.write("docs/a.md", "One.")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), self.assertRaises(SystemExit) as left:
            tidy.run(self.tree, [texts.check_layout, texts.check_hosts])
        self.assertEqual(left.exception.code, 1)
        self.assertIn("not ok 1 - layout\n# docs/a.md: no newline", printed.getvalue())
        self.assertIn("\nok 2 - hosts", printed.getvalue())

    def test_it_prints_its_usage(self):
        for words, status, text in ((["--help"], 0, "clang_tidy"), ([], 2, "usage"),
                                    ([".", "build", "nonsense"], 2, "no check nonsense")):
            done = subprocess.run([sys.executable, REPOSITORY / "tests/tidy/tidy.py", *words],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, status, words)
            self.assertIn(text, done.stdout + done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    tap.main()
