"""A text from outside, line by line through all readers."""

from __future__ import annotations

import gc
import importlib
import json
import pkgutil
import re
from collections.abc import Iterable, Sequence, Set
from functools import cache, lru_cache

from wirespeed import inputs
from wirespeed.foreign import readers
from wirespeed.foreign.found import MOST, Found, LogStream, Reader
from wirespeed.foreign.shapes import Log
from wirespeed.foreign.text import FIGURES, HOST, LONGEST, clean, number, without_prefixes

_TOKEN = re.compile(r"cudaError|hipError|[A-Za-z]+_?")
"""Readers name words in such pieces: 'UCX_' of UCX_TLS, 'GPU' of GPU0."""
_MOST_STREAMS = 4096
_LOOKS_LIKE_FIGURES = re.compile(
    r"\s*[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?(?:\s+[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?)+\s*$"
)
_RULES = ("--", "==", "##", "+-", "**")
"""Beginnings of lines that only divide."""
_NO_DIGITS = FIGURES.translate(None, b"0123456789") + b"\r"
_PACKED = '{"log":'
_NO_WORDS: Set[str] = frozenset()
_MOST_JSON = 16 << 20


@cache
def kinds() -> tuple[type[Reader], ...]:
    """All readers: each module of readers/ has one, in the order of ORDER and then of their names."""
    found = []
    for module in pkgutil.iter_modules(readers.__path__):
        loaded = importlib.import_module(f"{readers.__name__}.{module.name}")
        if kind := getattr(loaded, "READER", None):
            found.append((getattr(loaded, "ORDER", 0), module.name, kind))
    return tuple(kind for _, _, kind in sorted(found, key=lambda item: item[:2]))


def read(lines: Iterable[bytes]) -> Log:
    """All that readers understand of a text; what raises while lines are read passes."""
    reading = _Reading()
    collects = gc.isenabled()
    gc.disable()  # nothing that is made here refers in circles
    try:
        found, known = reading.found, reading.known
        for at, line in enumerate(lines, 1):
            rest = line.translate(None, FIGURES)
            if found.full and rest in known and not reading.depth:
                if known[rest] and line.strip(_NO_DIGITS):
                    found.leave_out(at)
                continue
            events, left = found.events, found.rows + found.left_rows
            if (not rest or (rest == b"\r" and line.endswith(b"\r\n"))) and len(line) < LONGEST:
                reading.take_figures(line.decode().rstrip(), at)
            else:
                reading.take(clean(line), at)
            if found.events != events and len(known) < MOST:
                known[rest] = found.rows + found.left_rows != left
    finally:
        reading.end()
        if collects:
            gc.freeze()  # a large log would be searched again and again
            gc.enable()
    return reading.found.log()


@cache
def _index() -> dict[str, frozenset[int]]:
    """Word -> places of the readers that have it."""
    found: dict[str, set[int]] = {}
    for place, kind in enumerate(kinds()):
        for word in kind.words:
            found.setdefault(word, set()).add(place)
    return {word: frozenset(places) for word, places in found.items()}


class _Reading:
    def __init__(self) -> None:
        self.found = Found()
        self.streams: dict[str, LogStream] = {}
        self.words = frozenset(_index())
        self.known: dict[bytes, bool] = {}
        """Lines that open a table (False) or hold rows (True), without FIGURES."""
        self.json: list[str] = []
        self.depth = self.json_line = self.json_length = 0

    def take(self, raw: str, line: int) -> None:
        if raw.startswith(_PACKED):
            raw = _unpacked(raw)
        tags, text = without_prefixes(raw)
        if not text or text.isspace() or ((self.depth or "{" in text) and self._is_json(text, line)):
            return
        # Without letters there are no words.
        hits = _NO_WORDS if text.lower() == text.upper() else self.words.intersection(_TOKEN.findall(text))
        if "$ " in text:
            hits |= {"$"}
        stream = self.streams.get(tags) or self._stream(tags)
        host = HOST.match(text.lstrip()) if ":" in text else None
        # Words that tools print themselves seldom have digits, dots or hyphens.
        named = host is not None and host[0][-1].isspace() and not host[1].isalpha()
        if named and host and self._is_of_host(host, tags, text, line, hits):
            return
        if (hits or stream.open) and _taken(stream, text, line, hits):
            return
        if not named and host and self._is_of_host(host, tags, text, line, hits):
            return
        self._leave(stream, text, line)

    def _is_of_host(self, host: re.Match[str], tags: str, text: str, line: int, hits: Set[str]) -> bool:
        """Is the line understood without the word before it?"""
        inner, rest = without_prefixes(text.lstrip()[host.end() :])
        name = f"{tags} {host[1]}{inner}"
        if name not in self.streams:
            if not hits:
                return False
            # What stands above its first line is the caption of all lines so far.
            caption = self._stream(tags).caption.lstrip()
            self._stream(name).caption = caption.removeprefix(host[0]) if caption.startswith(host[0]) else ""
        stream = self._stream(name)
        stream.host = host[0]
        if rest and (hits or stream.open) and _taken(stream, rest, line, hits):
            return True
        if rest and not rest.lstrip().startswith(_RULES):
            stream.caption = rest
        return False

    def take_figures(self, text: str, line: int) -> None:
        """A line that consists of FIGURES, and so has neither prefixes nor words."""
        if self.depth:
            self.take(text, line)
        elif text:
            stream = self.streams.get("") or self._stream("")
            if not stream.open or not _taken(stream, text, line, _NO_WORDS):
                self._leave(stream, text, line)

    def _leave(self, stream: LogStream, text: str, line: int) -> None:
        """A line that no reader knows."""
        if not text[-1].isalpha() and (_LOOKS_LIKE_FIGURES.match(text) or _is_row(text)):
            if len(self.found.unknown) < MOST:
                self.found.unknown.append((line, text.strip()))
        elif not text.lstrip().startswith(_RULES):
            stream.caption = text

    def end(self) -> None:
        for stream in self.streams.values():
            stream.close()

    def _stream(self, tags: str) -> LogStream:
        if tags not in self.streams:
            if len(self.streams) >= _MOST_STREAMS:
                tags = ""
            self.streams.setdefault(tags, LogStream(self.found, kinds()))
        return self.streams[tags]

    def _is_json(self, text: str, line: int) -> bool:
        """Collects the lines of a JSON value; True while one is open."""
        if not self.depth and not text.lstrip().startswith("{"):
            return False
        if not self.depth:
            self.json, self.json_line, self.json_length = [], line, 0
        self.json.append(text)
        self.json_length += len(text)
        plain = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
        self.depth += plain.count("{") + plain.count("[") - plain.count("}") - plain.count("]")
        if self.depth > 0 and self.json_length < _MOST_JSON:
            return True
        self.depth = 0
        try:
            value = inputs.of_json("\n".join(self.json))
        except (ValueError, json.JSONDecodeError, RecursionError):
            return False
        stream = self._stream("")
        return any(reader.take_json(value, self.json_line) for reader in stream.readers)


def _is_row(text: str) -> bool:
    """Does it begin with a number, and hold more numbers than twice its words?"""
    if not text[:20].lstrip()[:1].isdigit():
        return False
    tokens = text.split()
    figures = sum(number(token, commas=True) is not None for token in tokens)
    return figures > max(3, 2 * (len(tokens) - figures))


def _unpacked(raw: str) -> str:
    """The line that a container's log has packed into JSON."""
    try:
        value = inputs.of_json(raw)
    except ValueError:
        return raw
    text = value.get("log") if isinstance(value, dict) else None
    return clean(text.encode()) if isinstance(text, str) else raw


def _taken(stream: LogStream, text: str, line: int, hits: Set[str]) -> bool:
    stream.hits = hits
    if not hits and len(stream.open) == 1:
        return stream.open[0].take(text, line)
    going_on = tuple([reader.place for reader in stream.open]) if stream.open else ()
    for place in _places(frozenset(hits), going_on):  # noqa: SIM110  # half of the time of any()
        if stream.readers[place].take(text, line):
            return True
    return False


@lru_cache(maxsize=4096)
def _places(hits: frozenset[str], going_on: tuple[int, ...]) -> Sequence[int]:
    """Readers that have one of these words, and those whose table goes on, in their order."""
    index = _index()
    return sorted({*going_on, *(place for word in hits for place in index.get(word, ()))})
