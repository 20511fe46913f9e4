"""TOML: read by the parser that is part of Python since 3.11, written value by value."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any


def parse(text: str) -> dict[str, Any]:
    """Raises ValueError, with the line, for what is no TOML."""
    # When it is first needed: ranks start without it.
    parser: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    found: dict[str, Any] = parser.loads(text)
    return found


@cache
def beside(module: str, name: str) -> dict[str, Any]:
    """Content of wirespeed's own file of this name beside a module, of which `module` is the __file__."""
    return parse(Path(module).with_name(name).read_text("utf-8"))


_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f\ud800-\udfff]')


def written(value: bool | int | float | str) -> str:
    """A value as TOML has it; half of a surrogate pair, which TOML cannot have, as a question mark."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)

    def escaped(found: re.Match[str]) -> str:
        letter = found[0]
        if letter in '"\\':
            return f"\\{letter}"
        return "?" if letter >= "\ud800" else f"\\u{ord(letter):04x}"

    return f'"{_ESCAPED.sub(escaped, value)}"'
