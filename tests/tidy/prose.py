"""Comments and documents are plain, standard technical English, as CONTRIBUTING.md asks.

Some words are never allowed. Some sentence openings and pronouns are limited per folder, because a
few of them are good English and many of them make text hard to read. Quotations, code and the
column `instead of` of a table are not checked.

Run as a program, it prints the rates of each folder:

    python3 tests/tidy/prose.py ROOT
"""

import collections
import dataclasses
import itertools
import pathlib
import re
import sys

import comments
from tree import TOP_FOLDERS, Tree

MAX_COLUMNS = 100
# This many occurrences of each limited phrase are allowed in a folder of any size.
ALWAYS_ALLOWED = 2
MAX_SHOWN = 20
# Banned words, and what to write instead.
BANNED = {
    "whoever": "name the caller, client, thread or process",
    "anew": "write \"again\"",
    "lest": "write \"so that ... not\" or \"otherwise\"",
    "for ever": "write \"permanently\" or \"without a limit\"",
    "in vain": "write \"without success\", or say what failed",
    "to be had": "write \"available\", or say what failed",
    "is told": "write \"is notified\", \"receives\" or \"gets an error\"",
    "are told": "write \"are notified\", \"receive\" or \"get an error\"",
}
BANNED_WORDS = re.compile(r"\b(" + "|".join(word.replace(" ", r"\s+") for word in BANNED) + r")\b",
                          re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Limit:
    """A kind of phrase, and how often it may occur in 1,000 words of a folder."""
    name: str
    pattern: re.Pattern
    rate: float
    instead: str
    # If true, only the beginning of a sentence is compared, and questions are allowed.
    opening: bool = False


def opening(words):
    return re.compile(rf"(?:{words})\b")


def anywhere(words):
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


LIMITS = (
    Limit("sentences that begin with What, Where or How", opening("What|Where|How"), 1.0,
          "begin with the subject, or with \"If\" or \"When\"", True),
    Limit("sentences that begin with Who, Whoever, Whose or Whom", opening("Who|Whoever|Whose|Whom"),
          0.2, "begin with the caller, client, thread or process that acts", True),
    Limit("sentences that begin with Of or Behind", opening("Of|Behind"), 0.5,
          "write a complete sentence with a subject and a verb; \"after\" for \"behind\"", True),
    Limit("who, whoever, whom and whose", anywhere("who|whoever|whom|whose"), 1.0,
          "use a noun: the client that, the thread that, a session whose lease"),
    Limit("nobody, somebody, nothing and anybody", anywhere("nobody|somebody|nothing|anybody"), 1.5,
          "write \"none\", \"empty\", \"no holder\", \"another session\""),
    Limit("told, tell and tells", anywhere("told|tell|tells"), 0.5,
          "write \"notify\", \"report\", \"return\" or \"say\""),
)
QUOTED = re.compile(r"``[^`]+``|`[^`]+`|\"[^\"]{1,300}\"|“[^”]{1,300}”|<!--.*?-->|\]\([^)\s]*\)")
WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
SENTENCE_END = re.compile(r"(?<=[.:;!?])\s+")
LIST_MARK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?")
HEADING_MARK = re.compile(r"\s*#+\s+")
INDENTED = re.compile(r" {4}|\t")
INSTEAD_OF = "instead of"
LINK = re.compile(r"\]\([^)]*\)|^\[[^\]]+\]:.*|https?://\S+")


class Passage:
    """Text that belongs together, such as a paragraph or a cell of a table, and its lines."""

    def __init__(self, path, lines):
        self.path = path
        self.lines = lines
        self.text = QUOTED.sub(lambda found: "x" * len(found[0]), " ".join(text for _, text in lines))

    def line_at(self, offset):
        for number, text in self.lines:
            offset -= len(text) + 1
            if offset < 0:
                break
        return number

    def sentences(self):
        """Yields pairs of the offset and the text of a sentence."""
        begin = 0
        for end in (*(found.end() for found in SENTENCE_END.finditer(self.text)), len(self.text)):
            yield begin + len(self.text[begin:end]) - len(self.text[begin:end].lstrip(" *_([")), \
                self.text[begin:end].strip(" *_([")
            begin = end

    def words(self):
        return len(WORD.findall(self.text))


@dataclasses.dataclass
class Found:
    path: pathlib.Path
    line: int
    words: str

    def __str__(self):
        return f"{self.path}:{self.line}: \"{self.words}\""


def is_code(paragraph, before):
    """An indented paragraph is code, unless it is part of a list."""
    in_list = before and LIST_MARK.match(before[0][1])
    return not in_list and all(INDENTED.match(text) and not LIST_MARK.match(text)
                               for _, text in paragraph)


def paragraphs(block):
    """The paragraphs of a block, which empty lines divide, without indented code."""
    paragraph, before = [], []
    for line, text in [*block, (0, "")]:
        if text.strip():
            paragraph.append((line, text))
        elif paragraph:
            if not is_code(paragraph, before):
                yield paragraph
                before = paragraph
            paragraph = []


def cells(rows):
    """The cells of a table, without the column that shows how not to write."""
    head = [cell.strip() for cell in rows[0][1].strip().strip("|").split("|")]
    skipped = head.index(INSTEAD_OF) if INSTEAD_OF in head else None
    for line, text in rows:
        for index, cell in enumerate(text.strip().strip("|").split("|")):
            if index != skipped:
                yield [(line, cell.strip())]


def parts(paragraph):
    """Divides a paragraph at list marks and headings, and a table into its cells."""
    if paragraph[0][1].lstrip().startswith("|"):
        yield from cells(paragraph)
        return
    part = []
    for line, text in paragraph:
        mark = LIST_MARK.match(text) or HEADING_MARK.match(text)
        if mark and part:
            yield part
            part = []
        part.append((line, text[mark.end():] if mark else text.strip()))
        if mark and HEADING_MARK.match(text):
            yield part
            part = []
    if part:
        yield part


def passages_of(path, text):
    for block in comments.blocks_of(path, text):
        for paragraph in paragraphs(block):
            for part in parts(paragraph):
                yield Passage(path, part)


def folder_of(path):
    """The documents of the root count with docs."""
    return path.parts[0] if len(path.parts) > 1 else "docs"


def checked_files(tree):
    """Every text file in the top folders, and the documents of the root."""
    root = sorted(path.relative_to(tree.root) for path in tree.root.glob("*.md"))
    suffixes = (*comments.C_SUFFIXES, *comments.JAVASCRIPT_SUFFIXES, *comments.SHELL_SUFFIXES, ".md",
                ".py", "")
    return root + tree.files(*suffixes, under=TOP_FOLDERS)


def passages(tree):
    """Returns the passages of each folder."""
    found = collections.defaultdict(list)
    for path in checked_files(tree):
        text = (tree.root / path).read_text(encoding="utf-8", errors="replace")
        found[folder_of(path)] += passages_of(path, text)
    return found


def occurrences(limit, passage):
    if not limit.opening:
        return [Found(passage.path, passage.line_at(found.start()), found[0])
                for found in limit.pattern.finditer(passage.text)]
    return [Found(passage.path, passage.line_at(offset), limit.pattern.match(sentence)[0])
            for offset, sentence in passage.sentences()
            if limit.pattern.match(sentence) and not sentence.endswith("?")]


def banned_words(passage):
    for found in BANNED_WORDS.finditer(passage.text):
        word = " ".join(found[0].lower().split())
        yield f"{Found(passage.path, passage.line_at(found.start()), word)}: {BANNED[word]}"


def excess(folder, found):
    """A problem for each limit that the passages of a folder exceed."""
    words = sum(passage.words() for passage in found)
    for limit in LIMITS:
        places = [place for passage in found for place in occurrences(limit, passage)]
        allowed = max(ALWAYS_ALLOWED, int(limit.rate * words / 1000))
        if len(places) > allowed:
            yield "\n".join([
                f"{folder}: {len(places)} {limit.name}; at most {allowed} are allowed in {words} words "
                f"of comments and documents: {limit.instead}", *map(str, places[:MAX_SHOWN])])


def check_prose(tree):
    """No banned word, and no folder above a limit."""
    problems = []
    for folder, found in passages(tree).items():
        problems += [problem for passage in found for problem in banned_words(passage)]
        problems += excess(folder, found)
    return problems


def check_document_columns(tree):
    """Lines of documents have at most MAX_COLUMNS columns, except tables, code and links."""
    problems = []
    for path in (path for path in checked_files(tree) if path.suffix == ".md"):
        [block] = comments.of_markdown(tree.text(path))
        for line, text in itertools.chain.from_iterable(paragraphs(block)):
            columns = len(LINK.sub("", text))
            if columns > MAX_COLUMNS and not text.lstrip().startswith("|"):
                problems.append(f"{path}:{line}: {columns} columns; wrap the text at {MAX_COLUMNS}")
    return problems


def main():
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else ".")
    for folder, found in passages(tree).items():
        words = sum(passage.words() for passage in found)
        print(f"{folder}: {words} words; in 1,000 of them:")
        for limit in LIMITS:
            count = sum(len(occurrences(limit, passage)) for passage in found)
            print(f"  {1000 * count / max(words, 1):6.2f}  {limit.name}, at most {limit.rate}")


if __name__ == "__main__":
    main()
