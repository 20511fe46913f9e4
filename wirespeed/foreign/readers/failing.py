"""Known lines by which libraries, launchers and kernels tell of a failure (foreign/failing.toml)."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from wirespeed.foreign.found import Reader
from wirespeed.toml import parse

ORDER = 1


@cache
def _kinds() -> list[tuple[str, tuple[str, ...], re.Pattern[str]]]:
    """(kind, words, pattern) of each."""
    text = Path(__file__).parents[1].joinpath("failing.toml").read_text("utf-8")
    lines: list[dict[str, Any]] = parse(text)["line"]
    return [(one["kind"], tuple(one["words"]), re.compile("|".join(one["patterns"]))) for one in lines]


def kind_of(text: str) -> str | None:
    """Kind of failure that a line tells of, the first that fits; None for any other line."""
    for kind, words, pattern in _kinds():
        for word in words:
            if word in text:
                if pattern.search(text):
                    return kind
                break
    return None


@lru_cache(maxsize=4096)
def _having(words: frozenset[str]) -> list[tuple[str, re.Pattern[str]]]:
    """Kinds that have one of these words."""
    return [(kind, pattern) for kind, own, pattern in _kinds() if words.intersection(own)]


class Failing(Reader):
    """Each line stands alone."""

    words = tuple(word for _, words, _ in _kinds() for word in words)

    def take(self, text: str, line: int) -> bool:
        for kind, pattern in _having(frozenset(self.stream.hits)):
            if pattern.search(text):
                self.found.failure(kind, self.stream.host + text, line)
                return True
        return False


READER = Failing
