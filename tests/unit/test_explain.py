"""`wirespeed explain`: what must be said of each post, and that healthy outputs are not blamed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.foreign import INPUTS, read_text

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.foreign.explain import explain as explained
from wirespeed.foreign.question import Question
from wirespeed.report.console.console import make_console
from wirespeed.report.foreign.lines import print_explanation

MOST_LINES = 40
SAID: dict[str, tuple[str, ...]] = {
    "01": (
        *("all-reduce, 24 ranks", "NET/IBext_v8/7/GDRDMA", "64 MiB takes 24.4 ms, 32 MiB 2.18 ms"),
        *("11.2 times as long for 2 times the bytes; 29.5 -> 5.27 GB/s", "5.58 times apart"),
        "a figure of a moment",
    ),
    "03": (
        *("host to device", "64 B to 1 KiB take up to 20.3 times as long as 2 KiB (103 us", "0.1 us a byte"),
        "if this MPI uses UCX",
    ),
    "05": ("device to device", "6.42 -> 1.48 GB/s", "rendezvous", "largest message 15 %", "1e6"),
    "07": ("5.55 to 5.84 and 22.4 to 22.6 GB/s", "is a mean of both and no speed", "MB = 2^20"),
    "08": ("171.5 Gb/s", "132.2 Gb/s", "174.6 Gb/s and 170.0 Gb/s", "stalls; its way is not slower"),
    "09": (
        *(
            "direct (10.1 to 12.5 GB/s)",
            "through the host (20.0 to 22.4 GB/s), for every pair",
            "each with itself",
        ),
        "keep peer access off",
    ),
    "11": (
        "2 islands of GPUs (GPU0 to GPU3, GPU4 to GPU7)",
        "PIX",
        "no NVLink",
        "NIC0 is nearest to GPU0 to",
        "share an uplink, which their bytes pass twice, and may be slower than SYS pairs",
    ),
    "14": ("both directions", "17.6 GB/s at 512 KiB", "8.11", "2.73", "1.53 times as", "with 10 repetitions"),
    "17": (
        *("each rank sees one GPU, not the same", "--gpus-per-task=1", "may well be GPU-aware"),
        *(
            "--gpus=4 --gpu-bind=none",
            "by the local rank",
            "MPICH_GPU_IPC_ENABLED=0",
            "stages through the host",
        ),
    ),
    "20": ("best 45 % of the wire at 1 MiB",),
    "22": (
        "impossible",
        "471802 GB/s is beyond every memory and wire",
        "no figure of this table can be used",
    ),
    "24": ("1.14 ms to 1.88 ms for a few bytes", "at most some 40 B", "1 to 5 us of a NIC"),
    "26": (
        "37748744 B",
        "wrong data",
        "its figure is none",
        "1.81 times as long for a difference of 8 bytes",
    ),
}
LINKS = {"05": "NDR200", "20": "10GbE"}
CODES = {"11": ExitCode.OK, "20": ExitCode.OK, "22": ExitCode.IMPOSSIBLE}


def explain(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, list[str]]:
    """(exit code, what was printed as one line, its lines)."""
    code = main(["explain", *words])
    text = capsys.readouterr().out
    return code, " ".join(text.split()), text.splitlines()


@pytest.mark.parametrize("number", sorted(SAID))
def test_what_must_be_said_of_a_post(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = next(INPUTS.glob(f"{number}*"))
    link = ["--link", LINKS[number]] if number in LINKS else []
    code, said, lines = explain(capsys, str(file), *link)
    assert [part for part in SAID[number] if part not in said] == []
    assert code == CODES.get(number, ExitCode.WORSE) and len(lines) <= MOST_LINES


def test_without_a_wire_it_asks_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, said, _ = explain(capsys, str(next(INPUTS.glob("20*"))))
    assert code == ExitCode.CANNOT_TELL and "findings: none" in said
    assert "which wire is it? The text names none: --link HDR" in said


def test_a_healthy_output_is_not_blamed(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(__file__).parents[2] / "results" / "eight" / "h200-x8-nccl-tests.txt"
    code, said, lines = explain(capsys, str(file))
    assert code == ExitCode.OK and "findings: none" in said and len(lines) <= MOST_LINES
    assert "360 GB/s at 1 GiB: usual for H200 over NVLink" in said


def test_the_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = next(INPUTS.glob("20*")).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, said, _ = explain(capsys, "-", "--link", "10GbE")
    assert code == ExitCode.OK and "45 %" in said


@pytest.mark.parametrize("content", [b"", b"hello\nworld\n", bytes(range(256)) * 50])
def test_nothing_known_is_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(content)
    assert main(["explain", str(file)]) == ExitCode.USAGE
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["explain", str(tmp_path / "missing")]) == ExitCode.USAGE
    assert "cannot read" in capsys.readouterr().err


def test_a_result_file_of_ours_is_named_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(__file__).parents[2] / "results" / "h200-x2-pingpong.jsonl"
    assert main(["explain", str(file)]) == ExitCode.USAGE
    assert "is a result file of wirespeed: 'wirespeed show'" in capsys.readouterr().err


def test_an_unknown_link_names_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "x", "--link", "foo"]) == ExitCode.USAGE
    assert "NDR200, 10GbE" in capsys.readouterr().err


def test_the_text_is_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No escape of a log reaches the terminal, and no markup is obeyed."""
    file = tmp_path / "log.txt"
    file.write_text("\x1b]0;evil\x07UCX_TLS=\x1b[31m[red]rc[/red]\x1b[2J\nNCCL version 2.20.5\n")
    main(["explain", str(file)])
    out = capsys.readouterr().out
    assert "\x1b" not in out and "[red]rc[/red]" in out


TABLE = """# OSU MPI Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
262144              12000.00
524288              12100.00
1048576             12150.00
4194304             {}
"""


def test_findings_stand_below_many_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.txt"
    sound = TABLE.format("12200.00")
    file.write_text(sound * 70 + TABLE.format("2000.00") + sound * 29)
    code, said, lines = explain(capsys, str(file))
    assert code == ExitCode.WORSE and len(lines) <= MOST_LINES
    assert "100 tables: best 12.2 GB/s, largest message 2.00 to 12.2" in said
    assert (
        "1. Bandwidth Test, line 423: falls from" in said
        or "1. Bandwidth Test, line 423: 4 MiB takes" in said
    )
    file.write_text(TABLE.format("2000.00") * 50)
    code, said, lines = explain(capsys, str(file))
    assert "; 49 more tables like it" in said and len(lines) <= MOST_LINES


def test_digits_that_make_no_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """int() does not take each letter that is a digit for Python; a size of 300 digits fills the screen."""
    file = tmp_path / "log.txt"
    head = "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]"
    rows = [f"{size} 10 1.00 1.00 1.00" for size in ("4096", "9" * 300)]
    file.write_text("\n".join([TABLE, "² 12000.00", "# Benchmarking Allreduce", head, *rows, ""]))
    code, said, lines = explain(capsys, str(file))
    assert code == ExitCode.CANNOT_TELL and len(lines) <= MOST_LINES
    assert "99999" not in said.partition("not understood")[0]


@pytest.mark.parametrize("columns", ["60", "100"])
def test_forty_lines_hold_the_worst_finding(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for file in sorted(INPUTS.rglob("*.*")):
        explanation = explained(read_text(file.read_text()), Question())
        screen = io.StringIO()
        print_explanation(make_console(screen), explanation)
        lines = screen.getvalue().splitlines()
        assert len(lines) <= MOST_LINES and max(map(len, lines)) <= int(columns), file.name
        assert any(line.startswith("1. ") for line in lines) == bool(explanation.findings), file.name


def test_tabs_of_a_failing_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tab is as wide as the screen makes it, and cut the line's end off."""
    file = tmp_path / "log.txt"
    file.write_text("The\tcall\tto\tcuIpcOpenMemHandle\tfailed.\tThis\tis\tan\tunrecoverable\terror\n" * 2)
    _, said, _ = explain(capsys, str(file))
    assert "The call to cuIpcOpenMemHandle failed. This is an unrecoverable error (2 such lines)" in said
