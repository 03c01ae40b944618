"""The source tree: its files, and the module tables of lib/meson.build and daemon/meson.build."""

import os
import pathlib
import re

TOP_FOLDERS = ("lib", "daemon", "tests", "bench", "docs", "scripts", ".ci")
MODULE = re.compile(r"'([\w/]+)'\s*:\s*\[([^\]]*)\]")
WORD = re.compile(r"'([^']+)'")
# Installed or compiled files, which are not part of the sources.
FOREIGN = ("__pycache__", "node_modules", "installed")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


class Tree:
    """With `third`, 0 to 2, the checks that compile files do so for a third of the files only."""

    def __init__(self, root, build=None, third=None):
        self.root = pathlib.Path(root)
        self.build = pathlib.Path(build) if build else None
        self.third = third

    def selected(self, items):
        """Returns the third of the items that the checks which compile files examine, or all."""
        return items if self.third is None else items[self.third::3]

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def files(self, *suffixes, under=TOP_FOLDERS):
        """Returns the files with one of the suffixes, as paths relative to the root."""
        found = []
        for top in under:
            for folder, folders, names in os.walk(self.root / top):
                folders[:] = [name for name in folders if name not in FOREIGN]
                paths = (pathlib.Path(folder) / name for name in names)
                found += [path.relative_to(self.root) for path in paths
                          if path.suffix in suffixes and path.is_file()]
        return sorted(found)

    def sources(self, under=TOP_FOLDERS):
        return self.files(".cpp", ".hpp", under=under)

    def modules(self, top):
        """Returns each module of TOP/meson.build with the modules that it may include."""
        table = re.search(r"^\w*modules = \{(.*?)^\}", self.text(f"{top}/meson.build"),
                          re.MULTILINE | re.DOTALL).group(1)
        table = re.sub(r"#.*", "", table)
        return {name: WORD.findall(uses) for name, uses in MODULE.findall(table)}

    def listed(self, top, module):
        """Returns the files that a module's meson.build lists, as paths relative to the root."""
        folder = pathlib.Path(top) / module
        build_file = self.root / folder / "meson.build"
        if not build_file.exists():
            return set()
        text = re.sub(r"#.*", "", build_file.read_text(encoding="utf-8"))
        return {pathlib.Path(os.path.normpath(folder / name)) for name in WORD.findall(text)
                if name.endswith((".cpp", ".hpp"))}

    def public_headers(self):
        return self.files(".hpp", under=["lib/include"])

    def includes(self, path):
        """Returns the includes of a file: pairs of the delimiter, < or ", and the name."""
        return INCLUDE.findall(self.text(path))
