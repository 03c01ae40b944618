"""The appearance of the series: colours that people with red-green blindness can distinguish, a
different marker for each series, and heavier lines for Rocklock.

A contestant looks the same in all charts, because its name determines its appearance: the family
determines the colour, and the durability determines the variant. Names that belong to no family get
the remaining colours.
"""

import itertools
import math
import re
from dataclasses import dataclass

# For a light and a dark background. Any two colours have a distance of at least 20 in CIELAB, also
# for people who lack one of the three kinds of cones, and a contrast of at least 3 to the
# background.
COLOURS = [("#0058cf", "#0083ef"), ("#d77c00", "#ee6600"), ("#739d65", "#7eed95"),
           ("#8e0076", "#e8b1ff"), ("#6e5200", "#fffb69"), ("#199ae1", "#d5fff5"),
           ("#571c17", "#a76243"), ("#a28b9f", "#737f91"), ("#180024", "#7830fc"),
           ("#000084", "#8454a8")]
DASHES = ["", "7 4", "2 3"]

# Each family with the index of its colour and marker. The first pattern that matches a name
# applies.
FAMILIES = [(re.compile(pattern), colour) for pattern, colour in (
    (r"(Rocklock|daemon)\b.*\bHTTP\b", 9), (r"(Rocklock,? )?embedded\b", 5),
    (r"(Rocklock|daemon)\b", 0), (r"Redis\b", 1), (r"PostgreSQL\b", 2), (r"etcd\b", 3),
    (r"memcached\b", 4), (r"(RocksDB|raw)\b", 6), (r"dynalite\b", 7), (r"DynamoDB\b", 8))]
OURS = (0, 5, 9)
# The variants of a family: durable, written to the operating system, in memory.
KEEPING = [re.compile(pattern) for pattern in (
    r"\bdurable\b|\balways synced\b|\brow lock\b|\bon file\b|\bLevelDB\b",
    r"\bwritten\b|\bevery second\b", r"\bin memory\b|\bno log\b|\badvisory lock\b")]

STYLE = """
.rl-back { fill: #ffffff; }
.rl-halo { stroke: #ffffff; }
.rl-text { fill: #1c2128; }
.rl-soft { fill: #57606a; }
.rl-grid { stroke: #e4e7eb; }
.rl-axis { stroke: #8c959f; }
.rl-range { stroke: #1c2128; }
""" + "".join(f".rl-{index} {{ color: {light}; }}\n" for index, (light, _) in enumerate(COLOURS)) + """
@media (prefers-color-scheme: dark) {
.rl-back { fill: #14181d; }
.rl-halo { stroke: #14181d; }
.rl-text { fill: #e8ebef; }
.rl-soft { fill: #a3acb7; }
.rl-grid { stroke: #2b323a; }
.rl-axis { stroke: #6b7480; }
.rl-range { stroke: #e8ebef; }
""" + "".join(f".rl-{index} {{ color: {dark}; }}\n" for index, (_, dark) in enumerate(COLOURS)) + "}\n"


@dataclass
class Mark:
    colour: int
    # The indexes of the shape and of the dash pattern.
    shape: int
    dash: int
    heavy: bool


def family(series):
    """Returns the colour of the family that a name belongs to, or None."""
    return next((colour for pattern, colour in FAMILIES if pattern.match(series)), None)


def _variant(series):
    """Returns the variant that a name mentions, or None."""
    return next((variant for variant, words in enumerate(KEEPING) if words.search(series)), None)


def is_ours(series):
    return family(series) in OURS


def in_order(series):
    """Returns Rocklock's series first, and the others in their original order."""
    return sorted(dict.fromkeys(series), key=lambda name: not is_ours(name))


def marks(series):
    """Returns a mark for each series of a scenario's charts, in order."""
    names = in_order(series)
    looks = {}

    def take(name, colour, wanted):
        looks[name] = next((colour, variant) for variant in itertools.chain([wanted], itertools.count())
                           if (colour, variant) not in looks.values())

    known = [name for name in names if family(name) is not None]
    # A name with a variant always gets that variant. Plain names choose next.
    for name in sorted(known, key=lambda name: (_variant(name) is None, "," in name)):
        take(name, family(name), _variant(name) or 0)
    left = sorted(set(range(len(COLOURS))) - set(map(family, known))) or range(len(COLOURS))
    for index, name in enumerate(name for name in names if name not in looks):
        take(name, left[index % len(left)], 0)
    return {name: Mark(colour, (colour + 3 * variant) % len(SHAPES), variant % len(DASHES), is_ours(name))
            for name, (colour, variant) in ((name, looks[name]) for name in names)}


def _polygon(corners, radius, turn, inner=None):
    points = []
    steps = corners * (2 if inner else 1)
    for step in range(steps):
        reach = inner if inner and step % 2 else radius
        angle = math.radians(turn) + 2 * math.pi * step / steps
        points.append((reach * math.sin(angle), -reach * math.cos(angle)))
    return points


# As many shapes as colours, and not a multiple of three, so that the variants of a colour have
# different shapes.
SHAPES = [
    None,  # A circle.
    _polygon(4, 1.25, 45),
    _polygon(3, 1.45, 0),
    _polygon(4, 1.35, 0),
    _polygon(3, 1.45, 180),
    _polygon(5, 1.5, 0, 0.65),
    _polygon(4, 1.5, 45, 0.55),
    _polygon(6, 1.2, 30),
    _polygon(3, 1.45, 90),
    _polygon(4, 1.6, 0, 0.5),
]


def shape_path(shape, x, y, radius):
    """Returns the path of a marker at a position."""
    points = SHAPES[shape]
    if points is None:
        return (f"M{x - radius:.1f} {y:.1f}a{radius} {radius} 0 1 0 {2 * radius} 0"
                f"a{radius} {radius} 0 1 0 {-2 * radius} 0z")
    return "M" + "L".join(f"{x + radius * a:.1f} {y + radius * b:.1f}" for a, b in points) + "z"
