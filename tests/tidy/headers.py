"""Public headers compile alone and include only the standard library."""

import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

COMPILER = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def standard_headers():
    """Returns the folders of g++'s own headers, which <...> finds without any library installed."""
    found = subprocess.run(["g++", "-xc++", "-E", "-v", "/dev/null"], capture_output=True,
                           text=True, check=True).stderr
    search = found.split("search starts here:")[-1].split("End of search")[0]
    return [line.strip() for line in search.splitlines() if "/c++/" in line]


def compile_alone(tree, header):
    """Returns the compiler's errors for a file that includes only the header, twice."""
    name = header.relative_to("lib/include")
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(f"#include <{name}>\n#include <{name}>\n")
        source.flush()
        done = subprocess.run([*COMPILER, f"-I{tree.root}/lib/include", source.name],
                              capture_output=True, text=True, check=False)
    return [f"{header} does not compile alone:\n{done.stderr}"] if done.returncode else []


def check_headers_alone(tree):
    """Each public header compiles alone, even if it is included twice."""
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda header: compile_alone(tree, header), tree.selected(tree.public_headers()))
        return [problem for problems in found for problem in problems]


def check_headers_standard(tree):
    """Public headers include the standard library and <rocklock/...> only."""
    folders = standard_headers()
    standard = set()
    problems = []
    for header in tree.public_headers():
        for delimiter, name in tree.includes(header):
            if delimiter == "<" and name.startswith("rocklock/"):
                continue
            if name not in standard:
                if delimiter == "<" and "/" not in name and exists_in(folders, name):
                    standard.add(name)
                else:
                    problems.append(f"{header}: {name} is not of the standard library")
    return problems


def exists_in(folders, name):
    return any(os.path.exists(os.path.join(folder, name)) for folder in folders)
