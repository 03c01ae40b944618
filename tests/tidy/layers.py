"""Includes follow the module table of lib/meson.build, and the table permits no more than they use."""

import pathlib

# Which folders may see a library. What is not named here, all may.
RESTRICTED = {
    "rocksdb/": ("lib/storage", "tests", "bench"),
    "boost/json": ("lib/wire", "lib/client", "daemon", "tests", "bench"),
    "boost/asio": ("daemon", "tests", "bench"),
    "boost/beast": ("daemon", "tests", "bench"),
    "boost/test": ("tests",),
}


class Layers:
    def __init__(self, tree):
        self.tree = tree
        self.table = tree.modules()
        self.module_of_header = {}
        for module in self.table:
            for path in tree.listed(module):
                if path.parts[:2] == ("lib", "include"):
                    self.module_of_header[path] = module

    def module_of(self, path):
        """The module that a file of lib/ belongs to, or None."""
        if path.parts[:2] == ("lib", "include"):
            return self.module_of_header.get(path)
        folder = str(path.parent.relative_to("lib"))
        return folder if folder in self.table else None

    def target(self, delimiter, name):
        """The file of lib/ that an include names, or None for others' headers."""
        if name.startswith("rocklock/"):
            return pathlib.Path("lib/include") / name
        return pathlib.Path("lib") / name if delimiter == '"' else None

    def problems_of(self, path, used):
        module = self.module_of(path)
        for delimiter, name in self.tree.includes(path):
            target = self.target(delimiter, name)
            if target is None:
                continue
            if not (self.tree.root / target).exists():
                yield f"{path}: there is no {target}"
                continue
            other = self.module_of(target)
            if module is None or other is None or other == module:
                continue
            used.add((module, other))
            if other not in self.table[module]:
                yield f"{path}: {module} may not include {other} ({name})"


def listing_problems(layers):
    """A file that no module lists is not built, or not installed."""
    tree = layers.tree
    umbrella = tree.text("lib/meson.build")
    for path in tree.public_headers():
        if layers.module_of(path) is None and path.name not in umbrella:
            yield f"{path}: no module lists it among its headers"
    for path in tree.sources(under=["lib"]):
        if path.parts[:2] != ("lib", "include") and layers.module_of(path) is None:
            yield f"{path}: its folder is no module of lib/meson.build"
    for module in layers.table:
        listed = tree.listed(module)
        for path in tree.files(".cpp", under=[f"lib/{module}"]):
            if path.parent == pathlib.Path("lib") / module and path not in listed:
                yield f"{path}: lib/{module}/meson.build does not list it"


def check_layers(tree):
    """No include goes against the module table, and no permission in it is unused."""
    layers = Layers(tree)
    used = set()
    problems = list(listing_problems(layers))
    for path in tree.sources(under=["lib"]):
        problems += layers.problems_of(path, used)
    for module, uses in layers.table.items():
        if not tree.sources(under=[f"lib/{module}"]):
            continue
        problems += [f"lib/meson.build: {module} may include {other}, but does not"
                     for other in uses if (module, other) not in used]
    return problems


def check_libraries(tree):
    """A library is seen only in the folders whose business it is."""
    problems = []
    for path in tree.sources():
        for _, name in tree.includes(path):
            for prefix, folders in RESTRICTED.items():
                if name.startswith(prefix) and not str(path).startswith(folders):
                    problems.append(f"{path}: <{name}> belongs to {', '.join(folders)}")
    return problems
