"""Other tools' outputs: each figure is read as printed, with what it counts; sound ones are not blamed."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import pytest
from support.foreign import INPUTS, curves_of, read_text
from support.golden import Golden

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.foreign.as_results import results_of
from wirespeed.foreign.explain import explain
from wirespeed.foreign.findings.told import table
from wirespeed.foreign.opening import open_figures, read_log
from wirespeed.foreign.question import Question
from wirespeed.foreign.readers import failing
from wirespeed.foreign.shapes import Curve, Log
from wirespeed.report.console.console import make_console
from wirespeed.report.foreign.lines import print_explanation, title
from wirespeed.results.runs import collect
from wirespeed.toml import parse

RESULTS = Path(__file__).parents[2] / "results"
SOUND = sorted([*RESULTS.glob("*/*nccl-tests*.txt"), *INPUTS.glob("healthy/*"), *INPUTS.glob("real/*")])
SOUND.remove(INPUTS / "real" / "ucx_perftest-tag_bw.txt")  # of a busy machine
SOUND_KINDS = re.compile(
    r".*-(healthy|ok)\b|11[bcd]|14e|20|26d|31c|08[ef]|09e|22d|5[0389]\w-(?!osu_bw-HD|ib_write_bw-(?:cuda|R-slow))"
)
"""Names of outputs in kinds/ that are not to be blamed."""


def traits(curve: Curve) -> str:
    return " ".join(
        f"{name}={value}"
        for name, value in vars(curve).items()
        if name != "points" and value not in ("", None)
    )


def told(log: Log) -> str:
    """All that was read: a line for each curve, each point, and each thing beside them."""
    lines = []
    for curve in log.curves:
        lines.append(traits(curve))
        for point in curve.points:
            values = ((name, value) for name, value in point._asdict().items() if value is not None)
            lines.append(" ".join(["  point", *(f"{name}={value}" for name, value in values)]))
    for name, value in vars(log).items():
        if name != "curves" and value:
            rows = value.items() if isinstance(value, dict) else value
            lines += [name, *(f"  {row}" for row in rows)]
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["foreign/posts", "foreign/layouts", "foreign/healthy", "foreign/real"])
def test_every_figure_is_read_to_the_digit(name: str, golden: Golden) -> None:
    folder = Path(name).name
    where = INPUTS if folder == "posts" else INPUTS / folder
    files = sorted(file for file in where.iterdir() if file.is_file() and "-tables-" not in file.name)
    golden(name, {file.name: told(read_text(file.read_text())) for file in files})


def test_each_kind_is_told_as_it_is(golden: Golden) -> None:
    said = {}
    for file in sorted((INPUTS / "kinds").iterdir()):
        explanation = explain(read_text(file.read_text()), Question())
        lines = [f"exit code {explanation.code:d}"]
        lines += dict.fromkeys(title(one.curve) for one in explanation.curves[:3])
        for finding in explanation.findings:
            lines += [f"{finding.severity} {finding.kind}: {finding.seen}", f"  cause: {finding.cause}"]
        said[file.name] = "".join(f"{line}\n" for line in lines)
        if SOUND_KINDS.match(file.name):
            assert explanation.code in (ExitCode.OK, ExitCode.CANNOT_TELL), file.name
    golden("foreign/kinds", said)


@pytest.mark.parametrize("file", SOUND, ids=lambda file: file.stem)
def test_sound_outputs_are_not_blamed(file: Path) -> None:
    assert not explain(read_text(file.read_text()), Question()).findings


def test_each_kind_of_failing_line_has_its_advice() -> None:
    file = Path(failing.__file__).parents[1] / "failing.toml"
    named = {row["kind"] for row in parse(file.read_text())["line"]} | {"nccl-warning"}
    rows = table()["failure"]
    assert [row["kind"] for row in rows] and {row["kind"] for row in rows} == named
    assert {kind for row in rows for kind in row["explains"]} <= named


PLAIN = """# OSU MPI Bandwidth Test v5.3.2
# Size      Bandwidth (MB/s)
1                       0.31
1048576               556.74
"""


@pytest.mark.parametrize(
    "prefix",
    [
        *("[0] ", "0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "2026-11-28T10:00:00.123Z ", "[10:00:00] "),
        *("node01: ", "  ", "> ", "(RayWorker pid=12) ", "[rank0]: ", "\x1b[32m", "run.log:"),
        *("2026-11-28 10:00:00,123 0: ", "[pod/nccl-launcher-x7/mpi] ", "\t[0] "),
        *("x1000c0s0b0n0.hostmgmt 0: ", "nid001234 0: "),
    ],
)
def test_prefixes_and_line_ends_change_nothing(prefix: str) -> None:
    plain = curves_of(PLAIN)
    for end in ("\n", "\r\n", "\x1b[0m\n"):
        assert curves_of("".join(prefix + line + end for line in PLAIN.splitlines())) == plain


@pytest.mark.parametrize(
    "name",
    ["07-ucx", "08-ib", "kinds/07b", "kinds/31a", "kinds/32-", "kinds/24c"],
    ids=lambda name: name[-3:],
)
@pytest.mark.parametrize("prefix", ["node-01.cluster: ", "    "], ids=["host", "blanks"])
def test_no_table_is_lost_behind_a_host_or_blanks(name: str, prefix: str) -> None:
    """Some readers looked anywhere in a line, and so took the lines of a host for those of the whole text."""
    text = next(INPUTS.glob(f"{name}*")).read_text()
    prefixed = "".join(prefix + line for line in text.splitlines(keepends=True))
    assert (
        told(read_text(prefixed)).partition("commands")[0] == told(read_text(text)).partition("commands")[0]
    )


@pytest.mark.parametrize("columns", ["60", "100"])
def test_forty_lines_hold_the_worst_finding(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for file in sorted(INPUTS.rglob("*.*")):
        explanation = explain(read_text(file.read_text()), Question())
        screen = io.StringIO()
        print_explanation(make_console(screen), explanation)
        lines = screen.getvalue().splitlines()
        assert len(lines) <= 40 and max(map(len, lines), default=0) <= int(columns), file.name
        assert any(line.startswith("1. ") for line in lines) == bool(explanation.findings), file.name


@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 50])
def test_nothing_known_is_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "log.txt").write_bytes(content)
    assert main(["explain", str(file)]) == ExitCode.USAGE
    assert capsys.readouterr().err.count("\n") == 1


def test_the_text_is_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No escape of a log reaches the terminal, and no markup is obeyed."""
    (file := tmp_path / "log.txt").write_text(
        "\x1b]0;evil\x07UCX_TLS=\x1b[31m[red]rc[/red]\x1b[2J\nNCCL version 2.20.5\n"
    )
    main(["explain", str(file)])
    out = capsys.readouterr().out
    assert "\x1b" not in out and "[red]rc[/red]" in out


# ---- figures as results ---------------------------------------------------------------------------------

POSTS = sorted(file for file in INPUTS.glob("*") if file.is_file())
FIGURES = [file for file in POSTS if file.name[:2] not in ("07", "11", "17", "24")]


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.name[:2])
def test_every_figure_is_that_of_the_text(file: Path) -> None:
    """The rate of an entry is the printed one, to the digits that are printed."""
    log = read_text(file.read_text())
    points = [point for curve in log.curves for point in curve.points]
    rates = [point.rate or (point.seconds and point.bytes / point.seconds) for point in points]
    printed = {round(rate / 1e9, 2) for rate in rates if rate}
    runs = collect(results_of(log, "log.txt").records)
    entries = [entry for run in runs for entry in run.figures.values()]
    assert entries and {round(entry.rate / 1e9, 2) for entry in entries if entry.amount} <= printed | {0.0}
    times = {point.seconds for point in points} - {None}
    assert not times or {entry.seconds for entry in entries if entry.launches == 1} <= times
    assert all(run.foreign for run in runs)


@pytest.mark.parametrize(
    "words",
    [
        "explain - --link 10GbE",
        "show -",
        "compare post.txt - --spread 1%",
        "check --require site.toml -",
        "plot - -o figure.svg",
        "report - -o page.html",
    ],
    ids=lambda words: words.split()[0],
)
def test_each_command_takes_the_standard_input(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One door for all: what `explain -` reads, they read."""
    if words.startswith("plot"):
        pytest.importorskip("matplotlib")
    content = next(INPUTS.glob("20*")).read_bytes()
    monkeypatch.chdir(tmp_path)
    Path("post.txt").write_bytes(content)
    Path("site.toml").write_text(
        '[[require]]\npattern = "stream"\npath = "osu-mpi/H-H"\n[require.sizes]\n"1M" = "at least 0.5 GB/s"\n'
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(words.split()) == ExitCode.OK, capsys.readouterr().err


def test_a_packed_result_file_that_was_cut_keeps_its_figures(tmp_path: Path) -> None:
    """The door looks at the first lines: what is lost behind them must not cost those."""
    whole = next(file for file in sorted(RESULTS.glob("*.jsonl")) if file.stat().st_size < 200_000)
    packed = gzip.compress(whole.read_bytes())
    (cut := tmp_path / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    found = open_figures(str(cut))
    assert found.runs and any("from here on" in warning for warning in found.warnings)


def test_an_unknown_gpu_is_said_to_be_unknown() -> None:
    """Protects a misspelt --gpu from being passed over."""
    log = read_text((INPUTS / "kinds" / "66b-osu_latency-time-0.txt").read_text())
    missing = {gpu: explain(log, Question(gpu=gpu)).missing for gpu in ("H900", "H100", "Tesla T4")}
    assert [gpu for gpu, lines in missing.items() if any(f"'{gpu}'" in line for line in lines)] == ["H900"]


def test_of_several_files_a_line_is_that_of_its_file(tmp_path: Path) -> None:
    for name, text in {
        "a.txt": "export NCCL_DEBUG=INFO\n" * 9,
        "empty.txt": "",
        "b.txt": "\nBus error\n",
    }.items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("a.txt", "empty.txt", "b.txt")]
    (both,) = explain(read_log(files), Question()).findings
    (alone,) = explain(read_log(files[2:]), Question()).findings
    assert both.seen.startswith(f"line 2 of {files[2]}: ") and alone.seen.startswith("line 2: ")
