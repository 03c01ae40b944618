"""The environment of a measurement (machine, software versions, time): the `run` line of the
results.
"""

import datetime
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import zipfile

# The command that prints the version of each contestant.
VERSIONS = {
    "RocksDB": ["pkg-config", "--modversion", "rocksdb"],
    "Redis": ["redis-server", "--version"],
    "memcached": ["memcached", "-V"],
    "PostgreSQL": ["postgres", "--version"],
    "etcd": ["etcd", "--version"],
}
# The build options that valid measurements require.
FIT = {"optimization": ("2", "3"), "b_sanitize": ("none",), "b_coverage": ("False",),
       "mutants": ("False",)}
VERSION = re.compile(r"\d+(?:\.\d+)+")


def said(*command):
    """Returns the output of a command, or an empty string if it fails."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=10, text=True, errors="replace",
                              check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def processor():
    found = re.search(r"^model name\s*: (.*)$", read("/proc/cpuinfo"), re.MULTILINE)
    return found.group(1).strip() if found else os.uname().machine


def memory_gb():
    found = re.search(r"^MemTotal:\s*(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    return round(int(found.group(1)) / 2**20, 1) if found else 0


def file_system(directory, mounts=None):
    """Returns the type of the file system of a directory, such as `ext4`."""
    place = os.path.realpath(directory)
    best, kind = "", "unknown"
    for line in (mounts or read("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        if len(before.split()) < 5 or not after:
            continue
        point = re.sub(r"\\(\d{3})", lambda found: chr(int(found.group(1), 8)), before.split()[4])
        # If two file systems are mounted at the same place, the later one hides the other.
        if len(point) >= len(best) and os.path.commonpath([point, place]) == point:
            best, kind = point, after.split()[0]
    return kind


def version_of_dynalite(program):
    """Returns the version in the package.json next to the program, or next to the target if the
    program is a link.
    """
    place = shutil.which(program or "dynalite")
    package = read(pathlib.Path(os.path.realpath(place)).parent / "package.json") if place else ""
    found = re.search(r'"version":\s*"([^"]+)"', package)
    return found.group(1) if found else ""


def version_of_dynamodb_local(folder):
    """Returns the version in the name of the archive or in its manifest."""
    for archive in sorted(pathlib.Path(folder).glob("DynamoDBLocal*.jar")) if folder else []:
        in_name = VERSION.search(archive.stem)
        if in_name:
            return in_name.group()
        try:
            with zipfile.ZipFile(archive) as files:
                manifest = files.read("META-INF/MANIFEST.MF").decode(errors="replace")
        except (OSError, KeyError, zipfile.BadZipFile):
            continue
        found = re.search(r"^(?:Implementation|Bundle)-Version:\s*(\S+)", manifest, re.MULTILINE)
        if found:
            return found.group(1)
    return ""


def versions(dynalite=None, dynamodb_local=None):
    """Returns the version of each contestant for which it can be determined."""
    found = {"dynalite": version_of_dynalite(dynalite),
             "DynamoDB Local": version_of_dynamodb_local(dynamodb_local)}
    found = {name: version for name, version in found.items() if version}
    for name, command in VERSIONS.items():
        if name == "PostgreSQL":
            # Debian does not add this folder to PATH.
            programs = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
            command = [*programs[-1:], *command[len(programs[-1:]):]]
        version = VERSION.search(said(*command))
        if version:
            found[name] = version.group()
    return found


def commit(root):
    """Returns the commit of the sources, and whether they have been changed since."""
    name = said("git", "-C", str(root), "rev-parse", "--short=12", "HEAD").strip()
    changed = said("git", "-C", str(root), "status", "--porcelain", "--untracked-files=no").strip()
    return name, bool(changed)


def uses_jemalloc(program):
    """Returns whether a program is linked with jemalloc, dynamically or statically."""
    try:
        content = program.read_bytes()
    except OSError:
        return False
    # The second text begins jemalloc's messages.
    return b"libjemalloc.so" in content or b"<jemalloc>: " in content


def build(root):
    """Returns the build options. `unfit` names the options that make measurements misleading."""
    place = root / "build"
    try:
        options = {option["name"]: option["value"]
                   for option in json.loads(read(place / "meson-info/intro-buildoptions.json"))}
    except (ValueError, KeyError, TypeError):
        return {}
    compiler = re.search(r"^C\+\+ compiler for the host machine: .*?\((\S+ [\d.]+)",
                         read(place / "meson-logs/meson-log.txt"), re.MULTILINE)
    linked = said("ldd", str(place / "bench/bench_scenarios"))
    unfit = [f"{name} is {options[name]}" for name, good in FIT.items()
             if str(options.get(name, good[0])) not in good]
    return {"compiler": compiler.group(1) if compiler else "",
            "optimization": f"-O{options.get('optimization', '')}",
            "unity": options.get("unity") == "on",
            "jemalloc": uses_jemalloc(place / "daemon/rocklock"),
            "static_rocksdb": "libc.so" in linked and "librocksdb" not in linked,
            "unfit": unfit}


def run_record(root, directory, settings, versions_):
    """Returns the `run` line. It contains no paths of this machine."""
    name, changed = commit(root)
    return {
        "kind": "run",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": memory_gb(),
        "kernel": f"{os.uname().sysname} {os.uname().release}",
        "file_system": file_system(directory),
        # The load of the last minute. It shows how busy other programs kept the machine.
        "load_before": round(os.getloadavg()[0], 2),
        "commit": name,
        "changed_since": changed,
        "build": build(root),
        "versions": versions_,
        "settings": settings,
    }


def _told_settings(settings):
    """Returns the settings of a run as readable text."""
    rounds, each = settings.get("rounds"), settings.get("seconds")
    if not all(isinstance(value, (int, float)) for value in (rounds, each)):
        return ", ".join(f"{name} {value}" for name, value in settings.items())
    described = f"{rounds} round{'s' * (rounds != 1)}, {each:g} s per measurement"
    others = [f"{name} {value}" for name, value in settings.items() if name not in ("rounds", "seconds")]
    return ", ".join([described, "after one warm-up round", *others])


def facts(run):
    """Returns the facts about a run as pairs of readable texts."""
    def get(name, kind, default):
        value = run.get(name)
        return value if isinstance(value, kind) else default

    settings = get("settings", dict, {})
    versions_ = get("versions", dict, {})
    built = get("build", dict, {})
    of_machine = [get("processor", str, ""), f"{get('cores', int, 0)} cores",
                  f"{get('memory_gb', (int, float), 0):g} GB of memory"]
    described = {"Date": get("date", str, ""),
            "Machine": ", ".join(filter(None, of_machine)) if run else "",
            "System": f"{get('kernel', str, '')}, {get('file_system', str, '')}" if run else "",
            "Load average before": f"{get('load_before', (int, float), 0):.2f}" if run else "",
            "Rocklock": get("commit", str, "") + (", with changes" if run.get("changed_since") else ""),
            "Build": ", ".join(filter(None, [
                built.get("compiler"), built.get("optimization"),
                "unity build" if built.get("unity") else "",
                "daemon with jemalloc" if built.get("jemalloc") else "",
                "RocksDB linked statically" if built.get("static_rocksdb") else "",
                *built.get("unfit", [])])),
            "Compared systems": ", ".join(f"{name} {version}" for name, version in versions_.items()),
            "Settings": _told_settings(settings)}
    found = [(name, value) for name, value in described.items() if value.strip()]
    if run.get("file_system") in ("tmpfs", "ramfs"):
        found.append(("Note", "The store was in memory, so no write was durable, even in rows named durable."))
    return found
