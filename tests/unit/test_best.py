"""The path to use at each size: the line and the column of the fastest do not contradict."""

from __future__ import annotations

import pytest
from support.records import entry, make_run

from wirespeed.report.facts.outcome import spans

SIZES = (64, 128, 256, 512)


@pytest.mark.parametrize("seed", range(10))
def test_each_name_of_the_column_stands_in_the_line(seed: int) -> None:
    """Protects from forgetting a path: at every size the fastest ones are those that the span names."""
    steps = [1 + 0.02 * ((seed * 7 + place * place * 3 + place) % 5) for place in range(12)]
    paths = ("host", "host-pinned", "rma-host")
    cells = zip([(path, size) for path in paths for size in SIZES], steps, strict=True)
    run = make_run(*(entry(path, size, seconds * 1e-6, 0.03) for (path, size), seconds in cells))
    for span in spans(run, "CPU"):
        partly = dict(span.partly)
        for figure in span.entries:
            named = {span.path, *span.equals, *(path for path in partly if figure.bytes in partly[path])}
            assert named == {best.path for best in run.fastest(figure.bytes, "CPU")}
