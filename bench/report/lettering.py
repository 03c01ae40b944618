"""The width of text, and the placement of labels.

The fonts of the browser are unknown, so widths are estimated from DejaVu Sans, which is wider than
most fonts.
"""

import re
import unicodedata

NARROW = {**dict.fromkeys("ijlI|'.,:;!", 0.32), **dict.fromkeys("ftr()[]{}/\\-\" ", 0.42),
          **dict.fromkeys("mwMW%@—→←", 0.98), **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ&+=<>×", 0.76)}
BOLD = 1.13


def width(text, size, bold=False):
    """Returns the estimated width in pixels."""
    letters = sum(0 if unicodedata.combining(letter) else
                  1.05 if unicodedata.east_asian_width(letter) in "WF" else
                  NARROW.get(letter, 0.64) for letter in text)
    return letters * size * (BOLD if bold else 1)


def _pieces(word, size, bold, limit):
    """Splits a word that is wider than the limit into pieces that are not."""
    piece = ""
    for letter in word:
        if piece and width(piece + letter, size, bold) > limit:
            yield piece
            piece = ""
        piece += letter
    yield piece


def wrap(text, size, limit, bold=False):
    """Splits the text into lines that are not wider than the limit. Returns at least one line."""
    lines = [""]
    for word in re.split(r"[ \t\n\r]+", text.strip()):
        for piece in _pieces(word, size, bold, limit):
            longer = f"{lines[-1]} {piece}" if lines[-1] else piece
            if width(longer, size, bold) <= limit:
                lines[-1] = longer
            elif lines[-1]:
                lines.append(piece)
            else:
                lines = [piece]
    return lines


def share(wanted, heights, low, high):
    """Returns the middle of each label, so that no two labels overlap: as close as possible to the
    wanted positions, in their order, and between `low` and `high` if there is enough room.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places = [0.0] * len(wanted)
    edge = low
    for index in order:
        places[index] = max(wanted[index], edge + heights[index] / 2)
        edge = places[index] + heights[index] / 2
    edge = high
    for index in reversed(order):
        places[index] = min(places[index], edge - heights[index] / 2)
        edge = places[index] - heights[index] / 2
    return places
