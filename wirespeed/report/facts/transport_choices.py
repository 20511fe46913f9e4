"""Choices of each path, in one line: versions, ways, and the sizes at which its method changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from wirespeed.grouping import ends, together
from wirespeed.report.facts.contrasts import incomparable, switches
from wirespeed.report.facts.machine import memory_of
from wirespeed.results.coerce import text
from wirespeed.results.runs import Run
from wirespeed.units import format_seconds, format_size

LONGEST = 60
MAX_CHANGES = 6
"""A choice that changes more often is noise in one line; the result file has it."""
SENT_AS = "sent_as"
OBVIOUS = ("abi", "call", "library")
"""Of a step, said elsewhere: the first line names the MPI, the path its call; the result file has files."""
LABELS = {"method": "protocol", "by": "copies started by the", "chunk": "chunk size"}
"""Names as a reader knows them; 'method' is a protocol in older files."""
START = "start_s"
"""Key of a path's details: seconds, the slowest rank's."""
_BYTES = "_bytes"
_SIZES = ("chunk",)
"""Bytes too."""


def choices(run: Run) -> list[tuple[str, str]]:
    """(paths, words) for those that have something to say, in table order; alike ones share a line."""
    odd = dict(incomparable(run))
    told = {
        path: (_switched(run, path, odd), _of_step(run, path), _of_sizes(run, path)) for path in run.paths
    }
    lines = together(("; ".join(filter(None, parts)), path) for path, parts in told.items())
    return [(paths, words) for paths, words in lines if words]


def sent_as(run: Run) -> list[tuple[str, str]]:
    """(paths, 'messages from 2 GiB on go as a derived datatype'): beyond the counts of MPI."""
    found = []
    for path in run.paths:
        told = [(entry.bytes, word) for entry in run.of_path(path) if (word := entry.details.get(SENT_AS))]
        if told:
            size, word = min(told)
            found.append((f"messages from {format_size(size)} on go as {_words(word)}", path))
    return together(found)


def _switched(run: Run, path: str, odd: Mapping[str, str]) -> str:
    """'aware with UCX_TLS=^cuda_ipc', and what aware ran with where the user has set that variable.

    `odd`: why a path cannot be compared, which says that already.
    """
    other = run.step(path).without
    if not other:
        return ""
    changed = switches(run, path)
    words = f"{other} with {_settings(changed) or 'something switched off'}"
    if path in odd:
        return f"{words}; {odd[path]}"
    inherited = run.head.environment.variables.items()
    before = _settings({name: value for name, value in inherited if name in changed})
    return f"{words} ({other} itself: {before})" if before else words


def _settings(variables: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items())


def _of_step(run: Run, path: str) -> str:
    """'version 2.27.7, via P2P/CUMEM' of what a transport says once for a path, as far as it is in words."""
    told = [(name, _words(value)) for name, value in run.step(path).details.items() if name not in OBVIOUS]
    return ", ".join(f"{_label(name)} {words}" for name, words in told if words)


def _label(name: str) -> str:
    return LABELS.get(name, name.removesuffix(_BYTES).replace("_", " "))


def _words(value: Any) -> str:
    """Words, or a list of them; nothing for what a line cannot hold."""
    if isinstance(value, list):
        value = " and ".join(dict.fromkeys(filter(None, map(_words, value))))
    return text(value, LONGEST) if isinstance(value, str) else ""


def _of_sizes(run: Run, path: str) -> str:
    """'LL for messages up to 64 KiB, stores up to 2 MiB, TMA from 4 MiB' of what it chose size by size."""
    entries = [entry for entry in run.of_path(path) if entry.bytes]
    names = dict.fromkeys(name for entry in entries for name in entry.details if name != SENT_AS)
    parts = []
    for name in names:
        told = [(entry.bytes, words) for entry in entries if (words := _choice(name, entry.details))]
        spans = [
            (words, [size for size, _ in span]) for words, span in groupby(told, key=lambda pair: pair[1])
        ]
        if 0 < len(spans) <= MAX_CHANGES:
            parts.append(f"{_label(name)} {_spans(spans)}")
    return "; ".join(parts)


def _choice(name: str, details: Mapping[str, Any]) -> str:
    """Words and sizes are choices; counts follow from them."""
    value = details.get(name)
    if isinstance(value, int) and (name.endswith(_BYTES) or name in _SIZES):
        return format_size(value)
    return _words(value) if isinstance(value, str) else ""


def _spans(spans: list[tuple[str, list[int]]]) -> str:
    ends = [f"up to {format_size(sizes[-1])}" for _, sizes in spans[:-1]]
    if not ends:
        return spans[0][0]
    ends[0] = f"for messages {ends[0]}"
    ends.append(f"from {format_size(spans[-1][1][0])}")
    # Words with commas of their own need a stronger sign between them.
    sign = "; " if any("," in words for words, _ in spans) else ", "
    return sign.join(f"{words} {end}" for (words, _), end in zip(spans, ends, strict=True))


def pointers(run: Run) -> Iterator[tuple[str, str]]:
    """('aware', 'by their addresses (UVA) buffers lie in device memory, ...'), as the driver tells of each
    address; paths whose memory is alike share a line.
    """
    told = together((memory_of(run.step(path)), path) for path in run.paths if run.step(path).pointers)
    for paths, words in told:
        yield paths, f"by their addresses (UVA) buffers lie in {words}"


def library_start(run: Run) -> list[str]:
    """'NCCL's communicator took 3.90 s to start (nccl)'; nothing without such a path.

    A path that went on with the communicator of the one before has no such time.
    """
    found = {path: run.step(path).details.get(START) for path in run.paths}
    took = {path: seconds for path, seconds in found.items() if isinstance(seconds, float | int)}
    if not took:
        return []
    return [f"NCCL's communicator took {ends(took.values(), format_seconds)} to start ({', '.join(took)})"]
