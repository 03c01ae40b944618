"""A program outside of the source tree compiles and runs with an installed Rocklock."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import tap

PROGRAM = """
#include <cstdio>

{includes}

int main() {{
    const auto version = rocklock::version();
    std::printf("%.*s\\n", static_cast<int>(version.size()), version.data());
}}
"""


# The example of the README, within the program that it assumes.
EXAMPLE = """
#include <cstdio>

#include <rocklock/database.hpp>

void complain(const rocklock::Error& error) {{ std::puts(error.message.c_str()); }}
void save_order(int number, rocklock::Token token) {{
    std::printf("order %d saved %s a token\\n", number, rocklock::number(token) > 0 ? "with" : "without");
}}

void lock_and_save() {{
{example}
}}

int main() {{ lock_and_save(); }}
"""


def output(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def unmarked(version):
    """Returns the version without the mark of a build that contains mutants, as in continuous integration."""
    return version.strip().removesuffix(" (mutants)")


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="rocklock-install-"))
        output("meson", "install", "-C", os.environ["ROCKLOCK_BUILD_ROOT"], "--no-rebuild",
               "--quiet", "--destdir", str(cls.place))
        cls.description = next(cls.place.rglob("rocklock.pc"))
        cls.include = next(path for path in cls.place.rglob("rocklock") if (path / "version.hpp").exists())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.place)

    def pkg_config(self, *arguments):
        prefix = next(line for line in self.description.read_text(encoding="utf-8").splitlines()
                      if line.startswith("prefix=")).removeprefix("prefix=")
        return output("pkg-config", f"--define-variable=prefix={self.place}{prefix}", *arguments,
                      "rocklock", env={**os.environ, "PKG_CONFIG_PATH": str(self.description.parent)})

    def build(self, *flags):
        """Builds a program that includes every public header. Returns the path of the program."""
        headers = sorted(path.relative_to(self.include.parent) for path in self.include.rglob("*.hpp"))
        source = self.place / "program.cpp"
        source.write_text(PROGRAM.format(
            includes="\n".join(f"#include <{header}>" for header in headers)), encoding="utf-8")
        program = self.place / "program"
        output("c++", "-std=c++20", str(source), "-o", str(program), *flags)
        return program

    def test_a_program_links_the_shared_library(self):
        flags = self.pkg_config("--cflags", "--libs").split()
        libraries = self.pkg_config("--variable=libdir").strip()
        ran = output(str(self.build(*flags)), env={"LD_LIBRARY_PATH": libraries})
        self.assertEqual(unmarked(ran), self.pkg_config("--modversion").strip())

    def test_the_example_of_the_readme_builds_and_runs(self):
        readme = pathlib.Path(os.environ["ROCKLOCK_SOURCE_ROOT"], "README.md").read_text(encoding="utf-8")
        example = readme.partition("```cpp\n")[2].partition("```")[0]
        source = self.place / "example.cpp"
        source.write_text(EXAMPLE.format(example=example), encoding="utf-8")
        program = self.place / "example"
        output("c++", "-std=c++20", str(source), "-o", str(program), *self.pkg_config("--cflags", "--libs").split())
        libraries = self.pkg_config("--variable=libdir").strip()
        with tempfile.TemporaryDirectory() as folder:
            ran = output(str(program), env={"LD_LIBRARY_PATH": libraries}, cwd=folder)
        self.assertEqual(ran, "order 42 saved with a token\n")

    def first_program(self):
        """Copies the first program of the page on the library into a folder of its own."""
        page = pathlib.Path(os.environ["ROCKLOCK_SOURCE_ROOT"], "docs/library.md").read_text(encoding="utf-8")
        text = page.partition("first_program.cpp first_program -->\n```cpp\n")[2].partition("```")[0]
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.place))
        (folder / "first_program.cpp").write_text(text, encoding="utf-8")
        return page, folder

    def run_first_program(self, program, folder):
        libraries = self.pkg_config("--variable=libdir").strip()
        ran = output(str(program), env={"LD_LIBRARY_PATH": libraries}, cwd=folder)
        self.assertRegex(ran, r"^locked orders/42 with token [0-9]+\n$")

    def needed_by(self, name):
        """Returns the names of the shared libraries that an installed file needs."""
        file = next(self.place.rglob(name))
        return re.findall(r"Shared library: \[(.*?)\]", output("readelf", "--dynamic", str(file)))

    def test_only_the_program_contains_other_libraries(self):
        def needs(file, name):
            return any(library.startswith(name + ".") for library in self.needed_by(file))

        for name in ("librocksdb", "libcrypto"):
            self.assertTrue(needs("librocklock.so", name))
        contained = os.environ["ROCKLOCK_CONTAINED_LIBRARIES"].split()
        if not contained:
            self.skipTest("no library is linked statically")
        for name in contained:
            self.assertFalse(needs("bin/rocklock", name), name)

    def test_the_first_program_compiles_as_documented(self):
        page, folder = self.first_program()
        line = next(line.strip() for line in page.splitlines() if line.startswith("    c++ "))
        flags = self.pkg_config("--cflags", "--libs").strip()
        output("sh", "-c", line.replace("$(pkg-config --cflags --libs rocklock)", flags), cwd=folder)
        self.run_first_program(folder / "first_program", folder)

    def test_cmake_finds_the_package(self):
        if not shutil.which("cmake"):
            self.skipTest("cmake is not installed")
        page, folder = self.first_program()
        lines = page.partition("With CMake")[2].split("\n\n")[1]
        self.assertIn("find_package(rocklock", lines)
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(first_program CXX)\n" + lines, encoding="utf-8")
        prefix = self.include.parent.parent
        output("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=folder)
        output("cmake", "--build", "build", cwd=folder)
        self.run_first_program(folder / "build/first_program", folder)

    def test_cmake_refuses_another_version(self):
        if not shutil.which("cmake"):
            self.skipTest("cmake is not installed")
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.place))
        version = self.pkg_config("--modversion").strip()
        compatible = ".".join(version.split(".")[:2])
        for wanted, status in ((compatible, 0), ("99.0", 1)):
            (folder / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.16)\nproject(versions CXX)\n"
                f"find_package(rocklock {wanted} REQUIRED)\n", encoding="utf-8")
            done = subprocess.run(["cmake", "-S", ".", "-B", "build" + wanted,
                                   f"-DCMAKE_PREFIX_PATH={self.include.parent.parent}"],
                                  cwd=folder, capture_output=True, check=False)
            self.assertEqual(done.returncode, status, done.stderr)

    def test_the_demo_shows_what_it_claims(self):
        program = next(path for path in self.place.rglob("bin/rocklock"))
        demo = pathlib.Path(os.environ["ROCKLOCK_SOURCE_ROOT"], "scripts/demo")
        shown = output(str(demo), "--program", str(program))
        self.assertIn("All claims hold.", shown)
        self.assertNotIn("FAILED", shown)
        commands = shown.rpartition("Three commands to try:")[2].split("\n")
        self.assertEqual(sum("rocklock " in line for line in commands), 3, commands)

    def test_a_program_links_the_static_library(self):
        flags = self.pkg_config("--cflags", "--libs", "--static").replace(
            "-lrocklock", "-l:librocklock.a").split()
        program = self.build(*flags)
        self.assertNotIn("librocklock", output("ldd", str(program)))
        self.assertEqual(unmarked(output(str(program))), self.pkg_config("--modversion").strip())

    def test_units_are_clean(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        service = next(iter(self.place.rglob("rocklock.service")), None)
        if service is None:
            self.skipTest("built without the daemon")
        program = next(path for path in self.place.rglob("bin/rocklock"))
        text = service.read_text(encoding="utf-8")
        named = next(line for line in text.splitlines() if line.startswith("ExecStart=")).split("=")[1].split()[0]
        self.assertTrue(str(program).endswith(named), named)
        service.write_text(text.replace(named, str(program)), encoding="utf-8")
        script = self.installed("rocklock-backup")
        self.assertTrue(os.access(script, os.X_OK))
        self.assertIn(f"rocklock='{named}'", script.read_text(encoding="utf-8"))
        backup = self.installed("rocklock-backup.service")
        text = backup.read_text(encoding="utf-8")
        named = next(line for line in text.splitlines() if line.startswith("ExecStart=")).split("=")[1].split()[0]
        self.assertTrue(str(script).endswith(named), named)
        backup.write_text(text.replace(named, str(script)), encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", service, service.with_suffix(".socket"),
                               backup, backup.with_suffix(".timer")],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "rocklock" in line]),
                         (0, []), done.stderr)
        self.assertTrue(list(self.place.rglob("sysusers.d/rocklock.conf")))

    def test_no_name_of_the_inside_is_exported(self):
        library = next(self.place.rglob("librocklock.so"))
        names = output("nm", "-DC", "--defined-only", str(library))
        self.assertIn("rocklock::version()", names)
        self.assertNotIn("rocklock::base64url_encode", names)

    def installed(self, name):
        found = list(self.place.rglob(name))
        self.assertEqual(len(found), 1, (name, found))
        return found[0]

    def test_the_program_runs_and_has_its_page_and_completion(self):
        page = self.installed("rocklock.1")
        self.assertEqual(page.parent.name, "man1")
        self.assertIn("rocklock run", page.read_text(encoding="utf-8").replace("\\-", "-"))
        program = next(path for path in self.place.rglob("bin/rocklock"))
        version = self.pkg_config("--modversion").strip()
        self.assertEqual(unmarked(output(str(program), "version")), f"rocklock {version}")
        for shell, name, folder in (("bash", "rocklock.bash", "completions"), ("zsh", "_rocklock", "site-functions"),
                                    ("fish", "rocklock.fish", "vendor_completions.d")):
            script = self.installed(name)
            self.assertEqual(script.parent.name, folder)
            self.assertEqual(script.read_text(encoding="utf-8"), output(str(program), "completion", shell))


if __name__ == "__main__":
    tap.main()
