"""Cells of a program's picture, and what is drawn of them."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

from wirespeed.errors import WirespeedError
from wirespeed.job.messages import Picture
from wirespeed.patterns import Shape
from wirespeed.programs.jacobi import PATTERN as JACOBI
from wirespeed.programs.lbm import PATTERN as LBM
from wirespeed.programs.lbm_math import SOUND_SQUARE
from wirespeed.report.export import matplotlib_figure
from wirespeed.report.export.field_picture import FieldPicture, refuse_picture


def test_a_cell_is_the_mean_of_its_points() -> None:
    """Protects large fields: no point of a cell is left out, wherever a rank's block ends."""
    field = np.arange(3 * 7, dtype="f4").reshape(3, 7)
    cells = JACOBI.at(Shape(1, {"size": "7x3"})).cells([field.tobytes()], [0, 3, 5, 7])
    expected = [field[:, :3].mean(), field[:, 3:5].mean(), field[:, 5:].mean()]
    assert np.frombuffer(cells, "f4") == pytest.approx(expected)


@pytest.mark.parametrize(("case", "expected"), [("sound-wave", 2.0), ("shear-wave", 0.5), ("heat", 1.5)])
def test_what_a_case_shows(case: str, expected: float) -> None:
    """Protects the picture's label: density, momentum, temperature."""
    energy = 2.0 * (1.5 * SOUND_SQUARE + 0.25**2 / 2)
    moments = [np.full((2, 4), value).tobytes() for value in (2.0, 0.5, 0.0, energy)]
    cells = LBM.at(Shape(1, {"case": case})).cells(moments, [0, 4])
    assert np.frombuffer(cells, "f4") == pytest.approx([expected])


def rows(count: int, of: int, grid: tuple[int, int] | None = None, cell: int = 1) -> list[Picture]:
    cells = base64.b64encode(np.zeros(5, "f4").tobytes()).decode()
    return [Picture("jacobi", "u", 4, grid or (5, of), cell, of, row, cells) for row in range(count)]


def test_half_a_picture_is_none(tmp_path: Path) -> None:
    """Protects from a picture of a path whose ranks ended meanwhile; the next path begins anew."""
    picture = FieldPicture()
    for row in rows(2, of=3):
        picture.take(row)
    assert not picture.complete
    for row in rows(3, of=3):
        picture.take(row)
    assert picture.complete
    for form in (".png", ".pdf", ".svg"):
        picture.draw(str(tmp_path / f"field{form}"), "jacobi")
        assert (tmp_path / f"field{form}").stat().st_size > 1000


@pytest.mark.parametrize(("grid", "of"), [((8192, 8), 8), ((4, 4000), 8)])
def test_a_thin_plane_is_drawn(tmp_path: Path, grid: tuple[int, int], of: int) -> None:
    """Protects from a picture that is a line, or has no end."""
    picture = FieldPicture()
    for row in rows(of, of=of, grid=grid, cell=9):
        picture.take(row)
    picture.draw(str(tmp_path / "field.png"), "jacobi")
    assert (tmp_path / "field.png").read_bytes()[:4] == b"\x89PNG"


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects users from measuring for nothing: it is said at once, with what to install."""
    # The module that this file's functions come from: another test may have imported it anew.
    monkeypatch.setattr(matplotlib_figure, "find_spec", lambda name: None)
    with pytest.raises(WirespeedError, match=r"-m pip install matplotlib") as caught:
        refuse_picture(str(tmp_path / "field.png"))
    assert caught.value.code == 3
