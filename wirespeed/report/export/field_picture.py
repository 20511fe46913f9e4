"""A program's field as a picture, by matplotlib."""

from __future__ import annotations

import base64
import io
from contextlib import suppress

from wirespeed.errors import WirespeedError
from wirespeed.job.messages import Picture
from wirespeed.report.export.matplotlib_figure import DPI, FORMATS, SETTINGS, require_matplotlib
from wirespeed.results.reading import shown
from wirespeed.results.whole_file import refuse_unwritable, write_whole

SIDE = 5.5
"""Inches of the field's longer side."""
WIDE = 2
"""Width / height, from which on the colour bar is below the field."""
THIN = 12
"""Longer / shorter side, from which on both axes have scales of their own."""


def refuse_picture(file: str) -> None:
    """Raises WirespeedError for a file that cannot become a picture, before anything is measured for it."""
    if not file.endswith(FORMATS):
        raise WirespeedError(f"--picture {shown(file)}: the name of a picture ends in {', '.join(FORMATS)}")
    require_matplotlib("--picture")
    refuse_unwritable(file)


class FieldPicture:
    """Takes rows of cells as rank 0 tells them; a new first row begins anew."""

    def __init__(self) -> None:
        self._facts: Picture | None = None
        self._rows: list[bytes] = []

    def take(self, event: Picture) -> None:
        if event.row == 0:
            self._facts, self._rows = event, []
        # A damaged row leaves the picture incomplete.
        with suppress(ValueError):
            row = base64.b64decode(event.cells)
            if row and not len(row) % 4 and len(row) == len((self._rows or [row])[0]):
                self._rows.append(row)

    @property
    def complete(self) -> bool:
        return self._facts is not None and 0 < len(self._rows) == self._facts.of

    def draw(self, file: str, program: str) -> None:
        """Writes it. `program`: its name and case, for the title. Raises WirespeedError."""
        import matplotlib
        import numpy as np

        matplotlib.use("agg")
        from matplotlib import pyplot
        from matplotlib.ticker import MaxNLocator, ScalarFormatter

        facts = self._facts
        assert facts
        cells = np.array([np.frombuffer(row, "f4") for row in self._rows])
        width, height = facts.grid
        wide, longer = width >= WIDE * height, max(width, height)
        across, up = (SIDE * max(side / longer, 1 / THIN) for side in (width, height))
        with matplotlib.rc_context({**SETTINGS, "axes.grid": False}):
            figure = pyplot.figure(figsize=(across, up))
            axes = figure.add_axes((0, 0, 1, 1))
            image = axes.imshow(
                cells,
                origin="lower",
                extent=(0, width, 0, height),
                aspect="equal" if longer <= THIN * min(width, height) else "auto",
                cmap="inferno" if facts.what == "temperature" else "viridis",
            )
            axes.set_title(f"{program}: {facts.what} after {facts.steps} steps", fontsize=9)
            cell = f"; a cell is the mean of up to {facts.cell} x {facts.cell}" if facts.cell > 1 else ""
            axes.set_xlabel(f"x (points{cell})")
            axes.set_ylabel("y (points)")
            # Outside the field, and as long.
            place = (0, -0.6 / up, 1, 0.12 / up) if wide else (1 + 0.1 / across, 0, 0.12 / across, 1)
            bar = axes.inset_axes(place)
            along = "horizontal" if wide else "vertical"
            figure.colorbar(
                image,
                cax=bar,
                label=facts.what,
                orientation=along,
                ticks=MaxNLocator(4 if wide else 8),
                format=ScalarFormatter(useOffset=False),
            )
            drawn, form = io.BytesIO(), file.rpartition(".")[2]
            try:
                figure.savefig(drawn, format=form, dpi=DPI, bbox_inches="tight")
            finally:
                pyplot.close(figure)
        write_whole(file, drawn.getvalue())
