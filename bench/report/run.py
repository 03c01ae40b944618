"""Measures how locks behave in scenarios, compares them with other installed servers, and shows the
results.

Each scenario runs in a separate process, one after the other. The command reports its progress on
stderr. At the end, it prints a table of ratios with their ranges to stdout. The latest results are
kept in build/bench/results.jsonl, even if the run was interrupted.
"""

import argparse
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import comparison
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
# The scenario of a cluster, which has a program of its own, and the clients that it runs.
CLUSTER = ROOT / "bench/cluster/run.py"
CLUSTER_CLIENTS = ROOT / "build/bench/bench_cluster"
# The defaults. --quick has its own.
DEFAULTS = {"rounds": 5, "seconds": 0.25}
# The options that cannot be combined with --from.
MEASURING = ("rounds", "seconds", "quick", "directory", "dynalite", "dynamodb_local", "scenarios")
MOST_ROUNDS = 1000
MOST_SECONDS = 3600
EPILOG = """\
The exit status is 0 if all scenarios were measured, even if they miss targets; 1 if a scenario
failed (the others are measured nevertheless); 2 for wrong arguments; 130 after an interruption.

examples:
  scripts/bench --list
  scripts/bench hot zipf                  two scenarios, and their table
  scripts/bench --quick                   short measurements, to check that everything works
  scripts/bench --save                    all scenarios, into docs/benchmarks/
  scripts/bench --from build/bench/results.jsonl --output /tmp/bench
                                          draws the latest results again
  scripts/bench --compare docs/benchmarks/results.jsonl hot
                                          measures, and compares with the saved results
"""


def count(text):
    value = int(text)
    if not 1 <= value <= MOST_ROUNDS:
        raise argparse.ArgumentTypeError(f"{text} is not from 1 to {MOST_ROUNDS}")
    return value


def seconds(text):
    value = float(text)
    if not math.isfinite(value) or not 0 < value <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} is not a time above 0 and up to {MOST_SECONDS} s")
    return value


def folder(text):
    path = pathlib.Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return path.resolve()


def writable(text):
    path = folder(text)
    try:
        # Permissions alone do not show whether a directory is writable: the file system can be
        # read-only.
        with tempfile.TemporaryDirectory(dir=path):
            return path
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text} cannot be written: {error.strerror}") from None


def dynalite(text):
    """Returns the path of dynalite. A plain name is left as it is and looked up in PATH later."""
    if "/" not in text:
        return text
    if not os.path.isfile(text) or not os.access(text, os.X_OK):
        raise argparse.ArgumentTypeError(f"there is no program {text}")
    return os.path.abspath(text)


def dynamodb_local(text):
    path = folder(text)
    if not any(path.glob("DynamoDBLocal*.jar")):
        raise argparse.ArgumentTypeError(f"there is no DynamoDBLocal*.jar in {text}")
    return path


def output(text):
    """Checks that `text` is a folder that is writable or can be created."""
    path = pathlib.Path(text)
    place = path.absolute()
    while not os.path.lexists(place):
        place = place.parent
    writable(place)
    for one in (path / name for name in ("results.jsonl", "index.html", "README.md")):
        if one.exists() and not (one.is_file() and os.access(one, os.W_OK)):
            raise argparse.ArgumentTypeError(f"{one} cannot be written")
    return path


def absolute(text):
    return pathlib.Path(text).absolute()


def read_arguments(words):
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO",
                        help="name of a scenario, see --list; by default all scenarios")
    parser.add_argument("--list", action="store_true", help="print the name and the title of each scenario")
    parser.add_argument("--quick", action="store_true",
                        help="measure briefly, to check that it works: the results are meaningless")
    parser.add_argument("--rounds", type=count, metavar="N",
                        help="number of rounds, of which the median and the range are reported "
                             f"({DEFAULTS['rounds']}; at most {MOST_ROUNDS})")
    parser.add_argument("--seconds", type=seconds, metavar="S",
                        help="duration of one measurement "
                             f"({DEFAULTS['seconds']}; at most {MOST_SECONDS})")
    parser.add_argument("--directory", type=writable, metavar="DIR",
                        help="directory of the stores; it determines the disk "
                             f"(by default {tempfile.gettempdir()})")
    parser.add_argument("--dynalite", type=dynalite, metavar="PROGRAM",
                        help="path of dynalite, if it is not in PATH")
    parser.add_argument("--dynamodb-local", type=dynamodb_local, metavar="DIR",
                        help="directory of DynamoDBLocal.jar; without this option, DynamoDB Local is left out")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--output", type=output, metavar="DIR",
                      help="write the results, the charts, index.html and README.md into DIR; results of "
                           "other scenarios in DIR are kept, with the date of their run")
    kept.add_argument("--save", action="store_true", help="as --output docs/benchmarks/; not with --quick")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE",
                        help="do not measure; show or list the results in FILE, a results.jsonl")
    parser.add_argument("--compare", type=pathlib.Path, metavar="FILE",
                        help="also print what has changed since the results in FILE, a results.jsonl, row "
                             "by row: ratios or, for rows without a ratio, values. A row is better or "
                             "worse if the ranges do not overlap")
    parser.add_argument("--scenarios", type=absolute, metavar="PROGRAM",
                        help="run this program instead of build/bench/bench_scenarios, without a build")
    arguments = parser.parse_args(words)
    try:
        complete(arguments)
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    return arguments


def complete(arguments):
    """Sets the options that follow from others, and rejects combinations that are not allowed."""
    measuring = [option for option in MEASURING if getattr(arguments, option)]
    if arguments.source and measuring:
        options = ", ".join("--" + option.replace("_", "-") for option in measuring)
        raise argparse.ArgumentTypeError(f"--from does not measure, so it cannot be combined with {options}")
    if arguments.save:
        if arguments.quick:
            raise argparse.ArgumentTypeError("--save cannot be combined with --quick, whose results are meaningless")
        arguments.output = output(SAVED)
    if arguments.source or arguments.list:
        return
    arguments.directory = arguments.directory or writable(tempfile.gettempdir())
    if not arguments.quick:
        for option, value in DEFAULTS.items():
            setattr(arguments, option, getattr(arguments, option) or value)


def give_up(why, status=2):
    print(f"scripts/bench: {why}", file=sys.stderr)
    sys.exit(status)


def build():
    """Builds only the programs that are needed. With unity files, a first build takes a third of
    the time.
    """
    words = [str(ROOT / "scripts/build")]
    for made in (SCENARIOS, ROCKLOCK, CLUSTER_CLIENTS):
        words += ["--target", str(made.relative_to(ROOT / "build"))]
    done = subprocess.run([*words, "--unity=on", "-Dunity_size=12"], stdin=subprocess.DEVNULL,
                          stdout=sys.stderr, check=False)
    if done.returncode != 0:
        give_up("the build failed. If build/ has no benchmarks, run "
                "meson configure build -Dbench=enabled -Ddaemon=enabled", 1)


def chosen(names, known):
    """Returns the scenarios with these names, in the order of `known`; all scenarios if there are
    no names.
    """
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if unknown:
        give_up(f"there is no scenario {', '.join(unknown)}. There are: {', '.join(known)}")
    return {name: scenario for name, scenario in known.items() if name in names or not names}


def command(arguments, name, place):
    own = CLUSTER if name == "cluster" else SCENARIOS
    words = [str(arguments.scenarios or own), "--program", str(ROCKLOCK),
             "--directory", str(place)]
    if arguments.quick:
        words.append("--quick")
    for option in ("rounds", "seconds", "dynalite", "dynamodb_local"):
        value = getattr(arguments, option)
        if value is not None:
            words += ["--" + option.replace("_", "-"), str(value)]
    return [*words, name]


def settings(arguments):
    """Returns the settings of the measurement. With --quick, only those that the user gave
    explicitly.
    """
    found = {option: getattr(arguments, option) for option in ("rounds", "seconds")
             if getattr(arguments, option) is not None}
    return found | ({"quick": "yes: the results are meaningless"} if arguments.quick else {})


def limit_s(arguments):
    """Returns the time limit of a scenario. It grows with rounds and seconds above the defaults."""
    usual = DEFAULTS["rounds"] * DEFAULTS["seconds"]
    asked = (arguments.rounds or DEFAULTS["rounds"]) * (arguments.seconds or DEFAULTS["seconds"])
    return program.LIMIT_S * max(1, asked / usual)


def measure(arguments, wanted, found):
    """Measures one scenario after the other. Returns False if it was interrupted."""
    progress = Progress(sys.stderr, len(wanted))
    try:
        for scenario in wanted.values():
            progress.scenario(scenario.title)
            # The scenario's stores are removed even if it fails.
            with tempfile.TemporaryDirectory(prefix="rocklock-bench-", dir=arguments.directory,
                                             ignore_cleanup_errors=True) as place:
                # Servers that do not run as root need access to this directory.
                os.chmod(place, 0o755)
                words = command(arguments, scenario.name, place)
                progress.ended(program.measure(words, scenario, found, progress, limit_s(arguments)))
            keep(arguments, found)
    except KeyboardInterrupt:
        if found.scenarios:
            keep(arguments, found)
        return False
    finally:
        progress.over()
    return True


def last_results(arguments):
    return (arguments.scenarios or SCENARIOS).parent / "results.jsonl"


def keep(arguments, found):
    """Saves the results after each scenario, so that an interruption does not lose them."""
    last_results(arguments).write_text("".join(found.lines()), encoding="utf-8")


def is_quick(scenario):
    settings_ = scenario.run.get("settings")
    return isinstance(settings_, dict) and "quick" in settings_


def show(found, earlier=None, to_the_end=True):
    terminal = sys.stdout.isatty()
    bold = terminal and not os.environ.get("NO_COLOR")
    lines = table.lines_of(found.scenarios, terminal, bold)
    if earlier is not None:
        cells = comparison.lines(earlier.scenarios, found.scenarios)
        lines += ["", "Changes:", ""]
        if cells:
            lines += table.aligned(comparison.HEAD, cells, bold) if terminal else table.markdown(comparison.HEAD, cells)
            lines.append("")
        lines.append(comparison.summary(cells))
    if any(map(is_quick, found.scenarios)):
        lines.append("Measured with --quick: the results are meaningless.")
    if not to_the_end:
        lines.append("Interrupted: the table is partial.")
    print("\n".join(lines), flush=True)


def list_(scenarios):
    width = max(len(scenario.name) for scenario in scenarios)
    print("\n".join(f"{scenario.name:{width}}  {scenario.title}" for scenario in scenarios))


def read_file(path):
    try:
        with path.open(encoding="utf-8") as file:
            return results.read(file)
    except (OSError, UnicodeDecodeError, results.Misunderstood) as error:
        give_up(f"{path}: {error}")


def draw_again(arguments):
    found = read_file(arguments.source)
    known = {scenario.name: scenario for scenario in found.scenarios}
    found.scenarios = list(chosen(arguments.scenario, known).values())
    if not found.scenarios:
        give_up(f"{arguments.source} is empty")
    if arguments.save and any(map(is_quick, found.scenarios)):
        give_up(f"{arguments.source} was measured with --quick: --save does not accept meaningless results")
    return found


def interrupted(*_):
    raise KeyboardInterrupt


def handle_signals():
    for number in (signal.SIGTERM, signal.SIGHUP):
        # nohup ignores this signal; it must stay ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupted)


def kept_before(arguments):
    """Returns the results that the output folder contains."""
    if not arguments.output:
        return results.Results()
    try:
        before = page.kept(arguments.output)
    except (OSError, UnicodeDecodeError, results.Misunderstood) as error:
        give_up(f"{arguments.output}/results.jsonl cannot be parsed, remove it: {error}")
    if arguments.quick and not all(map(is_quick, before.scenarios)):
        give_up(f"{arguments.output} has valid results, and --quick would replace them with meaningless ones")
    return before


def known_scenarios(arguments):
    """Builds the program if needed, and returns the scenarios that it can run."""
    if not arguments.scenarios:
        if not SCENARIOS.exists():
            print("Building first, which takes some minutes.", file=sys.stderr, flush=True)
        build()
    try:
        if arguments.scenarios:
            return program.listed(str(arguments.scenarios))
        return program.listed(str(SCENARIOS)) | program.listed(str(CLUSTER))
    except program.Failed as error:
        give_up(error, 1)


def measure_anew(arguments, earlier):
    """Measures. Returns the new results merged with those of the output folder, and whether a
    scenario failed.
    """
    before = kept_before(arguments)
    known = known_scenarios(arguments)
    wanted = chosen(arguments.scenario, known)
    if arguments.list:
        list_(wanted.values())
        sys.exit(0)

    found = results.Results()
    run = machine.run_record(ROOT, arguments.directory, settings(arguments),
                             machine.versions(arguments.dynalite, arguments.dynamodb_local))
    unfit = run["build"].get("unfit")
    if unfit and arguments.output and not arguments.scenarios:
        give_up(f"the build options make the results misleading: {', '.join(unfit)}. Change them with "
                "meson configure build, or move build/ away")
    found.add(run)
    if machine.file_system(arguments.directory) in ("tmpfs", "ramfs"):
        print(f"{arguments.directory} is in memory, so no write is durable. --directory DIR selects a "
              "disk.", file=sys.stderr)
    handle_signals()
    to_the_end = measure(arguments, wanted, found)
    show(found, earlier, to_the_end)
    if not to_the_end:
        unchanged = f"; {arguments.output} is unchanged" if arguments.output else ""
        kept = f"; {last_results(arguments)} has the results so far" if found.scenarios else ""
        give_up(f"interrupted{unchanged}{kept}", 130)
    return results.merged(before, found, known), any(one.failed for one in found.scenarios)


def main(words):
    arguments = read_arguments(words)
    # Read before the measurement, so that a wrong file is reported at once.
    earlier = read_file(arguments.compare) if arguments.compare else None
    if arguments.source:
        found, failed = draw_again(arguments), False
        if arguments.list:
            list_(found.scenarios)
            return 0
        show(found, earlier)
    else:
        found, failed = measure_anew(arguments, earlier)
    if arguments.output:
        try:
            page.write(found, arguments.output)
        except OSError as error:
            give_up(f"{arguments.output} cannot be written: {error}", 1)
        print(f"See {arguments.output / 'index.html'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
