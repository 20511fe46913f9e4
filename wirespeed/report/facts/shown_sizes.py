"""The sizes that a table shows of a long sweep; files, pages and exports have all of them."""

from __future__ import annotations

from wirespeed.report.facts.best import by_domain
from wirespeed.results.runs import Run

MOST = 16
"""Up to this many sizes are all shown."""


def shown_sizes(run: Run) -> list[int]:
    """Sizes to show of a sweep of powers of two: powers of four, both ends, and each size where something
    changes.

    Another path becomes the fastest there, or one fails.
    """
    sizes = run.sizes
    if len(sizes) <= MOST or any(size & (size - 1) for size in sizes):
        return sizes
    changes = {span.first.bytes for _, spans in by_domain(run) for span in spans}
    failures = {failure.bytes for failure in run.failures}
    always = {sizes[0], sizes[-1]} | changes | failures
    return [size for size in sizes if size in always or size.bit_length() % 2]
