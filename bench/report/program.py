"""Runs bench_scenarios in a separate process for each scenario, and reads its lines as they
arrive."""

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time

import results

# The number of last stderr lines that are reported if a scenario fails.
LAST_WORDS = 6
LIMIT_S = 3600


class Failed(Exception):
    """A scenario or the program failed; the message gives the reason."""


def listed(program):
    """Returns the scenarios of a program by name, in its order."""
    try:
        done = subprocess.run([program, "--list"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{program} --list: {error}") from None
    if done.returncode != 0:
        raise Failed(f"{program} --list: {_ending(done.returncode)}: {done.stderr.strip()}")
    try:
        found = results.read(done.stdout.splitlines())
    except results.Misunderstood as error:
        raise Failed(f"{program} --list: {error}") from None
    if not found.scenarios:
        raise Failed(f"{program} --list: it names no scenario")
    return {scenario.name: scenario for scenario in found.scenarios}


def _ending(status):
    if status >= 0:
        return f"it ended with status {status}"
    try:
        return f"it was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"it was ended by signal {-status}"


# The signals that end a run.
_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextlib.contextmanager
def uninterrupted():
    """Blocks the signals that end a run during the `with` block."""
    # The call that blocks the signals can raise the exception of one that has just arrived.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _receive_signals():
    """Receives the signals that have arrived during uninterrupted()."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)


class _Running:
    """The process of a scenario, and the lines that it prints."""

    def __init__(self, command):
        self.lines = queue.SimpleQueue()
        # The number of pipes that are still open. A server that outlives the scenario keeps them
        # open, so the run ends with the process, not with its pipes.
        self.open_pipes = 2
        # A process group of its own, so that the servers that it starts can be killed with it.
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, errors="replace",
                                        process_group=0)
        self.readers = [threading.Thread(target=self._read, args=pipe, daemon=True) for pipe in
                        (("out", self.process.stdout), ("err", self.process.stderr))]
        self.arrived = threading.Event()
        # The readers block the signals, so that only the main thread receives them.
        with uninterrupted():
            for reader in self.readers:
                reader.start()

    def _read(self, name, pipe):
        for line in pipe:
            self.lines.put((name, line.rstrip("\n")))
            self.arrived.set()
        self.lines.put(None)
        self.arrived.set()

    def hear(self, listener, patience_s):
        """Passes the available lines to the listener; first waits up to `patience_s` for a line or
        for the end. Must be called within uninterrupted(): an interruption would lose lines, and an
        interrupted Event.wait() can raise a RuntimeError instead of the KeyboardInterrupt.
        """
        if self.open_pipes:
            self.arrived.wait(patience_s)
        self.arrived.clear()
        try:
            while True:
                line = self.lines.get_nowait()
                if line is None:
                    self.open_pipes -= 1
                else:
                    listener.hear(*line)
        except queue.Empty:
            pass
        if not self.open_pipes:
            try:
                self.process.wait(patience_s)
            except subprocess.TimeoutExpired:
                pass

    def _signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def stop(self):
        """Ends the process and the processes that it has left running."""
        if self.process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                pass
        self._signal(signal.SIGKILL)
        self.process.wait()
        for reader in self.readers:
            reader.join(10)


class _Listener:
    """Adds the lines of a scenario to the results, and records the first error in them."""

    def __init__(self, name, found, progress):
        self.name, self.found, self.progress = name, found, progress
        self.wrong = ""
        self.said = []

    def hear(self, where, line):
        if where == "err":
            if line.strip():
                self.said = [*self.said, line.strip()][-LAST_WORDS:]
                self.progress.said(line.strip())
        elif line.strip():
            try:
                self._add(results.parse(line))
            except results.Misunderstood as error:
                self.wrong = self.wrong or f"it printed invalid output: {error}"

    def _add(self, record):
        kind = record.get("kind")
        if kind not in ("scenario", "point", "row", "figures", "left_out"):
            raise results.Misunderstood(f"there is no kind {kind}")
        if record.get("name" if kind == "scenario" else "scenario") != self.name:
            raise results.Misunderstood(f"a line of another scenario: {str(record)[:200]}")
        self.found.add(record)

    def judge(self, status, too_long):
        """Returns the reason why the scenario failed, or an empty string if it succeeded."""
        if too_long:
            return f"it did not end within {too_long:g} s"
        if status != 0:
            return "\n".join([_ending(status) + (":" if self.said else ""), *self.said])
        scenario = self.found.find(self.name)
        if not self.wrong and not (scenario and (scenario.rows or scenario.steps or scenario.left_out or any(
                chart.points for chart in scenario.charts))):
            return "it reported no results"
        return self.wrong


def measure(command, scenario, found, progress, limit_s=LIMIT_S):
    """Runs a scenario and adds its lines to the results. Returns the reason of a failure, or an
    empty string. If the run is interrupted, the results so far are kept.
    """
    why = "interrupted"
    try:
        why = _listen(command, _Listener(scenario.name, found, progress), progress, limit_s)
    finally:
        if why:
            if not found.find(scenario.name):
                found.add(scenario.records[0])
            found.fail(scenario.name, why)
    return why


def _listen(command, listener, progress, limit_s):
    start = time.monotonic()
    too_long = 0
    try:
        running = _Running(command)
    except OSError as error:
        return str(error)
    try:
        with uninterrupted():
            while running.process.poll() is None and not too_long:
                running.hear(listener, 0.2)
                progress.tick()
                _receive_signals()
                if time.monotonic() - start > limit_s:
                    too_long = limit_s
    finally:
        running.stop()
        with uninterrupted():
            running.hear(listener, 0)
    return listener.judge(running.process.returncode, too_long)
