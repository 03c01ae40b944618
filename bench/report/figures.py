"""Formats numbers."""


def _digits(value, significant):
    """Formats without an exponent, with this many significant digits; whole numbers are not
    rounded.
    """
    if value == 0:
        return "0"
    if abs(value) < 10 ** significant:
        value = float(f"{value:.{significant}g}")
    size = abs(value)
    decimals = significant
    while decimals > 0 and size >= 10 ** (significant - decimals):
        decimals -= 1
    while size < 1 and decimals < 9 and size * 10 ** decimals < 10 ** (significant - 1):
        decimals += 1
    return f"{value:.{decimals}f}"


def short(value):
    """Formats with three significant digits (two if below 1) and k, M or G: 0.012, 1.20, 3076,
    12.0k.
    """
    size = abs(value)
    if 0 < size < 1e-6:
        return f"{value:.2e}"
    for limit, divisor, suffix in ((999.5e6, 1e9, "G"), (999.5e3, 1e6, "M"), (9999.5, 1e3, "k")):
        if size >= limit:
            return _digits(value / divisor, 3) + suffix
    return _digits(value, 3 if size >= 0.995 else 2)


def spread(spread_, unit=""):
    """Formats the median and the range, if there is one. Marks a value of a single round."""
    if len(spread_.rounds) == 1:
        return f"{short(spread_.median)}{unit} (one round)"
    if spread_.low == spread_.high:
        return short(spread_.median) + unit
    return f"{short(spread_.median)}{unit} ({short(spread_.low)}–{short(spread_.high)})"


def tick(value):
    """Formats a value at an axis exactly: 0.5, 256, 1024, 1.5k, 10k, 1M."""
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-6:
        return f"{value:g}"
    for divisor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= divisor and float(f"{value / divisor:.3g}") * divisor == value:
            return f"{value / divisor:.3g}{suffix}"
    text = f"{value:.9f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def duration(seconds):
    """Formats seconds: 0:07, 12:34, 1:02:03."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
