"""How much room letters take, and how labels share it.

A browser knows which letters it has; here their widths are guessed, as those of DejaVu Sans, which
is wider than most.
"""

import re
import unicodedata

NARROW = {**dict.fromkeys("ijlI|'.,:;!", 0.32), **dict.fromkeys("ftr()[]{}/\\-\" ", 0.42),
          **dict.fromkeys("mwMW%@—→←", 0.98), **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ&+=<>×", 0.76)}
BOLD = 1.13


def width(text, size, bold=False):
    """In pixels."""
    letters = sum(0 if unicodedata.combining(letter) else
                  1.05 if unicodedata.east_asian_width(letter) in "WF" else
                  NARROW.get(letter, 0.64) for letter in text)
    return letters * size * (BOLD if bold else 1)


def _pieces(word, size, bold, limit):
    """A word that is wider than the limit, in pieces that are not."""
    piece = ""
    for letter in word:
        if piece and width(piece + letter, size, bold) > limit:
            yield piece
            piece = ""
        piece += letter
    yield piece


def wrap(text, size, limit, bold=False):
    """The text in lines no wider than the limit; at least one."""
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
    """Where the middle of each label goes, so that none meets another: as near as can be to where
    it is wanted, in that order, between `low` and `high` if they have the room."""
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
