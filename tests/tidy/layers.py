"""Includes follow the module tables of lib/meson.build and daemon/meson.build.

Every permission in the tables is used.
"""

import pathlib

# The folders that may include a library. Other libraries may be included everywhere.
RESTRICTED = {
    "rocksdb/": ("lib/storage", "tests", "bench"),
    "boost/json": ("lib/storage/etcd", "lib/wire", "lib/client", "daemon", "tests", "bench"),
    "boost/asio": ("daemon", "tests", "bench"),
    "boost/beast": ("daemon", "tests", "bench"),
    "boost/test": ("tests",),
    "grpcpp/": ("lib/storage/etcd/grpc", "tests/etcd"),
    # Generated from lib/storage/etcd/grpc/etcd.proto.
    "etcd.pb.h": ("lib/storage/etcd/grpc",),
    "etcd.grpc.pb.h": ("lib/storage/etcd/grpc",),
}


# Files that belong to no module: the program's own source.
OUTSIDE = (pathlib.Path("daemon/main.cpp"),)


class Layers:
    """The modules below one folder, lib or daemon."""

    def __init__(self, tree, top):
        self.tree = tree
        self.top = top
        self.table = tree.modules(top)
        self.module_of_header = {}
        for module in self.table:
            for path in tree.listed(top, module):
                if path.parts[:2] == ("lib", "include"):
                    self.module_of_header[path] = module

    def module_of(self, path):
        """Returns the module that a file belongs to, or None."""
        if path.parts[:2] == ("lib", "include"):
            return self.module_of_header.get(path)
        if path.parts[0] != self.top:
            return None
        folder = str(path.parent.relative_to(self.top))
        return folder if folder in self.table else None

    def target(self, delimiter, name):
        """Returns the file that an include names, or None for a library's header."""
        if name.startswith("rocklock/"):
            return pathlib.Path("lib/include") / name
        if delimiter != '"':
            return None
        return pathlib.Path(name) if name.startswith("daemon/") else pathlib.Path("lib") / name

    def problems_of(self, path, used):
        module = self.module_of(path)
        for delimiter, name in self.tree.includes(path):
            target = self.target(delimiter, name)
            if target is None:
                continue
            if not (self.tree.root / target).exists():
                yield f"{path}: there is no {target}"
                continue
            if self.top == "lib" and target.parts[0] == "daemon":
                yield f"{path}: lib may not include daemon ({name})"
                continue
            other = self.module_of(target)
            if module is None or other is None or other == module:
                continue
            used.add((module, other))
            if other not in self.table[module]:
                yield f"{path}: {module} may not include {other} ({name})"


def listing_problems(layers):
    """Every file is listed in a module. A file that is not listed is not built or not installed."""
    tree, top = layers.tree, layers.top
    umbrella = tree.text(f"{top}/meson.build")
    if top == "lib":
        for path in tree.public_headers():
            if layers.module_of(path) is None and path.name not in umbrella:
                yield f"{path}: no module lists it among its headers"
    for path in tree.sources(under=[top]):
        if path.parts[:2] == ("lib", "include") or path in OUTSIDE:
            continue
        module = layers.module_of(path)
        if module is None:
            yield f"{path}: its folder is no module of {top}/meson.build"
        elif path.suffix == ".cpp" and path not in tree.listed(top, module):
            yield f"{path}: {top}/{module}/meson.build does not list it"


def check_layers(tree):
    """No include violates the module tables, and no permission in them is unused."""
    problems = []
    for top in ("lib", "daemon"):
        layers = Layers(tree, top)
        used = set()
        problems += listing_problems(layers)
        for path in tree.sources(under=[top]):
            problems += layers.problems_of(path, used)
        for module, uses in layers.table.items():
            problems += [f"{top}/meson.build: {module} may include {other}, but does not"
                         for other in uses if (module, other) not in used]
    return problems


def check_libraries(tree):
    """A library is included only in the folders that may use it."""
    problems = []
    for path in tree.sources():
        for _, name in tree.includes(path):
            for prefix, folders in RESTRICTED.items():
                if name.startswith(prefix) and not str(path).startswith(folders):
                    problems.append(f"{path}: <{name}> belongs to {', '.join(folders)}")
    return problems
