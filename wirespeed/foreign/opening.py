"""The one door to a file of figures: a result file of ours, or another tool's output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

from wirespeed import inputs
from wirespeed.errors import WirespeedError
from wirespeed.foreign.reading import read
from wirespeed.foreign.shapes import Log
from wirespeed.results import reading
from wirespeed.results.reading import START, Results, cannot

STDIN = "-"
_FIRST = 20
"""Lines by which a result file is known, a damaged one perhaps."""


def open_figures(file: str) -> Results:
    """The records of a result file, or the figures of another tool's output as such; '-' is standard input.

    Raises WirespeedError where there are none.
    """
    first, rest = _begun(_lines(file))
    lines = chain(first, rest)
    if _is_ours(first):
        return reading.read(file if file != STDIN else named(file), lines)
    try:
        log = read(_good(lines))
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {named(file)}: {inputs.why(error)}") from None
    return figures_of(log, file)


def read_log(files: Sequence[str]) -> Log:
    """All that is understood of other tools' outputs, as one text. Raises WirespeedError if it is nothing."""
    begun: list[tuple[int, str]] = []
    log = read(_of_all(files, begun))
    if len(files) > 1:
        log = replace(log, files=tuple(begun))
    if not log:
        names = ", ".join(map(named, files))
        seen = ""
        if log.unknown:
            line, text = log.unknown[0]
            seen = f" ({log.place(line)} looks like figures: {text[:60]})"
        raise WirespeedError(
            f"{names}: nothing in it is known{seen}; docs/explain.md lists the tools whose output is read"
        )
    return log


def _of_all(files: Sequence[str], begun: list[tuple[int, str]]) -> Iterator[bytes]:
    """The lines of all files; `begun` gets the number of each file's first line, and its name."""
    lines = 0
    for file in files:
        begun.append((lines + 1, named(file)))
        for line in _told(file):
            lines += 1
            yield line


def named(file: str) -> str:
    """The file's name in a message."""
    return "standard input" if file == STDIN else reading.shown(file)


def figures_of(log: Log, file: str) -> Results:
    """The figures of another tool's output as records. Raises WirespeedError where there are none."""
    from wirespeed.foreign.as_results import results_of

    results = results_of(log, file)
    if not results.records:
        why = "nor the output of a tool in docs/explain.md"
        if log:
            what = "figures without a size" if log.curves else "no figures"
            why = f"and holds {what}; 'wirespeed explain' says what it tells"
        raise cannot(f"{named(file)} is not a result file of wirespeed, {why}")
    return results


def _is_ours(first: Sequence[bytes]) -> bool:
    beginning = next((line for line in first if line.strip()), b"")
    return START.startswith(beginning[: len(START)]) or any(b'"kind":' in line for line in first)


def _begun(lines: Iterator[bytes]) -> tuple[list[bytes], Iterator[bytes]]:
    """The first lines and the others; what cannot be read raises with the others."""
    first: list[bytes] = []
    try:
        for line in islice(lines, _FIRST):
            first.append(line)
    except (OSError, ValueError) as error:
        return first, _raising(error)
    return first, lines


def _raising(error: Exception) -> Iterator[bytes]:
    raise error
    yield


def _lines(file: str) -> Iterator[bytes]:
    if file == STDIN:
        return iter(lambda: sys.stdin.buffer.readline(inputs.LONGEST_LINE), b"")
    return inputs.lines(file)


def _good(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Without an error for what a packed file has lost at its end."""
    with suppress(inputs.CutOff):
        yield from lines


def _told(file: str) -> Iterator[bytes]:
    first, rest = _begun(_lines(file))
    if first and _is_ours(first):
        raise WirespeedError(
            f"{named(file)} is a result file of wirespeed: 'wirespeed show' judges its curves"
        )
    try:
        yield from _good(chain(first, rest))
    except (OSError, ValueError) as error:
        raise WirespeedError(f"cannot read {named(file)}: {inputs.why(error)}") from None
