"""The sizes that a table shows of a long sweep; files, pages and exports have all of them."""

from __future__ import annotations

from wirespeed.report.facts.best import by_domain
from wirespeed.results.runs import Run

MOST = 16
"""Up to this many sizes are all shown."""


def shown_sizes(run: Run, apart: int = 4, *, changes: bool = True) -> list[int]:
    """Sizes to show of a sweep of powers of two: powers of `apart`, both ends, and each size where something
    changes.

    Another path becomes the fastest there, or one fails. `apart`: 4, 16 or 64; of more than 4, short sweeps
    are thinned, too.
    """
    sizes = run.sizes
    if (len(sizes) <= MOST and apart == 4) or any(size & (size - 1) for size in sizes):
        return sizes
    always = {sizes[0], sizes[-1]}
    if changes:
        always |= {span.first.bytes for _, spans in by_domain(run) for span in spans}
        always |= {failure.bytes for failure in run.failures if failure.bytes is not None}
    step = apart.bit_length() - 1
    return [size for size in sizes if size in always or size.bit_length() % step == 1]
