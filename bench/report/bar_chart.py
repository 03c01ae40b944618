"""Bar charts: horizontal bars of medians for each word, with their ranges and values. The legend is
above.

The length of a bar shows its value, so bars begin at zero on a linear scale. If the smallest value
would be invisible, the chart has points on a logarithmic scale instead.
"""

import canvas
import figures
import lettering
from canvas import MARGIN, SIZE, Canvas
from scale import Scale

BAR = 15
BETWEEN_BARS = 4
BETWEEN_GROUPS = 18
WORD_WIDTH = 180
NARROW_WORD_WIDTH = 110
VALUE_SIZE = 11.5
VALUE_WIDTH = 60
# If the values differ by a larger factor, the chart has points instead of bars.
FURTHEST = 100
NOTE = "{} are medians of the rounds; the thin lines reach from the lowest round to the highest."


class BarChart:
    def __init__(self, chart, marks, identity, narrow=False):
        self.chart = chart
        self.canvas = Canvas(chart, identity, narrow)
        self.marks = marks
        measured = {point.series for point in chart.points}
        self.series = [name for name in marks if name in measured]
        self.groups = {word: {} for word in dict.fromkeys(point.x for point in chart.points)}
        for point in chart.points:
            self.groups[point.x][point.series] = point
        self.words = {word: lettering.wrap(canvas.clean(word), SIZE, NARROW_WORD_WIDTH if narrow else WORD_WIDTH)
                      for word in self.groups}
        self._lay_out()

    def _lay_out(self):
        words = max(lettering.width(line, SIZE) for lines in self.words.values() for line in lines)
        self.left = MARGIN + words + 12
        self.right = self.canvas.width - MARGIN - VALUE_WIDTH
        values = [value for point in self.chart.points
                  for value in (point.low, point.median, point.high)]
        medians = [point.median for point in self.chart.points if point.median > 0]
        far = bool(medians) and max(medians) > FURTHEST * min(medians)
        self.scale = Scale("log" if far else "linear", values, self.left, self.right, from_zero=True)

    def draw(self):
        self.canvas.legend({name: self.marks[name] for name in self.series}, swatches=not self.scale.log)
        if self.chart.x:
            self.canvas.y = self.canvas.title(self.canvas.y + 24, self.chart.x)
        self.top = self.canvas.y + 10
        middles = self._places()
        self._axis()
        for word, (middle, bars) in middles.items():
            self.canvas.lines(self.left - 10, middle, self.words[word], anchor="end")
            for name, y in bars.items():
                self._value(word, name, y)
        if self.scale.zero:
            self.canvas.axis_break(self.scale.broken(), self.bottom, False)
        start = self.scale.position(0) if not self.scale.log else self.left
        self.canvas.line(start, self.top, start, self.bottom, "rl-axis")
        if any(point.low < point.high for point in self.chart.points):
            self.canvas.note(NOTE.format("Points" if self.scale.log else "Bars"))

    def _places(self):
        """Returns the middle of each word's group and the start of each of its bars."""
        places = {}
        y = self.top + BETWEEN_GROUPS / 2
        for word, points in self.groups.items():
            names = [name for name in self.series if name in points]
            bars = len(names) * (BAR + BETWEEN_BARS) - BETWEEN_BARS
            height = max(bars, len(self.words[word]) * SIZE * 1.25)
            first = y + (height - bars) / 2
            places[word] = (y + height / 2, {name: first + index * (BAR + BETWEEN_BARS)
                                             for index, name in enumerate(names)})
            y += height + BETWEEN_GROUPS
        self.bottom = y - BETWEEN_GROUPS / 2
        return places

    def _axis(self):
        draw = self.canvas
        for tick in self.scale.ticks:
            x = self.scale.position(tick)
            draw.line(x, self.top, x, self.bottom)
        edge = -1e9
        for tick in self.scale.ticks:
            x = self.scale.position(tick)
            half = lettering.width(figures.tick(tick), SIZE) / 2
            if x - half > edge + 6:
                draw.text(x, self.bottom + 18, figures.tick(tick), "rl-soft", "middle")
                edge = x + half
        title = canvas.axis_title(self.chart.y, self.scale, self.chart.better, False)
        self.canvas.y = draw.title(self.bottom + 40, title, (self.left + self.right) / 2) + 22

    def _value(self, word, name, y):
        """Draws a bar, or a point if the scale is logarithmic, with its range and value."""
        draw, point, mark = self.canvas, self.groups[word][name], self.marks[name]
        end = self.scale.position(point.median)
        low, high = self.scale.position(point.low), self.scale.position(point.high)
        group = draw.group(mark)
        tip = f"{name}, {word}: {figures.spread(point)} {self.chart.y}"
        middle = y + BAR / 2
        start = end if self.scale.log else self.scale.position(0)
        if not self.scale.log:
            bar = draw.add("rect", group, x=float(min(start, end)), y=float(y),
                           width=float(max(abs(end - start), 1)), height=BAR, **canvas.filling(mark))
            draw.add("title", bar).text = canvas.clean(tip)
        if point.low < point.high:
            # The range line has a halo, so that it is visible both on the bar and beyond it.
            path = f"M{low:.1f} {middle - 4:.1f}v8m0 -4H{high:.1f}m0 -4v8"
            draw.add("path", d=path, kind="rl-halo", fill="none", stroke_width=3)
            draw.add("path", d=path, kind="rl-range", fill="none")
        if self.scale.log:
            draw.marker(group, mark, end, middle, tip)
        draw.text(max(end, high, start) + 7, middle + VALUE_SIZE * 0.36, figures.short(point.median),
                  size=VALUE_SIZE, bold=mark.heavy)
