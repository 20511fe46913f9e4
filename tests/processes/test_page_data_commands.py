"""wirespeed report, plot and pictures: what they write, and the one line that they say when they cannot."""

from __future__ import annotations

import base64
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import report_files as made
from support.measured import result

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.messages import Picture
from wirespeed.patterns import Shape
from wirespeed.programs.jacobi import PATTERN as JACOBI
from wirespeed.programs.lbm import PATTERN as LBM
from wirespeed.programs.lbm_math import SOUND_SQUARE
from wirespeed.report.export import matplotlib_figure
from wirespeed.report.export.field_picture import FieldPicture, refuse_picture
from wirespeed.report.export.markdown import markdown, plain
from wirespeed.report.export.matplotlib_figure import _draw, looks_of
from wirespeed.report.page import read_sources
from wirespeed.report.page.styles import Style
from wirespeed.report.sources import measured

RESULTS = Path(__file__).parents[2] / "results"
PAPER = RESULTS / "h200-x2-paths.jsonl.gz"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A result file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return made.write(tmp_path / "one.jsonl", *made.pingpong(), made.doctor())


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr."""
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_report_without_a_name(file: str, tmp_path: Path) -> None:
    assert main(["report", file]) == 0
    assert (tmp_path / "report.html").exists()


def test_damage_is_named(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Path(file).open("a") as stream:
        stream.write("garbage\n" * 8)
    (tmp_path / "bad.jsonl").write_text("x\n")
    assert main(["report", file, "bad.jsonl", "-o", "a.html"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("wirespeed: warning: bad.jsonl is not a result file of wirespeed, nor ")
    assert len(lines) == 1 + 5 + 1 and lines[1].endswith("damaged, left out") and "3 more" in lines[-1]


def test_tables_in_markdown_are_rectangular(tmp_path: Path) -> None:
    """A cell too many shifts every figure after it under another head."""
    text = markdown(*read_sources([*made.everything(tmp_path), str(PAPER)]))
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_text_in_markdown_is_text(tmp_path: Path) -> None:
    text = markdown(*read_sources([made.write(tmp_path / "h", *made.hostile())]))
    assert "<" not in text and "\x1b" not in text
    assert plain("a|b*c*`d`[e](f)\n# g") == r"a\|b\*c\*\`d\`\[e\](f) \# g"


class TestPlot:
    @pytest.fixture(autouse=True)
    def wanted(self) -> None:
        pytest.importorskip("matplotlib", reason="no matplotlib: pip install matplotlib")

    @pytest.fixture
    def plotted(self, tmp_path: Path) -> Callable[..., list[str]]:
        """Plots as SVG, which keeps its text: all words. Numbers are plain ones."""

        def plot(*words: str | Path) -> list[str]:
            out = tmp_path / "a.svg"
            assert main(["plot", *map(str, words), "-o", str(out)]) == 0
            shown: list[str] = re.findall(r"<text[^>]*>([^<]*)</text>", out.read_text())
            assert not any("mathdefault" in word or "e+" in word for word in shown)
            return shown

        return plot

    @pytest.mark.parametrize(
        ("name", "start"), [("a.pdf", b"%PDF"), ("a.png", b"\x89PNG"), ("a.svg", b"<?xml")]
    )
    def test_formats(self, file: str, tmp_path: Path, name: str, start: bytes) -> None:
        assert main(["plot", file, "-o", name]) == 0
        assert (tmp_path / name).read_bytes().startswith(start)

    def test_curves_limits_and_published_ones(self, file: str, plotted: Callable[..., list[str]]) -> None:
        """Every curve, unit and limit can be found."""
        shown = plotted(file, "--against", "summit", "--paths", "aware,staged")
        curves = {"aware", "staged", "aware, Summit as published", "message size", "time, one way (us)"}
        assert {*curves, "limit 450 GB/s (NVLink)", "1 GiB"} <= set(shown) and "host" not in shown
        assert sum(text.startswith("limit ") for text in shown) == 2
        assert "GB/s" not in " ".join(plotted(file, "--kind", "time"))

    @pytest.mark.parametrize("file", ["h200-x2-jacobi", "programs/h200-lbm-20-runs"])
    def test_a_program_has_bars(self, plotted: Callable[..., list[str]], file: str) -> None:
        """Protects one size from an axis without numbers, and from "$\\mathdefault{9\\times10^{2}}$"."""
        shown = plotted(result(file), "--kind", "time")
        assert "message size" not in shown and "time, a step (us)" in shown and "0" in shown

    @pytest.mark.parametrize(
        ("file", "ranks"), [("eight/h200-x8-jacobi", "1248"), ("programs/h200-x4-lbm", "124")]
    )
    def test_a_program_scales_over_ranks(
        self, plotted: Callable[..., list[str]], file: str, ranks: str
    ) -> None:
        """Protects the scaling plot: both panels, numbers of ranks, a name for each path and the ideal."""
        both = {"ideal", "gpu", "efficiency (%)", "time of a step (us)", *ranks}
        shown, alone = plotted(result(file)), plotted(result(file), "--kind", "time")
        assert both <= set(shown) and not both <= set(alone)
        assert not {"message size", "compute"} & set(shown)
        assert "ipc-write" not in plotted(result(file), "--paths", "gpu")

    def test_limits_that_are_close_share_their_words(self, plotted: Callable[..., list[str]]) -> None:
        """Protects from two limits on one another."""
        limits = [word for word in plotted(RESULTS / "h200-x4-copy.jsonl") if word.startswith("limit")]
        assert limits == ["limits 57.6 GB/s (PCIe), 58.4 GB/s (PCIe)", "limit 2400 GB/s (GPU memory)"]

    def test_times_alone_have_no_panel_of_bandwidth(
        self, plotted: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
    ) -> None:
        loads = str(RESULTS / "loads/h200-x2-load.jsonl")
        assert not [word for word in plotted(loads) if "GB" in word]
        assert main(["plot", loads, "--kind", "bandwidth", "-o", "a.svg"]) == 2
        assert "there is no bandwidth to plot" in capsys.readouterr().err

    @pytest.mark.parametrize("most", [1.5, 4, 30, 3000])
    def test_an_axis_has_plain_numbers(
        self, plotted: Callable[..., list[str]], tmp_path: Path, most: float
    ) -> None:
        entries = [made.entry("host", size, at) for size, at in ((8, 9e-4), (1 << 20, 9e-4 * most))]
        shown = plotted(
            made.write(tmp_path / "a.jsonl", made.head(), made.step("host"), *entries, made.end())
        )
        times = [word for word in shown[: shown.index("time, one way (us)")] if re.fullmatch(r"[\d.]+", word)]
        assert len(times) >= 2

    def test_two_sizes_are_points(self, tmp_path: Path) -> None:
        """Protects from a line over sizes that nobody has measured."""
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot

        records = [made.head(), made.step("host"), *(made.entry("host", size, 1e-6) for size in (8, 1 << 20))]
        few = made.write(tmp_path / "a.jsonl", *records, made.end())
        figure, panel = pyplot.subplots()
        for file, line in ((few, "None"), (str(PAPER), "-")):
            first, *_ = measured(read_sources([file])[0])
            panel.clear()
            _draw(panel, "time", (first, first.run.paths[0]), Style(0, ""), named=False)
            assert panel.get_lines()[0].get_linestyle() == line
        pyplot.close(figure)

    def test_runs_of_one_path_differ(self) -> None:
        """Protects a reader of five launches in one figure from five lines that look alike."""
        files = [str(result(f"default/h200-x2-launch-0{number}")) for number in range(1, 6)]
        sets = measured(read_sources(files)[0])
        for paths in (["aware"], ["aware", "gpu", "host"]):
            looks = looks_of([(one, path) for one in sets for path in paths])
            assert len(set(looks)) == len(looks) == 5 * len(paths)
        assert len({look.hue for look in looks_of([(one, "aware") for one in sets])}) == 5

    def test_names_are_no_mathematics(self, tmp_path: Path) -> None:
        path = r"a$\frac{$b_^"
        records = [made.head(), made.step(path), *made.curve(path, 1e-6, 1e9), made.end()]
        out = tmp_path / "a.png"
        assert main(["plot", made.write(tmp_path / "a.jsonl", *records), "-o", str(out)]) == 0
        assert out.exists()

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["-o", "a.doc"], "ends in .pdf, .png, .svg"),
            (["--kind", "pie"], "there are: both, bandwidth, time"),
            (["--paths", "nccl"], "there are: host, staged, aware, aware-nogdr"),
            (["--against", "frontier"], "there are: "),
            (["-o", "none/a.png"], "cannot write none/a.png: No such file or directory"),
        ],
    )
    def test_one_line(
        self, file: str, capsys: pytest.CaptureFixture[str], words: list[str], said: str
    ) -> None:
        assert main(["plot", file, *words]) != 0
        assert said in error_of(capsys)

    def test_without_matplotlib(
        self, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        find = importlib.util.find_spec

        def without(name: str, *more: Any) -> Any:
            return None if name == "matplotlib" else find(name, *more)

        monkeypatch.setattr(importlib.util, "find_spec", without)
        monkeypatch.delitem(sys.modules, "wirespeed.report.export.matplotlib_figure", raising=False)
        assert main(["plot", file]) == ExitCode.UNAVAILABLE
        assert error_of(capsys).endswith("-m pip install matplotlib")
        monkeypatch.delitem(sys.modules, "wirespeed.report.export.matplotlib_figure", raising=False)


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


def test_a_picture_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects users from measuring for nothing: it is said at once, with what to install."""
    # The module that this file's functions come from: another test may have imported it anew.
    monkeypatch.setattr(matplotlib_figure, "find_spec", lambda name: None)
    with pytest.raises(WirespeedError, match=r"-m pip install matplotlib") as caught:
        refuse_picture(str(tmp_path / "field.png"))
    assert caught.value.code == 3
