#!/usr/bin/python3
"""A substitute for bench_scenarios. Prints the lines of the scenarios in FAKE_SCENARIOS, a JSON
object that maps each name to the behaviour of the scenario:

    lines   the lines that it prints after its own line
    says    what it writes to stderr
    status  its exit status
    leaves  it leaves a process running
    hangs   it never ends, nor does a process that it leaves running
"""

import json
import os
import subprocess
import sys

TOLD = {"kind": "scenario", "says": "What it does.", "charts": [
    {"name": "rate", "title": "Rate", "x": "clients", "x_scale": "log", "y": "pairs a second",
     "y_scale": "log", "better": "more"}]}


def main():
    # The output can contain invalid UTF-8.
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    scenarios = json.loads(os.environ["FAKE_SCENARIOS"])
    names = list(scenarios) if "--list" in sys.argv else sys.argv[-1:]
    if os.environ.get("FAKE_HEARD"):
        with open(os.environ["FAKE_HEARD"], "a", encoding="utf-8") as file:
            file.write(json.dumps(sys.argv[1:]) + "\n")
    for name in names:
        print(json.dumps({**TOLD, "name": name, "title": f"About {name}"}), flush=True)
    if "--list" in sys.argv:
        return 0
    does = scenarios[names[0]]
    for line in does.get("lines", []):
        print(line if isinstance(line, str) else json.dumps(line), flush=True)
    for line in does.get("says", []):
        print(line, file=sys.stderr, flush=True)
    if does.get("leaves") or does.get("hangs"):
        # The process keeps the pipes open, as a server does that was not stopped.
        subprocess.Popen(["sleep", "1000"])
    if does.get("hangs"):
        print("hanging", file=sys.stderr, flush=True)
        subprocess.run(["sleep", "1000"], check=False)
    return does.get("status", 0)


if __name__ == "__main__":
    sys.exit(main())
