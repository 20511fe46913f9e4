"""TOML, which is part of Python since 3.11."""

from __future__ import annotations

import importlib
import sys
from typing import Any

_parser: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def parse(text: str) -> dict[str, Any]:
    """Raises ValueError, with the line, for what is no TOML."""
    found: dict[str, Any] = _parser.loads(text)
    return found
