"""How series look: colours that are told apart without seeing red or green, a marker of its own for
each, and heavier lines for Rocklock's.

A contestant looks the same in all charts, since its name decides: of which family it is, and how it
keeps what it is told. Names of no family have what is left.
"""

import itertools
import math
import re
from dataclasses import dataclass

# On white, and on dark: apart (a distance of 20 and more in CIELAB) for all eyes, with those that
# lack one of the three kinds of cones, and with a contrast of 3 and more.
COLOURS = [("#0058cf", "#0083ef"), ("#d77c00", "#ee6600"), ("#739d65", "#7eed95"),
           ("#8e0076", "#e8b1ff"), ("#6e5200", "#fffb69"), ("#199ae1", "#d5fff5"),
           ("#571c17", "#a76243"), ("#a28b9f", "#737f91"), ("#180024", "#7830fc"),
           ("#000084", "#8454a8")]
DASHES = ["", "7 4", "2 3"]

# Each family with its colour, which is its marker too. The first that a name begins with counts.
FAMILIES = [(re.compile(pattern), colour) for pattern, colour in (
    (r"(Rocklock|daemon)\b.*\bHTTP\b", 9), (r"(Rocklock,? )?embedded\b", 5),
    (r"(Rocklock|daemon)\b", 0), (r"Redis\b", 1), (r"PostgreSQL\b", 2), (r"etcd\b", 3),
    (r"memcached\b", 4), (r"(RocksDB|raw)\b", 6), (r"dynalite\b", 7), (r"DynamoDB\b", 8))]
OURS = (0, 5, 9)
# The variants of a family: durable, handed to the operating system, in memory.
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
    # Which shape, and which dashes.
    shape: int
    dash: int
    heavy: bool


def family(series):
    """The colour of a name's family; None: it is of none."""
    return next((colour for pattern, colour in FAMILIES if pattern.match(series)), None)


def _variant(series):
    """Which variant of its family a name tells of; None: of none."""
    return next((variant for variant, words in enumerate(KEEPING) if words.search(series)), None)


def is_ours(series):
    return family(series) in OURS


def in_order(series):
    """Rocklock's first, else as they came."""
    return sorted(dict.fromkeys(series), key=lambda name: not is_ours(name))


def marks(series):
    """A mark for each series of a scenario's charts, in order."""
    names = in_order(series)
    looks = {}

    def take(name, colour, wanted):
        looks[name] = next((colour, variant) for variant in itertools.chain([wanted], itertools.count())
                           if (colour, variant) not in looks.values())

    known = [name for name in names if family(name) is not None]
    # Who tells its variant has it whoever else there is, and then who bears the plain name.
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


# As many as colours, and no multiple of three: so variants of one colour differ.
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
    """The path of a marker around a place."""
    points = SHAPES[shape]
    if points is None:
        return (f"M{x - radius:.1f} {y:.1f}a{radius} {radius} 0 1 0 {2 * radius} 0"
                f"a{radius} {radius} 0 1 0 {-2 * radius} 0z")
    return "M" + "L".join(f"{x + radius * a:.1f} {y + radius * b:.1f}" for a, b in points) + "z"
