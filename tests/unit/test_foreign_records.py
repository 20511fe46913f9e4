"""Figures of other tools as records: as printed, and under names that stay."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.foreign import INPUTS, read_text

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.foreign.as_results import results_of
from wirespeed.foreign.opening import open_figures
from wirespeed.results.runs import Run, collect

POSTS = sorted(file for file in INPUTS.glob("*") if file.is_file())
FIGURES = [file for file in POSTS if file.name[:2] not in ("07", "11", "17", "24")]


def runs_of(text: str) -> list[Run]:
    return collect(results_of(read_text(text), "log.txt").records)


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.name[:2])
def test_every_figure_is_that_of_the_text(file: Path) -> None:
    """The rate of an entry is the printed one, to the digits that are printed."""
    log = read_text(file.read_text())
    printed = {
        round(rate / 1e9, 2)
        for curve in log.curves
        for point in curve.points
        if (rate := point.rate or (point.seconds and point.bytes / point.seconds))
    }
    runs = collect(results_of(log, "log.txt").records)
    entries = [entry for run in runs for entry in run.figures.values()]
    assert entries and {round(entry.rate / 1e9, 2) for entry in entries if entry.amount} <= printed | {0.0}
    times = {point.seconds for curve in log.curves for point in curve.points} - {None}
    assert not times or {entry.seconds for entry in entries if entry.launches == 1} <= times
    assert all(run.foreign for run in runs)


def test_tables_of_one_test_are_launches_and_rows_in_time_are_not() -> None:
    table = "# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n8    1.9{}\n"
    (run,) = runs_of("".join(table.format(digit) for digit in range(5)))
    (entry,) = run.entries.values()
    assert entry.launches == 5 and entry.seconds == pytest.approx(1.92e-6)
    text = next(INPUTS.glob("07*")).read_text()
    (run,) = runs_of("$ ucx_perftest -t tag_bw -s 8388608\n" + text)
    (entry,) = run.entries.values()
    assert entry.launches == 1 and entry.rate == pytest.approx(5540.74 * 2**20)


def test_a_version_is_no_part_of_a_name() -> None:
    text = "# OSU MPI-CUDA Allreduce Latency Test v{}\n# Size       Avg Latency(us)\n8    9.11\n"
    (old,), (new,) = runs_of(text.format("5.9")), runs_of(text.format("7.4"))
    assert old.paths == new.paths == ["osu-mpi-cuda/D-D"] and old.head.plan.pattern == "allreduce"
    assert old.head.environment.packages["tool"] == "OSU MPI-CUDA 5.9"


def test_wrong_data_are_a_failure_and_no_figure() -> None:
    runs = runs_of(next(INPUTS.glob("26*")).read_text())
    assert [(failure.what, failure.bytes) for run in runs for failure in run.failures] == [
        ("mismatch", 37748744)
    ]
    assert [entry.bytes for run in runs for entry in run.of_path("nccl-tests/D-D")] == [37748736, 37748744]


def test_impossible_figures_are_known_as_such(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (run,) = runs_of(next(INPUTS.glob("22*")).read_text())
    assert len(run.impossible) == 19 and not run.entries
    rules = tmp_path / "site.toml"
    rules.write_text('[[require]]\npattern = "stream"\npath = "mpibenchmarks.jl/H-H"\nsizes = "1K"\n')
    text = rules.read_text().replace('sizes = "1K"', '[require.sizes]\n"1K" = "at least 1 GB/s"')
    rules.write_text(text)
    code = main(["check", "--require", str(rules), str(next(INPUTS.glob("22*")))])
    assert code == ExitCode.IMPOSSIBLE and "beyond every memory" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["show", "compare", "check", "plot", "report"])
def test_each_command_takes_the_standard_input(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One door for all: what `explain -` reads, they read."""
    file = next(INPUTS.glob("20*"))
    rules = tmp_path / "site.toml"
    rules.write_text('[[require]]\npattern = "stream"\npath = "osu-mpi/H-H"\n')
    rules.write_text(rules.read_text() + '[require.sizes]\n"1M" = "at least 0.5 GB/s"\n')
    words = {
        "show": ["-"],
        "compare": [str(file), "-", "--spread", "1%"],
        "check": ["--require", str(rules), "-"],
        "plot": ["-", "-o", str(tmp_path / "figure.svg")],
        "report": ["-", "-o", str(tmp_path / "page.html")],
    }
    if command == "plot":
        pytest.importorskip("matplotlib")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert main([command, *words[command]]) == ExitCode.OK, capsys.readouterr().err


def test_a_packed_result_file_that_was_cut_keeps_its_figures(tmp_path: Path) -> None:
    """The door looks at the first lines: what is lost behind them must not cost those."""
    import gzip

    results = Path(__file__).parents[2] / "results"
    whole = next(file for file in sorted(results.glob("*.jsonl")) if file.stat().st_size < 200_000)
    packed = gzip.compress(whole.read_bytes())
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    found = open_figures(str(cut))
    assert found.runs and any("from here on" in warning for warning in found.warnings)
