"""Finds the prose of a file: its comments and docstrings, or the text of a Markdown document.

All functions yield blocks. A block is a list of pairs (line number, text) of consecutive lines, without
the marks of the comment.
"""

import io
import re
import textwrap
import tokenize

# Literals come first, so that a mark of a comment within them is not taken for one.
C_TOKEN = re.compile(
    r"""R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"   # raw string
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'                     # not the separator of digits
      | (?P<comment>//[^\n]*|/\*.*?\*/)""", re.VERBOSE | re.DOTALL)
JAVASCRIPT_TOKEN = re.compile(
    r"""`(?:\\.|[^`\\])*`
      | "(?:\\.|[^"\\\n])*"
      | '(?:\\.|[^'\\\n])*'
      | (?<=[(,=:!&|?])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/   # regular expression
      | (?P<comment>//[^\n]*|/\*.*?\*/)""", re.VERBOSE | re.DOTALL)
C_MARK = re.compile(r"^\s*(?://+!?|/\*+!?|\*(?!/))?\s?|\s*\*/\s*$")
SHELL_COMMENT = re.compile(r"(?<!\S)#+(?!!)(?=\s?(?P<text>.*)$)")
C_SUFFIXES = (".cpp", ".hpp", ".h", ".java")
JAVASCRIPT_SUFFIXES = (".js", ".mjs")
# Shell, meson.build and the scripts of tests have the same comments.
SHELL_SUFFIXES = (".sh", ".build", ".txt")
IGNORED_TOKENS = (tokenize.NL, tokenize.COMMENT, tokenize.ENCODING)


def joined(comments):
    """Joins comments that follow each other line by line in one column to one block.

    `comments` holds (line, column, text), with one line of text each.
    """
    blocks = []
    last = None
    for line, column, text in comments:
        if last == (line - 1, column):
            blocks[-1].append((line, text))
        else:
            blocks.append([(line, text)])
        last = (line, column)
    return blocks


def of_c(text, token=C_TOKEN):
    """Returns the comments of C++, Java or JavaScript."""
    single = []
    blocks = []
    for found in token.finditer(text):
        comment = found.group("comment")
        if not comment:
            continue
        line = text.count("\n", 0, found.start()) + 1
        if comment.startswith("//"):
            column = found.start() - text.rfind("\n", 0, found.start())
            single.append((line, column, C_MARK.sub("", comment)))
        else:
            blocks.append([(line + index, C_MARK.sub("", part))
                           for index, part in enumerate(comment.splitlines())])
    return joined(single) + blocks


def of_python(text):
    """Returns the comments and docstrings of Python."""
    comments = []
    blocks = []
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            comments.append((*token.start, token.string.lstrip("#").removeprefix(" ")))
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT,
                                                           tokenize.DEDENT):
            first, _, rest = token.string.strip("rRuUbB").strip("\"'").partition("\n")
            lines = [first, *textwrap.dedent(rest).splitlines()]
            blocks.append([(token.start[0] + index, line) for index, line in enumerate(lines)])
        if token.type not in IGNORED_TOKENS:
            before = token.type
    return joined(comments) + blocks


def of_shell(text):
    """The comments of shell scripts, meson.build and text files."""
    comments = []
    for line, code in enumerate(text.splitlines(), 1):
        for found in SHELL_COMMENT.finditer(code):
            # A mark within quotation marks begins no comment.
            if not any(code.count(mark, 0, found.start()) % 2 for mark in "\"'`"):
                comments.append((line, found.start(), found["text"]))
                break
    return joined(comments)


def of_markdown(text):
    """The whole document, without its fenced code."""
    block = []
    fence = None
    for line, content in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", content)
        if fence is None and mark:
            fence = mark[1]
            block.append((line, ""))
        elif fence is not None:
            if mark and mark[1].startswith(fence):
                fence = None
        else:
            block.append((line, content))
    return [block]


def language_of(path, text):
    """The function that finds the prose of a file, or None if the file has none that is checked."""
    if path.suffix in C_SUFFIXES:
        return of_c
    if path.suffix in JAVASCRIPT_SUFFIXES:
        return lambda source: of_c(source, JAVASCRIPT_TOKEN)
    if path.suffix == ".md":
        return of_markdown
    first = text.partition("\n")[0]
    if path.suffix == ".py" or re.match("#!.*python", first):
        return of_python
    if path.suffix in SHELL_SUFFIXES or re.match(r"#!.*\b(ba)?sh\b", first):
        return of_shell
    return None


def blocks_of(path, text):
    language = language_of(path, text)
    return language(text) if language else []
