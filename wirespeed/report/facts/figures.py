"""Figures and failures in words: every number with its unit, the same everywhere."""

from __future__ import annotations

import re

from wirespeed.results.runs import IMPOSSIBLE, Entry, Failure
from wirespeed.units import format_rate, format_seconds, format_size

_FAILURES = {
    "unavailable": ("not available", "n/a"),
    "crash": ("crashed", "crash"),
    "hang": ("hung", "hung"),
    "death": ("a rank died", "died"),
    "mismatch": ("wrong data", "wrong"),
    "error": ("error", "error"),
    "interrupted": ("interrupted", "intr."),
    IMPOSSIBLE: (IMPOSSIBLE, IMPOSSIBLE),
}
CRASH_SITE = re.compile(r" in \S+ in [^\s,;]+")
"""The function of a crash: it differs from run to run of the same fault."""
WHAT = {kind: words for kind, (words, _) in _FAILURES.items()}
SHORT = {kind: word for kind, (_, word) in _FAILURES.items()}
"""For cells of narrow columns."""
UNCERTAIN = "uncertain"
"""Word for a figure whose interval is wider than ±100 %."""


def quantity(value: float, unit: str) -> str:
    """GB/s as format_rate() has them; other things per second in three figures, with k, M or G: '1.25 M'."""
    if unit == "GB/s":
        return format_rate(value * 1e9)
    if unit == "s":
        return format_seconds(value)
    scales = ((1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, ""))
    factor, sign = next((scale for scale in scales if value >= 0.9995 * scale[0]), scales[-1])
    return f"{ratio(value / factor)}{sign}"


def time_of(entry: Entry, seconds: float) -> str:
    """Three significant figures: that of a load in nanoseconds below a microsecond, '702 ns'."""
    if entry.moves or seconds >= 0.9995e-6:
        return format_seconds(seconds)
    return f"{ratio(seconds * 1e9)} ns"


def microseconds(seconds: float) -> str:
    """Three significant figures where the unit stands elsewhere: '0.752', '12.4', '12400'."""
    value = seconds * 1e6
    return f"{value:.3f}" if value < 0.9995 else ratio(value)


def between(low: float, high: float, sign: str = "-") -> str:
    """A range of two significant figures, where the unit stands elsewhere: '18-23', '<0.001-0.0013'.

    Ends that read the same stand once: '<0.001'.
    """
    return sign.join(dict.fromkeys(map(_two_figures, (low, high))))


def _two_figures(value: float) -> str:
    if value < 0.001:
        return "<0.001" if value else "0"
    limits = (9.95, 0.995, 0.0995, 0.00995)
    return f"{value:.{next((digits for digits, limit in enumerate(limits) if value >= limit), 4)}f}"


def time_range(low: float, high: float, sign: str = "-") -> str:
    """Seconds between two values in the unit of the larger one, '0.49-0.61 us'."""
    _, unit = format_seconds(high).split()
    factor = {"us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    return f"{between(low * factor, high * factor, sign)} {unit}"


def spread(share: float | None) -> str:
    """Half width of the interval as a share of the median: '±0.4 %', 'uncertain'; a dash without one."""
    if share is None:
        return "—"
    percent = share * 100
    if percent > 100:
        return UNCERTAIN
    if percent < 0.05:
        return "±0.0 %" if percent == 0 else "±<0.1 %"
    return f"±{percent:.1f} %" if percent < 9.95 else f"±{percent:.0f} %"


def widest(share: float | None) -> str:
    """The same of the widest interval, of which only that it is uncertain would say too little."""
    return ">±100 %" if share is not None and share > 1 else spread(share)


def percent(share: float) -> str:
    """'1 %', '0.5 %'."""
    return f"{share * 100:.3g} %"


def launches(count: int) -> str:
    """'3 launches'; nothing for a single one."""
    return f"{count} launches" if count > 1 else ""


def failure_head(failure: Failure) -> str:
    """'aware at 64 KiB'; a path that is not available is so at every size."""
    if failure.whole_path or failure.bytes is None:
        return failure.path
    return f"{failure.path} at {format_size(failure.bytes)}"


def failure_text(failure: Failure) -> str:
    """'not available: no GPU; ...': what, why, and what would help."""
    what = WHAT.get(failure.what, failure.what) or "failed"
    text = " ".join(failure.text.split())
    text = text.removeprefix(f"{failure.path}: ").removeprefix(f"{what}: ")
    if text and (other := other_mpi(failure)):
        text = CRASH_SITE.sub("", text)
        return f"{text}, so {other} was used" if ", so " not in text else f"{text}; {other} was used"
    if not text.startswith(what):
        text = f"{what}: {text}" if text else what
    if failure.remedy and failure.remedy not in text:
        text += "; " + " ".join(failure.remedy.split())
    return text


def other_mpi(failure: Failure) -> str:
    """'Open MPI 5.0.11', which was measured instead; empty: none was."""
    return failure.cause.instead


def ratio(value: float) -> str:
    """Three significant figures: '8.98', '0.871', '31.1'."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
