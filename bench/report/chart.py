"""The charts of a scenario as SVG."""

import figures
import marks
from bar_chart import BarChart
from line_chart import LineChart


def file_name(scenario, chart):
    return f"{scenario.name}-{chart.name}.svg"


def describe(chart, names):
    """Returns a text description of the chart for readers who cannot see it."""
    lines = [f"{chart.y} over {chart.x}." if chart.x else f"{chart.y}."]
    if chart.better:
        lines.append(f"{chart.better.capitalize()} is better.")
    for name in names:
        points = [point for point in chart.points if point.series == name]
        if points:
            text = "; ".join(
                f"{point.x if isinstance(point.x, str) else figures.tick(point.x)}: "
                f"{figures.short(point.median)}" for point in points)
            lines.append(f"{name}: {text}.")
    return " ".join(lines)


def drawn(scenario):
    """Returns the charts that have points."""
    return [chart for chart in scenario.charts if chart.points]


def draw(scenario, chart, alone=True, narrow=False):
    """Returns the picture as text. `alone`: for a file of its own; otherwise, the page contains the
    style. `narrow`: for phones.
    """
    looks = marks.marks(point.series for one in scenario.charts for point in one.points)
    kind = BarChart if chart.x_scale == "words" else LineChart
    picture = kind(chart, looks, f"{scenario.name}-{chart.name}{'-narrow' * narrow}", narrow)
    picture.draw()
    return picture.canvas.finish(describe(chart, looks), alone)
