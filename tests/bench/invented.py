"""Scenarios with charts of invented values, for tests only."""

import random

import results

HOSTILE = "<script>alert('1')</script> & \"both\" ]]> </svg> \u0000\u0007 *a*|b"
LONG = "a contestant with a name that goes on and on, durable, synced before each answer, over HTTP"
SERIES = ["Redis, always synced", "Rocklock, durable", "Rocklock, in memory", "PostgreSQL, row lock", "etcd",
          "memcached, polling", "Redis, no log", "DynamoDB Local, on file", "dynalite, LevelDB", LONG, HOSTILE,
          "RocksDB", "optimistic", "pessimistic", "漢字 " * 12, "x" * 90]
WORDS = ["GetItem", "PutItem, written", "conditional put and delete, durable", HOSTILE, "x" * 70, "99/1"]


def point(series, x, median, share=0.1):
    return results.Point(median=median, low=median * (1 - share), high=median * (1 + share), series=series,
                         x=x)


def chart(x_scale, y_scale, series, seed=1, **more):
    """Returns a chart with points of each of the series."""
    chance = random.Random(seed)
    settings = {"name": f"{x_scale}-{y_scale}", "title": "What is measured", "x": "clients",
                "y": "pairs a second", "better": "more"} | more
    one = results.Chart(x_scale=x_scale, y_scale=y_scale, **settings)
    xs = WORDS if x_scale == "words" else [2 ** n for n in range(1, 9)]
    for name in series:
        level = 10 ** chance.uniform(0, 5)
        one.points += [point(name, x, level * chance.uniform(0.5, 2)) for x in xs]
    return one


def scenario(*charts, **more):
    return results.Scenario(**({"name": "hot", "title": "One for all", "says": "What it does.",
                                "charts": list(charts)} | more))


def many():
    """Returns charts of all kinds, with one to many series, whose names are long or contain special
    characters.
    """
    for x_scale in ("log", "linear", "words"):
        for y_scale in ("log", "linear"):
            for seed, count in enumerate((1, 2, 5, 9, len(SERIES))):
                names = random.Random(seed).sample(SERIES, count)
                titles = {"title": HOSTILE if seed % 2 else LONG * 2, "y": LONG if seed > 2 else HOSTILE,
                          "x": HOSTILE if seed > 2 else LONG}
                yield chart(x_scale, y_scale, names, seed, name=f"{x_scale}-{y_scale}-{count}",
                            better=("more", "less", "")[seed % 3], **(titles if seed else {}))
