"""A text from outside, line by line through all readers."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from wirespeed import inputs
from wirespeed.foreign import readers
from wirespeed.foreign.found import MOST, Found, LogStream, Reader
from wirespeed.foreign.shapes import Log
from wirespeed.foreign.text import HOST, clean, without_prefixes

_BATCH = 512
"""Lines that are searched for the readers' words at once."""
_MOST_STREAMS = 4096
_LOOKS_LIKE_FIGURES = re.compile(
    r"\s*[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?(?:\s+[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?)+\s*$"
)
_LONGEST_CAPTION = 200
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
    try:
        for number, line, asked in _with_readers(lines):
            reading.take(line, number, asked)
    finally:
        reading.end()
    return reading.found.log()


def _with_readers(lines: Iterable[bytes]) -> Iterator[tuple[int, str, tuple[bool, ...]]]:
    """(number, text, readers one of whose words stands near) of each line."""
    iterator, number = iter(lines), 0
    while batch := [clean(line) for line in islice(iterator, _BATCH)]:
        together = "\n".join(batch)
        asked = tuple(any(word in together for word in kind.words) for kind in kinds())
        for text in batch:
            number += 1
            yield number, text, asked


class _Reading:
    def __init__(self) -> None:
        self.found = Found()
        self.streams: dict[str, LogStream] = {}
        self.json: list[str] = []
        self.depth = self.json_line = self.json_length = 0

    def take(self, raw: str, line: int, asked: tuple[bool, ...]) -> None:
        tags, text = without_prefixes(raw)
        if not text or text.isspace():
            return
        if self._is_json(text, line):
            return
        stream = self._stream(tags)
        if _taken(stream, text, line, asked):
            return
        if match := HOST.match(text.lstrip()):
            rest = text.lstrip()[match.end() :]
            inner, rest = without_prefixes(rest)
            host = self._stream(f"{tags} {match[1]}{inner}")
            if rest and _taken(host, rest, line, asked):
                return
        if len(self.found.unknown) < MOST and _LOOKS_LIKE_FIGURES.match(text):
            self.found.unknown.append((line, text.strip()))
        elif len(text) < _LONGEST_CAPTION and any(letter.isalnum() for letter in text):
            stream.caption = text.strip()

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


def _taken(stream: LogStream, text: str, line: int, asked: tuple[bool, ...]) -> bool:
    return any(
        reader.take(text, line)
        for reader, near in zip(stream.readers, asked, strict=True)
        if near or reader.curve is not None
    )
