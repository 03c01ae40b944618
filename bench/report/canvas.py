"""The common base of all charts: SVG elements, text, and a frame with title and notes."""

import re
import xml.etree.ElementTree as xml

import lettering
import marks

SVG = "http://www.w3.org/2000/svg"  # tidy: meant
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
WIDTH = 760
# For phones.
NARROW_WIDTH = 380
MARGIN = 20
TITLE_SIZE = 17
LEGEND_SIZE = 12.5
SIZE = 13
NOTE_SIZE = 11.5
# Characters that XML does not allow.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

ARROWS = {("more", True): "more is better\u00a0↑", ("less", True): "less is better\u00a0↓",
          ("more", False): "more is better\u00a0→", ("less", False): "less is better\u00a0←"}


def clean(text):
    return FORBIDDEN.sub("\ufffd", text)


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Canvas:
    def __init__(self, chart, identity, narrow=False):
        """`identity` becomes part of the ids in the picture, so it must be unique on a page."""
        self.width = NARROW_WIDTH if narrow else WIDTH
        self.root = xml.Element("svg", {"xmlns": SVG, "class": "rl-narrow" if narrow else "rl-wide", "role": "img",
                                        "font-family": FONT, "font-size": str(SIZE),
                                        "aria-labelledby": f"{identity}-title {identity}-desc"})
        xml.SubElement(self.root, "title", {"id": f"{identity}-title"}).text = clean(chart.title)
        self._description = xml.SubElement(self.root, "desc", {"id": f"{identity}-desc"})
        self._back = xml.SubElement(self.root, "rect", {"class": "rl-back", "rx": "6"})
        # The vertical position at which the next element is drawn.
        self.y = 12.0
        for line in lettering.wrap(clean(chart.title), TITLE_SIZE, self.room(), bold=True):
            self.y += 23
            self.text(MARGIN, self.y, line, size=TITLE_SIZE, bold=True)

    def room(self):
        """Returns the width between the margins."""
        return self.width - 2 * MARGIN

    def add(self, tag, parent=None, **attributes):
        """Adds an element. Numbers are rounded, `_` in a name becomes `-`, and `kind` is the
        class."""
        named = {("class" if name == "kind" else name.replace("_", "-")):
                 number(value) if isinstance(value, float) else str(value)
                 for name, value in attributes.items() if value != ""}
        return xml.SubElement(self.root if parent is None else parent, tag, named)

    def text(self, x, y, text, kind="rl-text", anchor="start", size=SIZE, bold=False, parent=None):
        """Adds a line of text; `y` is its baseline."""
        element = self.add("text", parent, x=float(x), y=float(y), kind=kind,
                           text_anchor="" if anchor == "start" else anchor,
                           font_size="" if size == SIZE else size,
                           font_weight="600" if bold else "")
        element.text = clean(text)

    def lines(self, x, middle, lines, kind="rl-text", anchor="start", size=SIZE, bold=False):
        """Adds lines of text, centred vertically on `middle`."""
        step = size * 1.25
        y = middle - step * (len(lines) - 1) / 2 + size * 0.35
        for line in lines:
            self.text(x, y, line, kind, anchor, size, bold)
            y += step

    def line(self, x1, y1, x2, y2, kind="rl-grid", parent=None, **more):
        self.add("line", parent, x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), kind=kind,
                 **more)

    def axis_break(self, x, y, upright):
        """Draws two strokes across an axis to mark a break; `upright`: the axis is vertical."""
        for shift in (-3, 3):
            path = (f"M{x - 5:.1f} {y + shift + 2:.1f}l10 -4" if upright
                    else f"M{x + shift - 2:.1f} {y + 5:.1f}l4 -10")
            self.add("path", d=path, kind="rl-axis", fill="none", stroke_width=1.5)

    def group(self, mark):
        """Adds a group. The elements in it are drawn in the colour of `mark`."""
        return self.add("g", kind=f"rl-{mark.colour}", fill="currentColor", stroke="currentColor")

    def marker(self, group, mark, x, y, tip=""):
        path = self.add("path", group, d=marks.shape_path(mark.shape, x, y, 5 if mark.heavy else 4),
                        kind="rl-halo", stroke_width=1)
        if tip:
            xml.SubElement(path, "title").text = clean(tip)

    def legend(self, looks, swatches):
        """Draws the name of each series with its marker, or with a swatch, as many per line as
        fit."""
        x = MARGIN
        self.y += 28
        for name, mark in looks.items():
            lines = lettering.wrap(clean(name), LEGEND_SIZE, self.room() - 18, mark.heavy)
            room = 18 + max(lettering.width(line, LEGEND_SIZE, mark.heavy) for line in lines)
            if x > MARGIN and x + room > self.width - MARGIN:
                x = MARGIN
                self.y += 21
            group = self.group(mark)
            if swatches:
                self.add("rect", group, x=float(x), y=self.y - 10, width=12, height=12,
                         **filling(mark))
            else:
                self.marker(group, mark, x + 6, self.y - 4)
            for index, line in enumerate(lines):
                self.y += 16 * bool(index)
                self.text(x + 18, self.y, line, size=LEGEND_SIZE, bold=mark.heavy)
            x += room + 22
        self.y += 2

    def title(self, y, text, middle=None):
        """Draws the title of an axis in as many lines as it needs: centred on `middle`, or from the
        margin if there is none. Returns the position of the last line.
        """
        for index, line in enumerate(lettering.wrap(clean(text), SIZE, self.room())):
            y += 17 * bool(index)
            if middle is None:
                self.text(MARGIN, y, line, "rl-soft")
            else:
                half = lettering.width(line, SIZE) / 2
                x = min(max(middle, MARGIN + half), self.width - MARGIN - half)
                self.text(x, y, line, "rl-soft", "middle")
        return y

    def note(self, text):
        """Adds small text at the bottom."""
        for line in lettering.wrap(clean(text), NOTE_SIZE, self.room()):
            self.text(MARGIN, self.y, line, "rl-soft", size=NOTE_SIZE)
            self.y += 16

    def finish(self, description, alone):
        """Returns the picture as text. `alone`: for a file of its own, with the style; otherwise,
        the page contains the style.
        """
        height = number(round(self.y + 6))
        self.root.set("viewBox", f"0 0 {self.width} {height}")
        if alone:
            self.root.set("width", str(self.width))
            self.root.set("height", height)
            style = xml.Element("style")
            style.text = marks.STYLE
            self.root.insert(0, style)
        self._back.set("width", str(self.width))
        self._back.set("height", height)
        self._description.text = clean(description)
        xml.indent(self.root, " ")
        return xml.tostring(self.root, encoding="unicode") + "\n"


def filling(mark):
    """Returns the fill attributes of a bar: paler if its colour is used for the second time."""
    return {"fill_opacity": 0.15 + 0.15 * (mark.dash - 1)} if mark.dash else {"stroke": "none"}


def axis_title(what, scale, better, upright):
    """Returns the title of an axis: the quantity, the kind of scale, and which direction is
    better."""
    what += (" (log scale; 0 lies apart)" if scale.zero else " (log scale)") if scale.log else ""
    arrow = ARROWS.get((better, upright))
    return f"{what} – {arrow}" if arrow else what
