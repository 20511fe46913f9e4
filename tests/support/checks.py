"""Files of requirements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
Check = Callable[..., tuple[int, list[str], str]]


def site(sizes: str, path: str = "host", more: str = "") -> str:
    return f'[[require]]\npath = "{path}"\n{more}\n[require.sizes]\n{sizes}\n'
