"""Words that users met and misunderstood, or that came to them as a stack trace."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

import pytest
from support.command import captured
from support.fleet_files import START, write_run
from support.records import end, entry, head, step

import wirespeed
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.paths import all_paths
from wirespeed.patterns import Shape, find_pattern
from wirespeed.report.export.matplotlib_figure import name_of
from wirespeed.report.page import read_sources
from wirespeed.report.sources import measured
from wirespeed.report.terminal.paths import group
from wirespeed.units import counted, parse_size, parse_sizes

Captured = pytest.CaptureFixture[str]
CTRL_C = """
import os, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Interrupt())
from wirespeed.cli.start import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module",
    ["signal", "wirespeed.interrupts", "contextlib", "wirespeed.errors", "wirespeed.cli.main", "click"],
)
def test_ctrl_c_while_modules_are_imported(module: str) -> None:
    """Protects from a KeyboardInterrupt's traceback in the first 0.15 s."""
    command = [sys.executable, "-c", CTRL_C.replace("{module}", module), "--help"]
    done = captured(command, timeout=60)
    assert done.returncode == ExitCode.INTERRUPTED and done.stderr == ""


@pytest.mark.parametrize("word", ["1GB", "64kb", "8 MB", "2TB", "8:1GB"])
def test_decimal_sizes_are_refused(word: str) -> None:
    """Protects from 1GB = 2^30 bytes beside a table whose GB is 1e9."""
    with pytest.raises(WirespeedError, match=r"B is 1e\d+ bytes in tables; write \d+[KMGT] or \d+[KMGT]iB"):
        parse_sizes(word)


def test_binary_sizes_are_read() -> None:
    assert [parse_size(word) for word in ("8", "8B", "8 b", "1K", "1KiB", "1k", "2gib")] == [
        *(8, 8, 8, 1024, 1024, 1024, 2 << 30)
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["barrier", "--sizes", "8"], "--sizes: barrier fixes the sizes here; leave --sizes out"),
        (["groups", "--sizes", "8", "--count", "1"], "--sizes: --count fixes the sizes here"),
        (["groups", "--sizes", "1:1G", "--count", "1"], "--sizes: --count fixes the sizes here"),
        (["pingpong", "--with", "stream"], "wirespeed: --with 'stream': write PATTERN:PATH"),
        (
            ["fleet", "run", "--hosts", "none.txt"],
            "none.txt: there is no such file, and a fleet has two hosts",
        ),
    ],
)
def test_one_line_names_what_is_wrong(words: list[str], said: str, capsys: Captured) -> None:
    assert main(words) == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_one_neighbour_is_no_plural() -> None:
    shape = Shape(2, {})
    assert find_pattern("halo").at(shape).figure(8).definition.endswith("a rank with 1 neighbour")


def test_results_are_shown_in_a_line(tmp_path: Path) -> None:
    """Protects `print(wirespeed.load(FILE))` from 30,000 characters."""
    write_run(tmp_path / "r.jsonl", START, ["a", "b"], 1e-5, random.Random(1))
    assert repr(wirespeed.load(tmp_path / "r.jsonl")).endswith("r.jsonl: 4 records, 1 run, 0 warnings>")


def test_commands_are_listed_by_use(capsys: Captured) -> None:
    main(["help", "all"])
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert names.index("copy") < names.index("allgather") and names.index("report") < names.index(
        "completion"
    )


def test_a_job_script_is_no_measurement(capsys: Captured) -> None:
    main(["help", "all"])
    measure, *_, share = re.split(r"\n(?=[A-Z]\w+:)", capsys.readouterr().out.partition("Measure:")[2])
    assert " script " not in measure and " script " in share


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("aware-h2d", "aware-d2h"), "Between a host buffer and a GPU's"),
        (
            ("gpu-load", "gpu-load-own", "gpu", "ipc-write"),
            "GPU to GPU, by wirespeed's own copies and kernels",
        ),
        (("compute", "compute-host"), "A program's computation, on one rank (wirespeed jacobi, lbm)"),
        (("aware", "nccl", "rma"), "GPU to GPU, by libraries"),
        (("host", "rma-host"), "Between host buffers"),
        (("d2h-pinned", "h2h"), "Inside one rank (wirespeed copy)"),
    ],
)
def test_paths_are_listed_by_what_they_join(names: tuple[str, ...], title: str) -> None:
    known = {path.name: path for path in all_paths()}
    assert {group(known[name]) for name in names} == {title}


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 samples"), (1, "1 sample"), (2, "2 samples"), (5000, "5,000 samples")]
)
def test_one_is_no_plural(number: int, words: str) -> None:
    assert counted(number, "sample") == words


def test_a_run_of_one_rank_is_named_so(tmp_path: Path) -> None:
    """Protects a figure's labels from "compute (1 ranks)"."""
    lines = []
    for ranks in (1, 2):
        records = [head(("compute",)), step("compute"), entry("compute", 8, 1e-3), end()]
        records[0]["plan"] |= {"ranks": ranks}
        lines += [json.dumps(record | {"run": f"r{ranks}"}) for record in records]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    sources, _ = read_sources([str(tmp_path / "a.jsonl")])
    labels = [name_of((one, "compute"), named=True) for one in measured(sources)]
    assert sorted(labels) == ["compute (1 rank)", "compute (2 ranks)"]
