"""Compares results with earlier ones, row by row."""

import figures

HEAD = ["scenario", "what", "before", "now", "change", ""]


def _less_is_better(row):
    return not row.ratio and row.better == "less"


def _value(row):
    """Returns what is compared: the ratio, which depends less on the machine, or Rocklock's value."""
    return row.ratio or row.ours


def _name(row):
    return f"{row.name} (against {row.against})" if row.against else row.name


def _text(row):
    return figures.spread(row.ratio, " ×") if row.ratio else f"{figures.spread(row.ours)} {row.unit}".rstrip()


def _change(before, now):
    """Returns how many times better the median is."""
    old, new = _value(before).median, _value(now).median
    if _less_is_better(now):
        old, new = new, old
    # Times can be negative, for example relative to a time limit.
    return new / old if old > 0 and new > 0 else None


def _verdict(before, now):
    """Returns the words of the last column. A difference counts if the ranges do not overlap."""
    words = []
    old, new = _value(before), _value(now)
    higher, lower = new.low > old.high, new.high < old.low
    if _less_is_better(now):
        higher, lower = lower, higher
    words += ["better"] * higher + ["worse"] * lower
    if now.reached != before.reached and now.target is not None:
        words.append("reached now" if now.reached else "missed now")
    return ", ".join(words)


def _same_row(rows, row):
    # A row with and a row without a ratio cannot be compared.
    return next((one for one in rows if (one.name, one.against, bool(one.ratio)) ==
                 (row.name, row.against, bool(row.ratio))), None)


def lines(before, now):
    """Returns the cells of each row of the scenarios `now`, and of rows that no longer exist, in the
    order of HEAD. `before` are the earlier scenarios; those that were not measured now are left out.
    """
    out = []
    earlier = {scenario.name: scenario for scenario in before}
    for scenario in now:
        old_rows = earlier[scenario.name].rows if scenario.name in earlier else []
        for row in scenario.rows:
            old = _same_row(old_rows, row)
            if old is None:
                out.append([scenario.name, _name(row), "", _text(row), "", "new"])
                continue
            change = _change(old, row)
            out.append([scenario.name, _name(row), _text(old), _text(row),
                        "" if change is None else f"{change:.2f} ×", _verdict(old, row)])
        for old in old_rows:
            if _same_row(scenario.rows, old) is None:
                out.append([scenario.name, _name(old), _text(old), "", "", "not measured"])
    return out


def summary(cells):
    """Returns how many rows are better, worse, new or were not measured."""
    counts = [(word, sum(word in line[-1].split(", ") for line in cells))
              for word in ("better", "worse", "reached now", "missed now", "new", "not measured")]
    found = [f"{count} {word}" for word, count in counts if count]
    return f"Compared {len(cells)} row{'s' * (len(cells) != 1)}: {', '.join(found) if found else 'no change beyond the ranges'}"
