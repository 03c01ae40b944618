"""Line charts: lines of medians over a number, with their ranges and a label at the end of each
line.
"""

import itertools

import canvas
import figures
import lettering
from canvas import MARGIN, SIZE, Canvas
from marks import DASHES
from scale import Scale

PLOT_HEIGHT = 300
# The distance from the frame to the outermost points.
INSET = 14
LABEL_SIZE = 12.5
LABEL_STEP = LABEL_SIZE * 1.25
LABEL_WIDTH = 190
NOTE = "Points are medians of the rounds; the thin bars reach from the lowest round to the highest."


class LineChart:
    def __init__(self, chart, marks, identity, narrow=False):
        self.chart = chart
        self.canvas = Canvas(chart, identity, narrow)
        self.narrow = narrow
        self.series = {}
        for name in marks:
            points = sorted((point for point in chart.points if point.series == name),
                            key=lambda point: point.x)
            if points:
                self.series[name] = points
        self.marks = marks
        self.labels = {name: lettering.wrap(canvas.clean(name), LABEL_SIZE, LABEL_WIDTH, marks[name].heavy)
                       for name in self.series}
        self.heights = {name: len(lines) * LABEL_STEP + 5 for name, lines in self.labels.items()}
        self._lay_out()

    def _lay_out(self):
        chart = self.chart
        values = [value for point in chart.points for value in (point.low, point.median, point.high)]
        if self.narrow:
            self.canvas.legend({name: self.marks[name] for name in self.series}, swatches=False)
        self.y = Scale(chart.y_scale, values, 1, 0, from_zero=True)
        title = canvas.axis_title(chart.y, self.y, chart.better, True)
        self.top = self.canvas.title(self.canvas.y + 26, title) + 16
        self.bottom = self.top + max(PLOT_HEIGHT, sum(self.heights.values()) * (not self.narrow))
        self.y = Scale(chart.y_scale, values, self.bottom, self.top, from_zero=True)
        ticks = max(lettering.width(figures.tick(tick), SIZE) for tick in self.y.ticks)
        self.left = MARGIN + ticks + 8
        labels = max(lettering.width(line, LABEL_SIZE, self.marks[name].heavy)
                     for name, lines in self.labels.items() for line in lines)
        self.right = self.canvas.width - MARGIN - (0 if self.narrow else labels + 30)
        self.x = Scale(chart.x_scale, [point.x for point in chart.points], self.left + INSET,
                       self.right - INSET, tight=True)

    def x_ticks(self):
        """Returns the measured values if their labels fit, otherwise the ticks of the scale."""
        for ticks in (sorted({point.x for point in self.chart.points}), self.x.ticks):
            kept = []
            edge = -1e9
            for tick in ticks:
                half = lettering.width(figures.tick(tick), SIZE) / 2
                if self.x.position(tick) - half > edge + 7:
                    kept.append(tick)
                    edge = self.x.position(tick) + half
            if len(kept) == len(ticks) > 0:
                return kept
        return kept

    def draw(self):
        self._axes()
        # Draws the heavy lines first, so that a thin line on top of one is visible.
        for name in self.series:
            self._line(name)
        if not self.narrow:
            self._labels()
        if any(point.low < point.high for point in self.chart.points):
            self.canvas.note(NOTE)

    def _axes(self):
        draw = self.canvas
        for tick in self.y.ticks:
            y = self.y.position(tick)
            draw.line(self.left, y, self.right, y)
            draw.text(self.left - 8, y + SIZE * 0.35, figures.tick(tick), "rl-soft", "end")
        for tick in self.x_ticks():
            x = self.x.position(tick)
            draw.line(x, self.bottom, x, self.bottom + 5, "rl-axis")
            draw.text(x, self.bottom + 20, figures.tick(tick), "rl-soft", "middle")
        draw.line(self.left, self.bottom, self.right, self.bottom, "rl-axis")
        if self.y.zero:
            draw.line(self.left, self.top, self.left, self.bottom, "rl-axis")
            draw.axis_break(self.left, self.y.broken(), True)
        if self.x.zero:
            draw.axis_break(self.x.broken(), self.bottom, False)
        what = self.chart.x + (" (log scale)" if self.x.log else "")
        draw.y = draw.title(self.bottom + 42, what, (self.left + self.right) / 2) + 22

    def _line(self, name):
        draw, mark, points = self.canvas, self.marks[name], self.series[name]
        group = draw.group(mark)
        places = [(self.x.position(point.x), self.y.position(point.median)) for point in points]
        for point, (x, _) in zip(points, places):
            if point.low < point.high:
                low, high = self.y.position(point.low), self.y.position(point.high)
                bar = f"M{x - 3:.1f} {low:.1f}h6m-3 0V{high:.1f}m-3 0h6"
                draw.add("path", group, d=bar, fill="none", stroke_opacity=0.75)
        for part in self._parts(points):
            draw.add("polyline", group, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in part),
                     fill="none", stroke_width=3 if mark.heavy else 1.7, stroke_linejoin="round",
                     stroke_dasharray=DASHES[mark.dash])
        for point, (x, y) in zip(points, places):
            draw.marker(group, mark, x, y, f"{name}: {figures.spread(point)} {self.chart.y}, "
                                           f"at {figures.tick(point.x)} {self.chart.x}")

    def _parts(self, points):
        """Returns the groups of points that a line connects. If the scale has a separate position
        for zero, no line connects a zero to another value.
        """
        for _, part in itertools.groupby(points, lambda point: self.y.zero and point.median <= 0):
            places = [(self.x.position(point.x), self.y.position(point.median)) for point in part]
            if len(places) > 1:
                yield places

    def _labels(self):
        ends = [self.y.position(points[-1].median) for points in self.series.values()]
        middles = lettering.share(ends, [self.heights[name] for name in self.series],
                                  self.top, self.bottom)
        for name, end, middle in zip(self.series, ends, middles):
            mark = self.marks[name]
            group = self.canvas.group(mark)
            last = self.x.position(self.series[name][-1].x)
            # Connects the label to the end of a line that reaches the edge. A line that ends before
            # is identified by its marker.
            if last > self.right - INSET - 1:
                self.canvas.line(last + 8, end, self.right + 6, middle, "", group,
                                 stroke_opacity=0.5)
            self.canvas.marker(group, mark, self.right + 14, middle)
            self.canvas.lines(self.right + 26, middle, self.labels[name], size=LABEL_SIZE,
                              bold=mark.heavy)
