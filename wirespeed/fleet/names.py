"""Names that a scheduler may be told, and lists of them as Slurm writes them: n[001-004,7],login1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import NewType

from wirespeed.errors import WirespeedError

MAX_NAMES = 1_000_000
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_NUMBERED = re.compile(r"(.*[^0-9]|)([0-9]{1,18})([^0-9]*)", re.DOTALL)


NodeName = NewType("NodeName", str)
"""Text that no shell and no scheduler takes for anything but a node's name; only node_name() makes one."""


@lru_cache(maxsize=1 << 17)
def node_name(text: str) -> NodeName | None:
    """The text as a node's name; None of one that cannot be."""
    return NodeName(text) if _NODE_NAME.fullmatch(text) else None


def not_a_node(text: str) -> str:
    """A warning."""
    return f"'{text[:60]}' is no name of a node; left out"


def expand(text: str) -> list[str]:
    """The names in a list. Raises WirespeedError for one that is malformed."""
    names: list[str] = []
    for word in re.split(r",(?![^\[]*\])", text):
        parts = _BRACKETS.split(word.strip())
        if any(letter in part for part in parts[::2] for letter in "[]") or not "".join(parts):
            raise WirespeedError(f"'{text}' is no list of nodes: write n1,n2 or n[1-4,7]")
        choices = [_numbers(part, text) if place % 2 else [part] for place, part in enumerate(parts)]
        count = 1
        for choice in choices:
            count *= len(choice)
        if count + len(names) > MAX_NAMES:
            raise WirespeedError(f"'{text}' names more than {MAX_NAMES} nodes")
        names += ["".join(pair) for pair in product(*choices)]
    return names


def _numbers(text: str, whole: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if not 0 <= int(last) - int(first) < MAX_NAMES:
            raise WirespeedError(f"'{whole}' is no list of nodes: write n1,n2 or n[1-4,7]")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found


def natural(name: str) -> tuple[tuple[str, int, str], ...]:
    """A key to sort names by: n2 before n10."""
    parts = ((text, number.lstrip("0")) for text, number in re.findall(r"([^0-9]*)([0-9]*)", name))
    return tuple((text, len(number), number) for text, number in parts)


def compress(names: Iterable[str]) -> str:
    """The shortest list that Slurm reads: n[1-4,7]; the last number of a name is what varies."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    parts = [_NUMBERED.fullmatch(name) or name for name in sorted(set(names), key=natural)]
    plain = [part for part in parts if isinstance(part, str)]
    numbered = [part for part in parts if not isinstance(part, str)]
    padded = {(part[1], part[3], len(part[2])) for part in numbered if part[2].startswith("0")}
    for part in numbered:
        width = len(part[2]) if (part[1], part[3], len(part[2])) in padded else 0
        groups.setdefault((part[1], part[3], width), []).append(int(part[2]))
    for (before, after, width), numbers in groups.items():
        ranges: list[list[int]] = []
        for number in numbers:
            if ranges and number == ranges[-1][1] + 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        words = ["-".join(str(n).zfill(width) for n in dict.fromkeys(ends)) for ends in ranges]
        text = ",".join(words)
        plain.append(f"{before}{text if text.isdigit() else f'[{text}]'}{after}")
    return ",".join(plain)
