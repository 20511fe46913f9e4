"""Lines of a log without what launchers, terminals and web pages put into them, and the numbers in them."""

from __future__ import annotations

import math
import re

LONGEST = 4000
"""Letters of a line that are looked at; no tool prints a longer line of figures."""
FIGURES = b"0123456789.-,; \t\n"
"""Bytes of most rows of tables."""
LONGEST_NUMBER = 18
"""Digits of a number of bytes, ranks or iterations."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_BARE_COLOURS = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3})*)?m")
"""Escapes without their first letter, as pages show them."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_STAMP = re.compile(
    rf"\s*(?:\[?\d{{4}}[-/]\d\d[-/]\d\d[T ]{_TIME}(?:Z|[+-]\d\d:?\d\d)?\]?:?|\[?{_TIME}\]?:?"
    rf"|[A-Z][a-z]{{2}} [ \d]\d {_TIME}|std(?:out|err) [FP]|>"
    r"|(?:- )?\[?(?:INFO|DEBUG|NOTICE|WARNING|WARN|ERROR)\]?:?(?: -)?)(?=\s|$) ?"
)
_TAG = re.compile(
    r"\s*(\[\d+,\d+\]<\w+>:|\[\d+(?:,\d+)?\](?::(?=\s|$))?|\[rank\d+\]:|\d{1,6}:(?=\s)|"
    r"[\w.-]+ [\w./-]+\[\d+\]:(?=\s)|\[pod/[\w./-]+\]|(?:x\d+c\d+s\d+b\d+n\d+|nid\d+)[\w.-]* \d+:(?=\s)|"
    r"\([\w.-]+(?: pid=\d+)?(?:, ip=[\d.]+)?\)(?= )) ?"
)
_BEGIN = frozenset(" \t[(>-0123456789nsxADEFIJMNOSW")
"""First letters of prefixes: brackets, digits, nodes, stdout, months, levels."""
HOST = re.compile(r"([\w./@-]+):\s?(?=\s*\S)")
"""Word that pdsh, grep and others put before a line; a tool may print such a word itself."""
_COMMA = re.compile(r"\d,(?!\d{3}(?:\D|$))\d*")
"""A comma that separates no thousands."""


def clean(line: bytes) -> str:
    """The line as printable text; of one that was overwritten (carriage returns), what was left of it."""
    text = line[: 2 * LONGEST].rstrip(b"\r\n").decode("utf-8", "replace")
    if not text.isprintable():
        if "\x1b" in text:
            text = _ESCAPES.sub("", text)
        text = _CONTROLS.sub("", text.rstrip("\r").rpartition("\r")[2])
        text = text.replace("\xa0", " ")
        if not text.replace("\t", "").isprintable():
            text = "".join(letter if letter.isprintable() or letter == "\t" else "?" for letter in text)
    if "[0m" in text:
        text = _BARE_COLOURS.sub("", text)
    return text[:LONGEST].rstrip()


def without_prefixes(text: str) -> tuple[str, str]:
    """(tags of the rank that printed the line, the line without them and without time stamps)."""
    tags = ""
    if text[:1] not in _BEGIN:
        return tags, text
    for _ in range(4):
        if match := _STAMP.match(text):
            text = text[match.end() :]
        elif match := _TAG.match(text):
            tags += match[1].rstrip(":")
            text = text[match.end() :]
        else:
            break
    return tags, text


def number(token: str, *, commas: bool = False) -> float | None:
    """The value of a token; None where it is no number. `commas`: they stand for decimal points."""
    if "," in token:
        if not commas:
            return None
        token = token.replace(",", ".")
    try:
        value = float(token)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in token else None


def numbers(text: str) -> list[float] | None:
    """The values of a line that holds numbers alone; None for any other line.

    Commas are decimal points where one of them can be nothing else.
    """
    tokens = text.split()
    if "," in text and _COMMA.search(text):
        tokens = [token.replace(",", ".") for token in tokens]
    try:
        found = [*map(float, tokens)]
    except ValueError:
        return None
    return found if found and "_" not in text and all(map(math.isfinite, found)) else None


def whole(token: str) -> int | None:
    """A number of bytes, ranks or iterations."""
    return int(token) if token.isascii() and token.isdigit() and len(token) <= LONGEST_NUMBER else None


def count(value: float) -> int | None:
    """The same of a number that was read with others; None where it is not one."""
    return int(value) if 0 <= value < 10**LONGEST_NUMBER and value == int(value) else None


def plain(version: str) -> str:
    """'12.8' of CUDA's 12080."""
    code = int(version) if len(version) < 7 and version.isascii() and version.isdigit() else 0
    return f"{code // 1000}.{code % 1000 // 10}" if code > 1000 else version
