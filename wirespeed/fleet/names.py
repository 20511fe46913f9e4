"""Lists of node names as Slurm writes them: n[001-004,7],login1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product

from wirespeed.errors import WirespeedError

MOST_NAMES = 1_000_000
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


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
        if count + len(names) > MOST_NAMES:
            raise WirespeedError(f"'{text}' names more than {MOST_NAMES} nodes")
        names += ["".join(one) for one in product(*choices)]
    return names


def _numbers(text: str, whole: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if not 0 <= int(last) - int(first) < MOST_NAMES:
            raise WirespeedError(f"'{whole}' is no list of nodes: write n1,n2 or n[1-4,7]")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """A key to sort names by: n2 before n10."""
    return tuple((text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", name))


def compress(names: Iterable[str]) -> str:
    """The shortest list that Slurm reads: n[1-4,7]; the last number of a name is what varies."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    parts = [re.fullmatch(r"(.*?)(\d+)(\D*)", name) or name for name in sorted(set(names), key=natural)]
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
