"""How series look: colours that are told apart without seeing red or green, a marker of its own for
each, and heavier lines for Rocklock's.
"""

import math
from dataclasses import dataclass

# On white, and on dark: as far apart as can be (a distance of 30 and more in CIELAB) for all eyes,
# with those that lack one of the three kinds of cones, and with a contrast of 3 and more.
COLOURS = [("#0058cf", "#0083ef"), ("#d77c00", "#ee6600"), ("#739d65", "#7eed95"),
           ("#8e0076", "#e8b1ff"), ("#6e5200", "#fffb69"), ("#199ae1", "#d5fff5"),
           ("#571c17", "#a76243"), ("#a28b9f", "#737f91")]
DASHES = ["", "7 4", "2 3"]

# Who has the same colour wherever that can be.
PREFERRED = {"Rocklock": 0, "Redis": 1, "PostgreSQL": 2, "etcd": 3, "memcached": 4, "DynamoDB": 4,
             "RocksDB": 6, "raw": 6, "dynalite": 7}
# What is left for Rocklock's others: near its blue, then what others seldom have.
OURS = [0, 5, 6, 3, 2, 7, 4, 1]

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


def is_ours(series):
    return series.startswith("Rocklock")


def in_order(series):
    """Rocklock's first, else as they came."""
    return sorted(dict.fromkeys(series), key=lambda name: not is_ours(name))


def marks(series):
    """A mark for each series of a scenario's charts, in order."""
    names = in_order(series)
    found = {}
    rounds = 0
    while len(found) < len(names):
        waiting = [name for name in names if name not in found]
        free = dict.fromkeys(range(len(COLOURS)))
        taken = {}
        for name in waiting:
            wanted = next((colour for word, colour in PREFERRED.items() if name.startswith(word)), None)
            if wanted in free:
                del free[wanted]
                taken[name] = wanted
        for name in waiting:
            if name not in taken and free:
                taken[name] = next(colour for colour in (OURS if is_ours(name) else free) if colour in free)
                del free[taken[name]]
        for name, colour in taken.items():
            found[name] = Mark(colour, (colour + 3 * rounds) % len(SHAPES), rounds % len(DASHES),
                               is_ours(name))
        rounds += 1
    return {name: found[name] for name in names}


def _polygon(corners, radius, turn, inner=None):
    points = []
    steps = corners * (2 if inner else 1)
    for step in range(steps):
        reach = inner if inner and step % 2 else radius
        angle = math.radians(turn) + 2 * math.pi * step / steps
        points.append((reach * math.sin(angle), -reach * math.cos(angle)))
    return points


SHAPES = [
    None,  # A circle.
    _polygon(4, 1.25, 45),
    _polygon(3, 1.45, 0),
    _polygon(4, 1.35, 0),
    _polygon(3, 1.45, 180),
    _polygon(5, 1.5, 0, 0.65),
    _polygon(4, 1.5, 45, 0.55),
    _polygon(6, 1.2, 30),
]


def shape_path(shape, x, y, radius):
    """The path of a marker around a place."""
    points = SHAPES[shape]
    if points is None:
        return (f"M{x - radius:.1f} {y:.1f}a{radius} {radius} 0 1 0 {2 * radius} 0"
                f"a{radius} {radius} 0 1 0 {-2 * radius} 0z")
    return "M" + "L".join(f"{x + radius * a:.1f} {y + radius * b:.1f}" for a, b in points) + "z"
