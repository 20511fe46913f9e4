"""What stands under the tables of a run with GPUs: an answer on MPI, and no line that the terminal cuts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import report_files as made
from support.golden import Golden
from support.measured import measured, result
from support.records import failure, shown

from wirespeed.cli.common.reading import read_runs
from wirespeed.host.devices import too_few
from wirespeed.results.runs import Run


def of_records(folder: Path, *records: made.Record) -> Run:
    (run,) = read_runs(made.write(folder / "a.jsonl", *records))
    return run


def answered(run: Run) -> str:
    """The line on MPI; empty without one."""
    lines = [line for line in shown(run, 250).splitlines() if line.startswith("GPU-aware MPI: ")]
    return lines[0].removeprefix("GPU-aware MPI: ") if lines else ""


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("file", measured("*.jsonl*"))
def test_no_line_is_too_wide_and_no_cell_has_two_marks(file: Path, width: int) -> None:
    """Protects outcomes from being broken within a word, and figures from '~7.49*', which says two things."""
    for run in read_runs(str(file)):
        text = shown(run, width)
        assert max(map(len, text.splitlines())) <= width
        assert re.findall(r"[~!?]<?[\d.]+ ?\w*[*≈?!]", text) == []


CRASHED = "Open MPI 4.1.6 crashed on a device pointer in mca_btl_vader_sendi in mca_btl_vader.so"
NO_SUM = "Open MPI 5.0.11: MPI has no type fp16 to reduce"
LACKING = (
    ("pingpong", ("staged", "nccl"), CRASHED),
    ("pingpong", ("host",), "no GPU (cuda: libcuda.so.1 not found)"),
    # Two ranks do not share one GPU unasked.
    ("pingpong", ("host",), too_few(2, 1)),
    # A GPU-aware MPI is not called none, because its library has no sum of fp16.
    ("allreduce", ("staged:best", "nccl:best", "aware:best"), NO_SUM),
    ("allreduce", ("staged:best", "nccl:best"), NO_SUM),
)


def test_is_mpi_gpu_aware(golden: Golden, tmp_path: Path) -> None:
    """Protects a newcomer's first question, and machines where the path is missing for another reason."""
    told = {}
    for file in ("h200-x2-default", "h200-x2-survey", "h200-x2-exchange"):
        (run,) = read_runs(str(result(file)))
        told[file] = answered(run) or "nothing is said"
    for pattern, paths, text in LACKING:
        head = made.head()
        head["plan"] = {**head["plan"], "pattern": pattern}
        curves = [{**one, "pattern": pattern} for path in paths for one in made.curve(path, 2e-5, 4e11)]
        lacks = failure("aware", None, "unavailable", text)
        rest = (*map(made.step, paths), *curves, lacks, made.end())
        told[f"{pattern} by {', '.join(paths)}; {text}"] = (
            answered(of_records(tmp_path, head, *rest)) or "nothing is said"
        )
        if text == CRASHED:
            # The time was over before the other MPI had a figure.
            lacks["cause"] = {"kind": "crash", "pointer": True, "instead": "Open MPI 5.0.11"}
            told[f"{text}, Open MPI 5.0.11 instead"] = answered(of_records(tmp_path, head, *rest))
    golden("report/mpi_answers", told)
