"""Checks the source tree against its rules and prints the results as TAP.

    tidy.py ROOT BUILD [CHECK...]

CHECK is a name such as `layers` or `clang_tidy`. By default, all checks are run. If the environment
variable ROCKLOCK_TIDY_THIRD is 0, 1 or 2, the checks that compile files do so for this third of the
headers, or of the groups of files that were changed since their last check.
"""

import argparse
import contextlib
import os
import pathlib
import sys
import traceback

import clang
import headers
import include_order
import layers
import prose
import requirements
import sizes
import texts
from tree import Tree

CHECKS = [
    layers.check_layers,
    layers.check_libraries,
    include_order.check_include_order,
    headers.check_headers_standard,
    headers.check_headers_alone,
    texts.check_examples,
    requirements.check_requirements,
    texts.check_machine_paths,
    texts.check_hosts,
    texts.check_layout,
    texts.check_file_names,
    sizes.check_file_lengths,
    sizes.check_folder_sizes,
    sizes.check_class_sizes,
    prose.check_prose,
    prose.check_document_columns,
    clang.check_format,
    clang.check_clang_tidy,
    clang.check_clang_tidy_of_tests_and_benchmarks,
]

# Run only if they are named, or with `scripts/test --all`.
LONG = {clang.check_clang_tidy_of_tests_and_benchmarks:
        "takes minutes: run it with scripts/test --all"}


def problems_of(check, tree):
    """Runs a check. If the check itself fails to run, returns that as a problem."""
    try:
        return check(tree)
    except Exception:  # pylint: disable=broad-except
        return [traceback.format_exc()]


def run(tree, checks):
    """Prints the problems of each check. Exits with 1 if there are any."""
    print(f"1..{len(checks)}", flush=True)
    failed = 0
    for number, check in enumerate(checks, 1):
        name = check.__name__.removeprefix("check_").replace("_", " ")
        if len(checks) > 1 and check in LONG and not os.environ.get("ROCKLOCK_TEST_ALL"):
            print(f"ok {number} - {name} # SKIP {LONG[check]}", flush=True)
            continue
        problems = problems_of(check, tree)
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {name}", flush=True)
        for problem in problems:
            for line in problem.splitlines():
                print(f"# {line}", flush=True)
    sys.exit(1 if failed else 0)


def yield_to_other_tests():
    """Lowers the priority of this process and its children.

    The checks take minutes of all cores, and other tests, some of which measure times, run at the same
    time. The scheduler first divides the time between sessions, if it groups processes by them
    (autogroup), and then between the processes of a session.
    """
    os.nice(10)
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/autogroup").write_text("10", encoding="ascii")


def name_of(check):
    return check.__name__.removeprefix("check_")


def main():
    parser = argparse.ArgumentParser(
        description="Checks the sources against the house rules, and prints TAP.",
        epilog="If the environment variable ROCKLOCK_TIDY_THIRD is 0, 1 or 2, the checks that "
               "compile files do so for this third of the groups of files only.")
    parser.add_argument("root", help="the repository")
    parser.add_argument("build", help="its build directory, which has been configured")
    parser.add_argument("check", nargs="*", metavar="CHECK",
                        help="only these: " + ", ".join(name_of(check) for check in CHECKS))
    arguments = parser.parse_args()
    unknown = set(arguments.check) - {name_of(check) for check in CHECKS}
    if unknown:
        parser.error("there is no check " + ", ".join(sorted(unknown)) + "; see --help")
    third = os.environ.get("ROCKLOCK_TIDY_THIRD", "")
    if third not in ("", "0", "1", "2"):
        parser.error(f"ROCKLOCK_TIDY_THIRD is {third}, and not 0, 1 or 2")
    yield_to_other_tests()
    run(Tree(arguments.root, arguments.build, int(third) if third else None),
        [check for check in CHECKS if not arguments.check or name_of(check) in arguments.check])


if __name__ == "__main__":
    main()
