"""Shows the progress of a run: one changing line on a terminal, otherwise one line per event."""

import shutil
import time

import figures


class Progress:
    def __init__(self, out, count):
        self.out, self.count = out, count
        self.terminal = out.isatty()
        self.begin = time.monotonic()
        self.title = self.last = ""
        self.number = 0

    def _put(self, text):
        try:
            self.out.write(text)
            self.out.flush()
        except OSError:
            # A closed terminal must not stop the measurement, whose results are saved later.
            pass

    def _write(self, text):
        self._put(text + "\n")

    def scenario(self, title):
        """Begins the next scenario."""
        self.number += 1
        self.title, self.last = title, ""
        if self.terminal:
            self.tick()
        else:
            self._write(f"{self._where()} {title}, after {self._gone()}")

    def said(self, line):
        """Shows a line of the program's stderr."""
        self.last = " ".join(line.split())
        if not self.terminal:
            self._write(f"    {self.last}")

    def tick(self):
        """Updates the elapsed time."""
        if self.terminal:
            text = f"{self._where()} {self.title}  {self._gone()}  {self.last}"
            text = "".join(letter if letter.isprintable() else " " for letter in text)
            text = text[:shutil.get_terminal_size().columns - 1]
            self._put(f"\r\033[K{text}")

    def ended(self, why):
        """Ends the scenario; reports the reason if it failed."""
        if why:
            self._clear()
            self._write(f"{self._where()} {self.title}: failed: {why}")

    def over(self):
        self._clear()

    def _clear(self):
        if self.terminal:
            self._put("\r\033[K")

    def _where(self):
        return f"[{self.number}/{self.count}]"

    def _gone(self):
        return figures.duration(time.monotonic() - self.begin)
