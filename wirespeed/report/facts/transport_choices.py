"""What each path chose by itself, in one line: versions, ways, and the sizes at which its method changes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from wirespeed.report.facts.speedup import incomparable, inherited, switches
from wirespeed.results.runs import Run
from wirespeed.units import format_size

LONGEST = 60
MOST_CHANGES = 6
"""A choice that changes more often is noise in one line; the result file has it."""
OBVIOUS = ("abi", "call", "library")
"""Said elsewhere: the first line names the MPI, the path its call; files are for the result file."""
_UNLABELLED = ("protocol", "method")
"""A value that says by itself what it is; 'method' is the name in older files."""
_BYTES = "_bytes"
_SIZES = ("chunk",)
"""Bytes too."""


def choices(run: Run) -> list[tuple[str, str]]:
    """(paths, words) for those that have something to say, in table order; alike ones share a line."""
    lines: dict[str, list[str]] = {}
    odd = dict(incomparable(run))
    for path in run.paths:
        step = run.step(path)
        parts = [
            _switched(run, path, told=path in odd),
            odd.get(path, ""),
            of_step(step.details),
            of_sizes(run, path),
        ]
        if text := "; ".join(part for part in parts if part):
            lines.setdefault(text, []).append(path)
    return [(", ".join(paths), text) for text, paths in lines.items()]


def _switched(run: Run, path: str, *, told: bool) -> str:
    """'aware with UCX_TLS=^cuda_ipc', and what aware ran with where the user has set that variable."""
    other = run.step(path).without
    if not other:
        return ""
    changed = switches(run, path)
    text = f"{other} with {_settings(changed)}" if changed else f"{other} with something switched off"
    before = {name: value for name, value in inherited(run).items() if name in changed}
    return f"{text} ({other} itself: {_settings(before)})" if before and not told else text


def _settings(variables: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items())


def of_step(details: Mapping[str, Any]) -> str:
    """'version 2.27.7, via P2P/CUMEM' of what a transport says once for a path, as far as it is in words."""
    told = [(name, _words(value)) for name, value in details.items() if name not in OBVIOUS]
    return ", ".join(f"{_label(name)} {text}" for name, text in told if text)


def _label(name: str) -> str:
    return name.removesuffix(_BYTES).replace("_", " ")


def _words(value: Any) -> str:
    """Words, or a list of them; nothing for what a line cannot hold."""
    if isinstance(value, list):
        return " and ".join(dict.fromkeys(filter(None, map(_words, value))))[:LONGEST]
    if not isinstance(value, str):
        return ""
    return "".join(letter for letter in " ".join(value.split()) if letter.isprintable())[:LONGEST]


def of_sizes(run: Run, path: str) -> str:
    """'LL up to 64 KiB, stores up to 2 MiB, TMA from 4 MiB' of what it chose size by size."""
    entries = [entry for entry in run.of_path(path) if entry.bytes]
    names = dict.fromkeys(name for entry in entries for name in entry.details)
    parts = []
    for name in names:
        told = [(entry.bytes, text) for entry in entries if (text := _choice(name, entry.details))]
        spans = [(text, [size for size, _ in span]) for text, span in groupby(told, key=lambda one: one[1])]
        if not spans or len(spans) > MOST_CHANGES:
            continue
        label = "" if name in _UNLABELLED else f"{_label(name)} "
        parts.append(label + _spans(spans))
    return "; ".join(parts)


def _choice(name: str, details: Mapping[str, Any]) -> str:
    """Words and sizes are choices; counts follow from them."""
    value = details.get(name)
    if isinstance(value, int) and (name.endswith(_BYTES) or name in _SIZES):
        return format_size(value)
    return _words(value) if isinstance(value, str) else ""


def _spans(spans: list[tuple[str, list[int]]]) -> str:
    if len(spans) == 1:
        return f"{spans[0][0]} at every size"
    words = [f"{text} up to {format_size(sizes[-1])}" for text, sizes in spans[:-1]]
    text, sizes = spans[-1]
    # Words with commas of their own need a stronger sign between them.
    sign = "; " if any("," in text for text, _ in spans) else ", "
    return sign.join([*words, f"{text} from {format_size(sizes[0])}"])
