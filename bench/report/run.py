"""Measures how locks behave in scenarios, beside what else is installed, and shows it.

Each scenario is measured by a process of its own, one after the other. At the end there is one table
of ratios with their ranges on stdout; on stderr, how far it is. What was measured last is kept in
build/bench/results.jsonl.
"""

import argparse
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import machine
import page
import program
import results
import table
from progress import Progress

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAVED = ROOT / "docs/benchmarks"
SCENARIOS = ROOT / "build/bench/bench_scenarios"
ROCKLOCK = ROOT / "build/daemon/rocklock"
EPILOG = """\
The exit status is 0 when all has been measured, whatever came out, 1 when a scenario failed (the
others are measured all the same), 2 for wrong arguments, and 130 when it was interrupted.

examples:
  scripts/bench --list
  scripts/bench hot zipf                  two of them, and their table
  scripts/bench --quick                   a moment each, to see that all of it works
  scripts/bench --save                    all of them, into docs/benchmarks/
  scripts/bench --from build/bench/results.jsonl --output /tmp/bench
                                          draws again what was measured last
"""


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def seconds(text):
    value = float(text)
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no time")
    return value


def folder(text):
    path = pathlib.Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return path.resolve()


def absolute(text):
    return pathlib.Path(text).absolute()


def read_arguments(words):
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO",
                        help="the name of one, as --list tells it; all of them without any")
    parser.add_argument("--list", action="store_true", help="prints the name and the title of each")
    parser.add_argument("--quick", action="store_true",
                        help="a moment each, to see that it works: the figures mean nothing")
    parser.add_argument("--rounds", type=positive, metavar="N",
                        help="so many rounds, of which the median and the range are told")
    parser.add_argument("--seconds", type=seconds, metavar="S", help="how long one measurement takes")
    parser.add_argument("--directory", type=folder, metavar="DIR", default=tempfile.gettempdir(),
                        help="where the stores lie while they are measured: it chooses the disk "
                             "(by default %(default)s)")
    parser.add_argument("--dynalite", metavar="PROGRAM",
                        help="where dynalite is, if it is not in PATH")
    parser.add_argument("--dynamodb-local", type=folder, metavar="DIR",
                        help="the folder with DynamoDBLocal.jar; without it, it is left out")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--output", type=pathlib.Path, metavar="DIR",
                      help="writes the results, a picture a chart, index.html and README.md there; "
                           "scenarios that DIR has from before and that are not measured now stay, "
                           "with the date of their run")
    kept.add_argument("--save", dest="output", action="store_const", const=SAVED,
                      help="the same into docs/benchmarks/")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE",
                        help="measures nothing, and shows what a results.jsonl has")
    parser.add_argument("--scenarios", type=absolute, metavar="PROGRAM",
                        help="asks this program instead of build/bench/bench_scenarios, and builds "
                             "nothing")
    return parser.parse_args(words)


def give_up(why, status=2):
    print(f"scripts/bench: {why}", file=sys.stderr)
    sys.exit(status)


def build():
    """Only what is measured; and together where nothing was built before, in a third of the time."""
    words = [str(ROOT / "scripts/build")]
    for made in (SCENARIOS, ROCKLOCK):
        words += ["--target", str(made.relative_to(ROOT / "build"))]
    done = subprocess.run([*words, "--unity=on", "-Dunity_size=12"], stdin=subprocess.DEVNULL,
                          stdout=sys.stderr, check=False)
    if done.returncode != 0:
        give_up("the build failed; nothing is measured. If build/ is without benchmarks: "
                "meson configure build -Dbench=enabled -Ddaemon=enabled", 1)


def chosen(names, known):
    """The scenarios of these names, in the order of what is known; all without any."""
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if unknown:
        give_up(f"there is no scenario {', '.join(unknown)}. There are: {', '.join(known)}")
    return {name: scenario for name, scenario in known.items() if name in names or not names}


def command(arguments, name, place):
    words = [str(arguments.scenarios or SCENARIOS), "--program", str(ROCKLOCK),
             "--directory", str(place)]
    if arguments.quick:
        words.append("--quick")
    for option in ("rounds", "seconds", "dynamodb_local"):
        value = getattr(arguments, option)
        if value is not None:
            words += ["--" + option.replace("_", "-"), str(value)]
    if arguments.dynalite:
        # A name is looked for in PATH.
        place = arguments.dynalite
        words += ["--dynalite", os.path.abspath(place) if "/" in place else place]
    return [*words, name]


def settings(arguments):
    """What differs from what is set without options."""
    found = {option: getattr(arguments, option) for option in ("rounds", "seconds")
             if getattr(arguments, option) is not None}
    return found | ({"quick": "yes: the figures mean nothing"} if arguments.quick else {})


def measure(arguments, wanted, found):
    """Measures them one after the other; whether it was let do so to the end."""
    progress = Progress(sys.stderr, len(wanted))
    try:
        for scenario in wanted.values():
            progress.scenario(scenario.title)
            # Whatever becomes of it, its stores go with it.
            with tempfile.TemporaryDirectory(prefix="rocklock-bench-", dir=arguments.directory,
                                             ignore_cleanup_errors=True) as place:
                # Servers that do not run as root make their folders in it.
                os.chmod(place, 0o755)
                words = command(arguments, scenario.name, place)
                progress.ended(program.measure(words, scenario, found, progress))
            keep(arguments, found)
    except KeyboardInterrupt:
        return False
    finally:
        progress.over()
    return True


def keep(arguments, found):
    """So that nothing is lost that took long to measure."""
    path = (arguments.scenarios or SCENARIOS).parent / "results.jsonl"
    path.write_text("".join(found.lines()), encoding="utf-8")


def show(found):
    terminal = sys.stdout.isatty()
    bold = terminal and not os.environ.get("NO_COLOR")
    print("\n".join(table.lines_of(found.scenarios, terminal, bold)))


def draw_again(arguments):
    try:
        with arguments.source.open(encoding="utf-8") as file:
            found = results.read(file)
    except (OSError, UnicodeDecodeError, results.Misunderstood) as error:
        give_up(f"{arguments.source}: {error}")
    known = {scenario.name: scenario for scenario in found.scenarios}
    found.scenarios = list(chosen(arguments.scenario, known).values())
    if not found.scenarios:
        give_up(f"{arguments.source}: nothing in it")
    return found


def interrupted(*_):
    raise KeyboardInterrupt


def measure_anew(arguments):
    """What was measured, with what the folder had before; and whether all went well."""
    before = results.Results()
    if arguments.output:
        try:
            before = page.kept(arguments.output)
        except (OSError, UnicodeDecodeError, results.Misunderstood) as error:
            give_up(f"{arguments.output}/results.jsonl is not to be understood, remove it: {error}")
    if not arguments.scenarios:
        build()
    try:
        known = program.listed(str(arguments.scenarios or SCENARIOS))
    except program.Failed as error:
        give_up(error, 1)
    wanted = chosen(arguments.scenario, known)
    if arguments.list:
        width = max(map(len, wanted))
        print("\n".join(f"{name:{width}}  {scenario.title}" for name, scenario in wanted.items()))
        sys.exit(0)

    found = results.Results()
    run = machine.run_record(ROOT, arguments.directory, settings(arguments),
                             machine.versions(arguments.dynalite, arguments.dynamodb_local))
    unfit = run["build"].get("unfit")
    if unfit and arguments.output and not arguments.scenarios:
        give_up(f"figures of this build would mislead, {', '.join(unfit)}: meson configure build, or "
                "move build/ away")
    found.add(run)
    if machine.file_system(arguments.directory) in ("tmpfs", "ramfs"):
        print(f"{arguments.directory} is in memory: nothing will be durable. --directory DIR chooses a "
              "disk.", file=sys.stderr)
    signal.signal(signal.SIGTERM, interrupted)
    to_the_end = measure(arguments, wanted, found)
    show(found)
    if not to_the_end:
        give_up("interrupted; nothing is written" if arguments.output else "interrupted", 130)
    return results.merged(before, found, known), any(one.failed for one in found.scenarios)


def main(words):
    arguments = read_arguments(words)
    if arguments.source:
        found, failed = draw_again(arguments), False
        if arguments.list:
            print("\n".join(f"{one.name}  {one.title}" for one in found.scenarios))
            return 0
        show(found)
    else:
        found, failed = measure_anew(arguments)
    if arguments.output:
        page.write(found, arguments.output)
        print(f"See {arguments.output / 'index.html'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
