"""What came of each path, in a few words: its best figure, the share of its limit, its wires."""

from __future__ import annotations

import re
from itertools import groupby

from wirespeed.report.facts import shares
from wirespeed.report.facts.wire_verdicts import of_path
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size


def best(run: Run, path: str) -> Entry | None:
    """The figure with the highest bandwidth."""
    rated = (entry for entry in run.of_path(path) if entry.bytes and entry.amount)
    return max(rated, key=lambda entry: entry.rate, default=None)


def best_words(run: Run, path: str) -> str:
    """'393 GB/s at 1 GiB'."""
    entry = best(run, path)
    return f"{format_rate(entry.rate)} GB/s at {format_size(entry.bytes)}" if entry else ""


def share_words(run: Run, path: str, name: str = "") -> str:
    """'87 % of 450'; '50 % of 1.70 at 1 GiB' where caches served the fastest figure; nothing without a limit.

    `name`: what to call the limit instead of its rate.
    """
    limit = run.ceiling(path)
    rated = [one for one in run.of_path(path) if shares.share(one, limit) is not None]
    # A table of copies has the share of a rank that copies alone.
    if limit is None or not rated or run.view == "copies":
        return ""
    entry = max(rated, key=lambda one: one.rate)
    where = "" if entry is best(run, path) else f" at {format_size(entry.bytes)}"
    return f"{shares.percent(shares.share(entry, limit))} of {name or format_rate(limit.rate)}{where}"


def wires_words(run: Run, path: str) -> str:
    """'direct over NVLink from 4 KiB': of the largest messages, from the size on from which it is so."""
    found = of_path(run, path)
    known = [one for one in found if one.verdict != "unknown"] or found
    spans = [list(span) for _, span in groupby(known, key=lambda one: one.verdict)]
    if not spans:
        return ""
    text = spans[-1][-1].text.split(":")[0].split(" (")[0]
    text = re.sub("^staged through host memory,? over", "staged over", text)
    return f"{text} from {format_size(spans[-1][0].bytes)}" if len(spans) > 1 else text


def payload(run: Run) -> tuple[str, bool] | None:
    """(how much was compared, whether all of it was right); None where that is not on record."""
    entries = run.entries.values()
    wrong = [(one.path, one.bytes) for one in run.failures if one.what == "mismatch"]
    iterations = sum(entry.checked.iterations for entry in entries)
    if wrong:
        paths = dict.fromkeys(path for path, _ in wrong)
        return (
            f"#wrong {len(wrong)}: figures of {', '.join(paths)} are missing, because wrong bytes arrived",
            False,
        )
    if not iterations or not all(entry.checked.iterations for entry in entries):
        return None
    what = "sizes" if len(run.paths) == 1 else "figures"
    of = f"at all {len(run.entries)} {what}" if len(run.entries) > 1 else "at the one size"
    return f"#wrong 0: every byte of {iterations:,} untimed iterations was compared, {of}", True
