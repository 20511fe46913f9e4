"""Names and texts in a fleet's files that others wrote: none becomes a command, or reaches a terminal raw."""

from __future__ import annotations

import json
import os
import random
import shlex
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

import duckdb
import pytest
from support.fleet_files import START, write_fleet, write_run
from support.selection import slow_case

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.names import compress, natural
from wirespeed.fleet.state import begin

Captured = pytest.CaptureFixture[str]
STYLES = ("table", "json", "prometheus", "slurm", "pbs")
NO_NODES = (
    "n1 --export=ALL,LD_PRELOAD=/tmp/e.so",
    "--export=ALL,LD_PRELOAD=/tmp/e.so",
    "n1,--wrap=sh",
    "n1;touch owned",
    "$(touch owned)",
    "`touch owned`",
    "n1\ttouch",
    "n[1-4]",
    "/etc/nodes",
    "*",
    "",
    "n" * 300,
    "\u0663",
)
"""Names that a shell or a scheduler would take for something else."""
TOLD_TWICE = (NO_NODES[0], "$(touch owned)", "")
"""Of slow nodes, too: one of many words, one that would be executed, and none at all."""


def write_silent(folder: Path, *silent: object) -> None:
    (folder / "fleet-run.json").write_text(json.dumps({"figures": {}, "silent": silent}))


def silent(node: object) -> dict[str, object]:
    moment = datetime(2026, 3, 2, tzinfo=timezone.utc).isoformat()
    return {"node": node, "part": "round 1 of 8", "why": "it does not answer", "at": moment}


@pytest.mark.parametrize(
    ("name", "slow"),
    [
        *((name, False) for name in NO_NODES),
        *((name, True) if name in TOLD_TWICE else slow_case(name, True) for name in NO_NODES),
    ],
)
def test_what_is_no_node_s_name_is_never_told_a_scheduler(
    name: str, slow: bool, tmp_path: Path, capsys: Captured
) -> None:
    """Protects `sbatch $(wirespeed fleet show DIR --format slurm)` from the words in DIR's files."""
    nodes, days, rounds = (16, 3, 6) if slow else (4, 1, 1)
    write_fleet(
        tmp_path,
        nodes=nodes,
        days=days,
        rounds=rounds,
        factor=lambda _, one, other: 1.3 if slow and "n05" in (one, other) else 1.0,
    )
    if slow:
        for file in tmp_path.glob("*.jsonl"):
            file.write_text(file.read_text().replace('"host": "n05"', f'"host": {json.dumps(name)}'))
    else:
        write_silent(tmp_path, silent(name), silent("n03"))
    expected = "" if slow else "n03"
    for style, words in {"slurm": [f"--exclude={expected}"], "pbs": ["pbsnodes", "-o", expected]}.items():
        main(["fleet", "show", str(tmp_path), "--format", style])
        said = capsys.readouterr()
        assert shlex.split(said.out) == (words if expected else [])
        assert "is no name of a node; left out" in said.err or (slow and not name)
    main(["fleet", "show", str(tmp_path), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["exclude"] == [expected][: len(expected)]
    main(["fleet", "show", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "sbatch" in line] == (
        [f"leave out: sbatch --exclude={expected}"] if expected else []
    )


DAMAGED = (
    "[]",
    "7",
    "null",
    "{}",
    '{"figures": 5, "silent": []}',
    '{"figures": {}, "silent": 5}',
    '{"figures": {}, "silent": [5, null, {}, {"node": 3}, {"node": "n1", "at": 5}]}',
    '{"figures": {}, "silent": [{"node": "n1", "at": "9999-12-31T23:59:59.999999+00:00"}]}',
    '{"figures": {}, "silent": [{"node": "n1", "at": "0001-01-01T00:00:00+14:00"}]}',
    '{"figures": {}, "silent": [{"node": "n1", "at": "2026-03-03", "why": "\\u001b]0;x\\u0007\\n\\u202e"}]}',
    '{"figures": {}, "silent": [{"node": "n\\u001b[2J", "at": "2026-03-03"}]}',
    '{"figures": {}, "silent": [' + "[" * 100_000,
    "9" * 5_000,
    "\x00",
    "",
    '{"version": 1, "files": 5}',
    '{"files": {"n01-0.jsonl": [1, 2], "x": {"bytes": -1, "changed_ns": "a"}, "y": {"bytes": 1e400}}}',
)


DAMAGED_FILES = [
    # What is meant for the other file comes by turns.
    slow_case(file, content) if other in content else pytest.param(file, content)
    for file, other in (("fleet-run.json", '"files"'), ("packed.json", '"figures"'))
    for content in DAMAGED
]


@pytest.mark.parametrize(("file", "content"), DAMAGED_FILES, ids=range(len(DAMAGED_FILES)))
def test_a_damaged_file_is_read_as_far_as_it_goes(
    file: str, content: str, tmp_path: Path, capsys: Captured
) -> None:
    """Protects from ending with 'unexpected TypeError', and the terminal from escape sequences."""
    write_fleet(tmp_path, nodes=6, days=1, rounds=1)
    (tmp_path / file).write_text(content)
    for words in (*(["--format", style] for style in STYLES), ["--page", str(tmp_path / "p.html")]):
        assert main(["fleet", "show", str(tmp_path), *words]) in (ExitCode.CANNOT_TELL, ExitCode.WORSE)
        said = capsys.readouterr()
        assert "unexpected" not in said.err
        assert all(line.isprintable() for line in (said.out + said.err).splitlines())
    assert main(["fleet", "pack", str(tmp_path)]) == ExitCode.OK
    with suppress(WirespeedError):
        begin(tmp_path, {"seed": 1}, resume=True)


@pytest.mark.parametrize("name", ["fleet-run.json", "packed.json", "x.jsonl", "2026-03-01.parquet"])
def test_a_pipe_of_a_file_s_name_keeps_nobody_waiting(name: str, tmp_path: Path, capsys: Captured) -> None:
    write_fleet(tmp_path, nodes=4, days=1, rounds=1)
    os.mkfifo(tmp_path / name)
    assert main(["fleet", "show", str(tmp_path)]) == ExitCode.CANNOT_TELL
    assert main(["fleet", "pack", str(tmp_path)]) == (
        ExitCode.CANNOT_WRITE if name[0] in "p2" else ExitCode.OK
    )
    assert "unexpected" not in capsys.readouterr().err


ROW = {
    "at": "TIMESTAMP '2026-03-01 03:00:00'",
    "run": "'r'",
    "figure": "'pingpong host 8 B'",
    "one": "'n01'",
    "other": "''",
    "part": "''",
    "seconds": "1e-3::DOUBLE",
    "kernel": "''",
    "driver": "''",
    "mpi": "''",
    "waited": "false",
}


def write_parquet(file: Path, **columns: str) -> None:
    selected = ", ".join(f'{value} AS "{name}"' for name, value in {**ROW, **columns}.items() if value)
    duckdb.execute(f"COPY (SELECT {selected}) TO ? (FORMAT parquet)", [str(file)])


@pytest.mark.parametrize(
    "columns",
    [
        {"seconds": "'1'"},
        {"seconds": ""},
        {"at": "'2026-03-01'"},
        {"one": "7"},
        {"more": "7"},
        {"waited": "'no'"},
    ],
)
def test_a_foreign_parquet_file_is_left_out(
    columns: dict[str, str], tmp_path: Path, capsys: Captured
) -> None:
    """Protects `fleet show` from failing because of one file, and the file from being replaced by pack."""
    write_fleet(tmp_path, nodes=6, days=1, rounds=1)
    main(["fleet", "show", str(tmp_path), "--format", "json"])
    before = capsys.readouterr().out
    write_parquet(tmp_path / "2026-03-01.parquet", **columns)
    (tmp_path / "sales.parquet").write_text("no Parquet")
    content = (tmp_path / "2026-03-01.parquet").read_bytes()
    assert main(["fleet", "show", str(tmp_path), "--format", "json"]) == ExitCode.CANNOT_TELL
    said = capsys.readouterr()
    assert said.out == before
    assert said.err.count("left out") == 2
    assert main(["fleet", "pack", str(tmp_path)]) == ExitCode.CANNOT_WRITE
    assert "2026-03-01.parquet is no packed day of wirespeed: move it" in capsys.readouterr().err
    assert (tmp_path / "2026-03-01.parquet").read_bytes() == content


@pytest.mark.parametrize(
    "columns",
    [
        {"seconds": "'nan'::DOUBLE"},
        {"seconds": "'inf'::DOUBLE"},
        {"seconds": "-1.0::DOUBLE"},
        {"seconds": "NULL::DOUBLE"},
        {"at": "'infinity'::TIMESTAMP"},
        {"at": "NULL::TIMESTAMP"},
        {"at": "TIMESTAMP '2031-03-01 03:00:00'"},
    ],
)
def test_rows_that_cannot_be_do_not_count(columns: dict[str, str], tmp_path: Path, capsys: Captured) -> None:
    write_fleet(tmp_path, nodes=6, days=1, rounds=1)
    main(["fleet", "show", str(tmp_path), "--format", "json"])
    before = capsys.readouterr().out
    write_parquet(tmp_path / "2026-03-01.parquet", one="'other'", **columns)
    assert main(["fleet", "show", str(tmp_path), "--format", "json"]) == ExitCode.CANNOT_TELL
    assert capsys.readouterr().out == before


def test_texts_of_a_packed_day_reach_no_terminal_raw(tmp_path: Path, capsys: Captured) -> None:
    write_fleet(tmp_path, nodes=6, days=1, rounds=1)
    write_parquet(
        tmp_path / "2026-03-01.parquet",
        one="chr(27) || '[2J' || chr(8238)",
        figure="chr(27) || ']0;x' || chr(7)",
        driver="chr(10)",
        waited="NULL::BOOLEAN",
        other="NULL::VARCHAR",
    )
    for style in STYLES:
        assert main(["fleet", "show", str(tmp_path), "--format", style]) == ExitCode.CANNOT_TELL
        assert all(line.isprintable() for line in capsys.readouterr().out.splitlines())


def test_a_date_at_the_end_of_time_is_none(tmp_path: Path) -> None:
    """Protects from an OverflowError where a file has a date that nothing can be added to."""
    write_run(tmp_path / "a.jsonl", START, ["a", "b"], 1e-5, random.Random(1))
    for moment in ("9999-12-31T23:59:59.999999", "0001-01-01T00:00:00+14:00"):
        text = (tmp_path / "a.jsonl").read_text()
        (tmp_path / "b.jsonl").write_text(text.replace(f"{START.isoformat()}+00:00", moment))
        assert main(["fleet", "show", str(tmp_path), "--last", "36500"]) == ExitCode.CANNOT_TELL


def test_numbers_of_any_length_are_names() -> None:
    """Protects sorting and lists from Python's limit for long numbers."""
    long = "n" + "9" * 5_000
    assert sorted([long, "n10", "n2"], key=natural) == ["n2", "n10", long]
    assert compress([long, "n1", "n2"]) == f"{long},n[1-2]"
