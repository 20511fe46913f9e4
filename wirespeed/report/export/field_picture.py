"""A program's field as a picture, by matplotlib."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from wirespeed.errors import WirespeedError
from wirespeed.job.messages import Message
from wirespeed.report.export.matplotlib_figure import DPI, FORMATS, INCHES, SETTINGS, require_matplotlib
from wirespeed.results.reading import cannot, shown
from wirespeed.results.whole_file import write_whole

WIDE = 2
"""Width / height, from which on the colour bar is below the field."""
LEAST_SHAPE, MOST_SHAPE = 0.12, 2.0
"""Height / width of the whole picture."""


def refuse_picture(file: str) -> None:
    """Raises WirespeedError for a file that cannot become a picture, before anything is measured for it."""
    if not file.endswith(FORMATS):
        raise WirespeedError(f"--picture {shown(file)}: the name of a picture ends in {', '.join(FORMATS)}")
    require_matplotlib("--picture")
    folder = Path(file).resolve().parent
    if not folder.is_dir():
        raise cannot(f"cannot write {shown(file)}: there is no folder {shown(folder)}")


class FieldPicture:
    """Takes rows of cells as rank 0 tells them; a new first row begins anew."""

    def __init__(self) -> None:
        self._facts: Message = {}
        self._rows: list[bytes] = []

    def take(self, event: Message) -> None:
        if event["row"] == 0:
            self._facts, self._rows = event, []
        self._rows.append(base64.b64decode(event["cells"]))

    @property
    def complete(self) -> bool:
        return bool(self._rows) and len(self._rows) == self._facts["of"]

    def draw(self, file: str, program: str) -> None:
        """Writes it. `program`: its name and case, for the title. Raises WirespeedError."""
        import matplotlib
        import numpy as np

        matplotlib.use("agg")
        from matplotlib import pyplot

        facts = self._facts
        cells = np.array([np.frombuffer(row, "f4") for row in self._rows])
        width, height = facts["grid"]
        wide = width >= WIDE * height
        shape = min(max(height / width, LEAST_SHAPE), MOST_SHAPE)
        size = (INCHES[0], INCHES[0] * shape * (1 if wide else 0.85) + (1.5 if wide else 0.6))
        with matplotlib.rc_context({**SETTINGS, "axes.grid": False}):
            figure, axes = pyplot.subplots(figsize=size, layout="constrained")
            image = axes.imshow(
                cells,
                origin="lower",
                extent=(0, width, 0, height),
                cmap="inferno" if facts["what"] == "temperature" else "viridis",
            )
            axes.set_title(f"{program}: {facts['what']} after {facts['steps']} steps", fontsize=9)
            axes.set_xlabel("x (points)" if facts["cell"] == 1 else f"x (points; {_cell(facts['cell'])})")
            axes.set_ylabel("y (points)")
            below: Any = {"orientation": "horizontal", "aspect": 40, "shrink": 0.7} if wide else {}
            figure.colorbar(image, ax=axes, label=facts["what"], **below)
            drawn, form = io.BytesIO(), file.rpartition(".")[2]
            try:
                figure.savefig(drawn, format=form, dpi=DPI)
            finally:
                pyplot.close(figure)
        write_whole(file, drawn.getvalue())


def _cell(points: int) -> str:
    return f"a cell is the mean of up to {points} x {points}"
