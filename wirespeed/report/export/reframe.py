"""Figures one a line, as regular expressions of ReFrame checks and other scripts read them easily."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.report.facts import labels
from wirespeed.report.facts.markers import sign
from wirespeed.results.export import figure_word
from wirespeed.results.runs import Run

DIGITS = 9


def to_reframe(runs: Sequence[Run]) -> str:
    """'wirespeed: pattern=pingpong path=aware memory=device bytes=8 latency_us=14.3 bandwidth_GBps=0.00056'.

    Then the figure's mark, where it has one, and whether the run's figures can be trusted. `options=` comes
    last, where options differ from the defaults; `failed=` stands in place of figures.
    """
    return "".join(f"{line}\n" for line in _lines(runs))


def _lines(runs: Sequence[Run]) -> Iterator[str]:
    trusted = {id(run): labels.trusted(run) for run in runs}
    for run, entry in labels.figures(runs):
        words = [
            f"pattern={labels.pattern(run, entry)}",
            f"path={entry.path}",
            f"memory={entry.memory or 'unknown'}",
            f"bytes={entry.bytes}",
            f"{'latency' if labels.one_way(entry) else 'time'}_us={entry.seconds * 1e6:.{DIGITS}g}",
        ]
        if entry.amount:
            words.append(f"bandwidth_GBps={entry.rate / 1e9:.{DIGITS}g}")
        if entry.baseline_s:
            words.append(f"baseline_us={entry.baseline_s * 1e6:.{DIGITS}g}")
        words += [
            f"{figure_word(name, unit)}={value:.{DIGITS}g}" for name, unit, value in labels.derived(entry)
        ]
        if entry.launches > 1:
            words.append(f"launches={entry.launches}")
        if mark := sign(run, entry):
            words.append(f"mark={mark}")
        words.append(f"trusted={trusted[id(run)]}")
        yield _joined(run, words)
    for run, failure in labels.failures(runs):
        size = [] if failure.bytes is None else [f"bytes={failure.bytes}"]
        words = [f"pattern={labels.pattern(run)}", f"path={failure.path}", *size, f"failed={failure.what}"]
        yield _joined(run, words)


def _joined(run: Run, words: Sequence[str]) -> str:
    conditions = labels.conditions(run)
    return " ".join(["wirespeed:", *words, *([f"options={conditions}"] if conditions else [])])
