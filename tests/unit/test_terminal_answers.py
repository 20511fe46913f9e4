"""What stands under the tables of a run with GPUs: an answer on MPI, and no line that the terminal cuts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import report_files as made
from support.measured import measured, result
from support.records import shown

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


@pytest.mark.parametrize(
    ("file", "answer"),
    [
        (
            "h200-x2-default",
            "yes, Open MPI 5.0.11; direct over NVLink from 4 KiB; Open MPI 4.1.6 crashed on a device pointer",
        ),
        (
            "h200-x2-survey",
            "yes, Open MPI 5.0.11; staging through host memory gives at most 57.6 GB/s: "
            "the copies are direct; Open MPI 4.1.6 crashed on a device pointer",
        ),
        ("h200-x2-exchange", ""),
    ],
)
def test_is_mpi_gpu_aware(file: str, answer: str) -> None:
    """Protects a newcomer's first question, which a table of figures alone does not answer."""
    (run,) = read_runs(str(result(file)))
    assert answered(run) == answer


CRASHED = "Open MPI 4.1.6 crashed on a device pointer in mca_btl_vader_sendi in mca_btl_vader.so"


@pytest.mark.parametrize(
    ("paths", "text", "answer"),
    [
        (("staged", "nccl"), CRASHED, "no; Open MPI 4.1.6 crashed on a device pointer"),
        (("host",), "no GPU (cuda: libcuda.so.1 not found)", ""),
        # Two ranks do not share one GPU unasked.
        (("host",), too_few(2, 1), ""),
    ],
)
def test_one_that_was_not_measured(paths: tuple[str, ...], text: str, answer: str, tmp_path: Path) -> None:
    """Protects machines without GPUs, and with one, where the path is missing for another reason."""
    failure = {"kind": "failure", "run": "r", "path": "aware", "bytes": None, "what": "unavailable"}
    measured = [record for path in paths for record in (made.step(path), *made.curve(path, 2e-5, 4e9))]
    lacks = {**failure, "text": text, "remedy": None}
    assert answered(of_records(tmp_path, made.head(), *measured, lacks, made.end())) == answer


@pytest.mark.parametrize("messages", [True, False])
def test_a_type_that_mpi_does_not_add_says_nothing_of_gpus(tmp_path: Path, messages: bool) -> None:
    """Protects a GPU-aware MPI from being called none, because its library has no sum of fp16."""
    head = made.head()
    head["plan"] = {**head["plan"], "pattern": "allreduce"}
    failure = {"kind": "failure", "run": "r", "path": "aware", "bytes": None, "what": "unavailable"}
    lacks = {**failure, "text": "Open MPI 5.0.11: MPI has no type fp16 to reduce", "remedy": None}
    paths = ["staged:best", "nccl:best", *["aware:best"] * messages]
    entries = [{**one, "pattern": "allreduce"} for path in paths for one in made.curve(path, 2e-5, 4e11)]
    run = of_records(tmp_path, head, *map(made.step, paths), *entries, lacks, made.end())
    assert answered(run).startswith("yes, ") == messages and "no type" not in answered(run)
