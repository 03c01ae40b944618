"""Maps values to positions on an axis, and chooses the values that the axis labels."""

import math

# The distance in pixels between zero and the smallest value of a logarithmic axis.
ZERO_GAP = 26


def linear_ticks(low, high, about=6):
    """Returns multiples of 1, 2 or 5 times a power of ten, from at most `low` to at least
    `high`."""
    if high <= low:
        high = low + (abs(low) or 1)
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    # Rounds to as many decimals as the step has, so that 3 · 0.1 is 0.3.
    decimals = max(0, -math.floor(math.log10(step)))
    return [round(number * step, decimals) for number in range(first, last + 1)]


def _enclosing(candidates, low, high):
    below = max((value for value in candidates if value <= low * (1 + 1e-9)), default=candidates[0])
    above = min((value for value in candidates if value >= high * (1 - 1e-9)), default=candidates[-1])
    return [value for value in candidates if below <= value <= above]


def log_ticks(low, high):
    """Returns ticks from at most `low` to at least `high`, both positive: powers of ten for a large
    range, otherwise also 2 and 5 times these.
    """
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    decades = math.log10(high / low)
    if decades < 0.3:
        ticks = [value for value in linear_ticks(low, high, 4) if value > 0]
        if len(ticks) >= 3:
            return ticks
    powers = [float(f"1e{power}") for power in range(first, last + 1)]
    if decades > 2.5:
        step = max(1, math.ceil(decades / 8))
        ticks = _enclosing(powers, low, high)
        # Counted from the top; then more ticks are added until one is at or below `low`.
        kept = ticks[::-1][::step][::-1]
        while kept[0] > low * (1 + 1e-9):
            kept.insert(0, float(f"1e{round(math.log10(kept[0])) - step}"))
        return kept
    factors = (1, 2, 3, 4, 5, 7) if decades < 0.7 else (1, 2, 5)
    fine = sorted(float(f"{factor}e{power}") for power in range(first, last + 1)
                  for factor in factors)
    return _enclosing(fine, low, high)


class Scale:
    """Maps values to pixels. The axis begins at `start`.

    A logarithmic axis has a separate position for zero if there are zeros. If a value is negative,
    the axis is linear.
    """

    def __init__(self, kind, values, start, end, from_zero=False, tight=False):
        """`from_zero`: a linear axis begins at zero. `tight`: the axis ends at the outermost
        values.
        """
        positive = [value for value in values if value > 0]
        self.log = kind == "log" and min(values) >= 0 and bool(positive)
        self.zero = self.log and len(positive) < len(values)
        self.start, self.end = start, end
        if self.log:
            low, high = min(positive), max(positive)
            self.ticks = log_ticks(low, high)
        else:
            low, high = min(values), max(values)
            if from_zero:
                low, high = min(low, 0), max(high, 0)
            self.ticks = linear_ticks(low, high)
        if tight and low < high:
            self.low, self.high = low, high
            self.ticks = [tick for tick in self.ticks if low <= tick <= high]
        else:
            self.low, self.high = self.ticks[0], self.ticks[-1]
            if self.low == self.high:
                self.low, self.high = self.low / 2, self.high * 2
        if self.zero:
            self.ticks = [0.0, *self.ticks]

    def broken(self):
        """Returns the position of the break between zero and the smallest value."""
        return self.start + math.copysign(ZERO_GAP / 2, self.end - self.start)

    def position(self, value):
        start = self.start
        if self.zero:
            start += math.copysign(ZERO_GAP, self.end - self.start)
        if not self.log:
            share = (value - self.low) / (self.high - self.low)
        elif value <= 0:
            return self.start
        else:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        return start + share * (self.end - start)
