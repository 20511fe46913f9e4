"""wirespeed fleet pack: what was measured stays known, whoever packs and reads, wherever the folder lies."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.fleet_files import SLOW, START, slow, write_fleet, write_run

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet import history
from wirespeed.results.reading import read

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write_fleet(tmp_path / "fleet", factor=slow)
    return tmp_path / "fleet"


def pack(folder: Path, *words: str) -> int:
    return main(["fleet", "pack", str(folder), *words])


def as_json(capsys: Captured, folder: Path, *words: object) -> dict[str, Any]:
    capsys.readouterr()
    main(["fleet", "show", str(folder), "--format", "json", *map(str, words)])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {name: value for name, value in found.items() if name != "folder"}


def without_results(folder: Path) -> Path:
    """The packed days alone."""
    for file in folder.glob("*.jsonl"):
        file.unlink()
    return folder


@contextmanager
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The files of the slow node."""

    def refused(file: Path) -> Any:
        if SLOW in file.name:
            raise WirespeedError(f"cannot read {file}: Permission denied", ExitCode.CANNOT_WRITE)
        return read(file)

    with monkeypatch.context() as patch:
        patch.setattr(history, "read", refused)
        yield


def test_a_file_that_cannot_be_read_is_packed_later(
    fleet: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a slow node whose files could not be read for one night: it was never seen again."""
    wanted = as_json(capsys, fleet)
    with unreadable(monkeypatch):
        assert pack(fleet) == ExitCode.OK
    assert "Permission denied; left out" in capsys.readouterr().err
    assert as_json(capsys, fleet) == wanted, "show reads it although others are packed"
    assert pack(fleet) == ExitCode.OK
    days = {file: file.read_bytes() for file in fleet.glob("*.parquet")}
    with unreadable(monkeypatch):
        assert pack(fleet, "--again") == ExitCode.CANNOT_WRITE
    assert "--again would lose its figures; nothing is packed" in capsys.readouterr().err
    assert days == {file: file.read_bytes() for file in fleet.glob("*.parquet")}
    assert as_json(capsys, without_results(fleet)) == wanted


def test_pairs_whose_ranks_waited_are_packed_too(tmp_path: Path, capsys: Captured) -> None:
    """Protects what --contended judges: it was dropped when it was packed."""
    write_fleet(tmp_path, nodes=12, factor=slow)
    for file in tmp_path.glob("*-*-*-*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        lines[2]["cores"] = {"waited": 0.5, "rank": 1}
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_run(
        tmp_path / "x.jsonl", START, ["x", "x"], 1e-3, random.Random(1), more={"cores": {"waited": 1.0}}
    )
    wanted = [as_json(capsys, tmp_path), as_json(capsys, tmp_path, "--contended")]
    assert wanted[0] != wanted[1] and wanted[0]["not_judged"] == ["x"]
    assert pack(tmp_path) == ExitCode.OK
    without_results(tmp_path)
    assert [as_json(capsys, tmp_path), as_json(capsys, tmp_path, "--contended")] == wanted


def test_two_packs_at_once_do_not_share_a_file(fleet: Path, capsys: Captured) -> None:
    lock = os.open(fleet / ".packed.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert pack(fleet) == ExitCode.CANNOT_WRITE
    assert "another 'fleet pack' is at work there; try again later" in capsys.readouterr().err
    assert not list(fleet.glob("*.parquet"))
    os.close(lock)
    assert pack(fleet) == ExitCode.OK
    assert not list(fleet.glob(".packed-*")), "what it wrote beside is gone"


def test_a_file_system_without_locks_is_said(
    fleet: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refused)
    assert pack(fleet) == ExitCode.OK
    assert "no locks; do not pack twice at once" in capsys.readouterr().err


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", ["one=boo", "[ab]{a,b}a*?", "it's; DROP [x] {y}"])
def test_packed_days_give_the_same_answer(name: str, tmp_path: Path, capsys: Captured) -> None:
    """Protects from 'one=boo' as every node's name, from days of other folders that match '[ab]', and from
    paths that are put into queries as text."""
    for other in ("a", "b", "ab"):
        write_fleet(tmp_path / other, nodes=4, days=1)
        pack(tmp_path / other)
    folder = tmp_path / name
    write_fleet(folder, nodes=10, factor=slow, drivers={SLOW: "570.1"})
    wanted = as_json(capsys, folder)
    assert wanted["nodes"] == 10 and wanted["software"]
    assert [one["name"] for one in wanted["findings"]] == [SLOW]
    assert pack(folder) == ExitCode.OK
    assert "into 3 days" in capsys.readouterr().out
    assert as_json(capsys, folder) == wanted
    assert as_json(capsys, without_results(folder).rename(tmp_path / "moved")) == wanted


def test_a_planted_link_is_not_written_through(fleet: Path) -> None:
    """Protects files elsewhere from whoever may write into the folder."""
    mine = fleet.parent / "mine"
    mine.write_text("precious")
    for day in ("2026-03-01", "2026-03-02"):
        (fleet / f"{day}.part").symlink_to(mine)
        (fleet / f"{day}.parquet.part").symlink_to(mine)
    (fleet / ".packed-x").symlink_to(mine.parent)
    assert pack(fleet) == ExitCode.OK
    assert mine.read_text() == "precious"


def test_a_cut_off_copy_of_a_packed_file_loses_nothing(fleet: Path, capsys: Captured) -> None:
    wanted = as_json(capsys, fleet)
    pack(fleet)
    without_results(fleet)
    write_fleet(fleet, factor=slow)
    for file in fleet.glob(f"{SLOW}-?.jsonl"):
        copy = fleet / "copy" / file.name
        copy.parent.mkdir(exist_ok=True)
        copy.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    shutil.move(fleet / "copy", fleet.parent / "copy")
    without_results(fleet)
    shutil.move(fleet.parent / "copy", fleet / "copy")
    assert pack(fleet) == ExitCode.OK
    shutil.rmtree(fleet / "copy")
    assert as_json(capsys, fleet) == wanted


def test_days_of_an_earlier_version_are_read_and_grow(fleet: Path, capsys: Captured) -> None:
    """Their rows have no `waited`, because none of them did; their packed.json lists sizes and times."""
    wanted = as_json(capsys, fleet)
    pack(fleet)
    for file in fleet.glob("*.parquet"):
        query = "COPY (SELECT * EXCLUDE waited FROM read_parquet(?)) TO ? (FORMAT parquet)"
        duckdb.execute(query, [str(file), f"{file}.old"])
        Path(f"{file}.old").replace(file)
    states = {file.name: [file.stat().st_size, file.stat().st_mtime_ns] for file in fleet.glob("*.jsonl")}
    (fleet / "packed.json").write_text(json.dumps(states))
    assert as_json(capsys, fleet) == wanted
    moved = [file for file in fleet.glob("*.jsonl") if SLOW in file.name]
    for file in moved:
        file.rename(fleet.parent / file.name)
    assert pack(fleet) == ExitCode.OK
    assert as_json(capsys, without_results(fleet)) == wanted


def test_figures_that_a_file_has_no_more_leave_the_packed_days(fleet: Path, capsys: Captured) -> None:
    """Protects from a figure that a later record of its run has made impossible."""
    file = fleet / "n01-0.jsonl"
    other = fleet.parent / "other"
    pack(fleet)
    name = json.loads(file.read_text().splitlines()[0])["run"]
    write_run(file, START.replace(day=2), ["n01", "n01"], 1e-3, random.Random(5))
    again = json.loads(file.read_text().splitlines()[0])["run"]
    file.write_text(file.read_text().replace(again, name))
    shutil.copytree(fleet, other, ignore=shutil.ignore_patterns("*.parquet", "packed.json"))
    assert pack(fleet) == ExitCode.OK
    assert as_json(capsys, without_results(fleet)) == as_json(capsys, other)


def test_runs_of_one_file_and_files_of_one_name_stay_apart(tmp_path: Path, capsys: Captured) -> None:
    """Protects runs that measured the same at one moment, even with the same result, from being merged."""
    fleet, other = tmp_path / "fleet", tmp_path / "later.jsonl"
    hosts, rng = ["n1", "n2"], random.Random(1)
    for folder in "ab":
        write_run(fleet / folder / "result.jsonl", START, hosts, 1e-5, rng)
    assert pack(fleet) == ExitCode.OK
    write_run(other, START, hosts, 1e-5, rng)
    grown = fleet / "a" / "result.jsonl"
    grown.write_text(grown.read_text() + other.read_text())
    wanted = as_json(capsys, fleet)
    for words in ((), ("--again",)):
        assert pack(fleet, *words) == ExitCode.OK
        assert as_json(capsys, fleet) == wanted
        (day,) = fleet.glob("*.parquet")
        rows = duckdb.execute("SELECT run, one, other, seconds FROM read_parquet(?)", [str(day)]).fetchall()
        assert len({run for run, *_ in rows}) == len(rows) == 3
        assert {(*nodes, seconds) for _, *nodes, seconds in rows} == {("n1", "n2", 1e-5)}
    moved = fleet / "c" / "result.jsonl"
    moved.parent.mkdir()
    grown.rename(moved)
    assert pack(fleet) == ExitCode.OK
    assert duckdb.execute("SELECT count(*) FROM read_parquet(?)", [str(day)]).fetchone() == (3,)


def test_only_who_holds_the_lock_sweeps(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a pack at work where there are no locks, and folders that no pack has made."""
    left, others = fleet / ".packed-abcd_012", fleet / ".packed-own-notes"
    for folder in (left, others):
        folder.mkdir()
        (folder / "file").write_text("")

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    with monkeypatch.context() as there:
        there.setattr(fcntl, "flock", no_locks)
        pack(fleet)
    assert left.exists() and others.exists()
    pack(fleet)
    assert not left.exists() and others.exists()


def test_another_user_s_folder_is_not_swept(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects what another user packs there, and what a link leads to, from a user who may remove them."""
    other, elsewhere = fleet / ".packed-abcd_012", fleet / "elsewhere"
    link = fleet / ".packed-efgh_345"
    for folder in (other, elsewhere):
        folder.mkdir()
        (folder / "file").write_text("")
    if os.geteuid() == 0:
        os.chown(other, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    link.symlink_to(elsewhere)
    pack(fleet)
    assert (other / "file").exists() and (elsewhere / "file").exists() and link.is_symlink()


def test_a_new_day_and_a_grown_file_count_once(fleet: Path, capsys: Captured) -> None:
    """Protects the truth of result files: what is added after packing is read, and nothing counts twice."""
    pack(fleet)
    capsys.readouterr()
    assert pack(fleet) == ExitCode.OK
    assert capsys.readouterr().out == "all result files are packed already\n"
    plain = fleet.parent / "plain"
    write_fleet(fleet, days=1, first_day=3, factor=slow)
    grown = fleet / "n01-0.jsonl"
    write_run(fleet / "more.jsonl", START, ["n01", "n01"], 2e-3, random.Random(9), driver="580.1")
    grown.write_text(grown.read_text() + (fleet / "more.jsonl").read_text())
    (fleet / "more.jsonl").unlink()
    shutil.copytree(fleet, plain, ignore=shutil.ignore_patterns("*.parquet", "packed.json"))
    wanted = as_json(capsys, plain)
    assert as_json(capsys, fleet) == wanted
    pack(fleet)
    assert "into 2 days" in capsys.readouterr().out
    assert as_json(capsys, fleet) == wanted
    pack(fleet, "--again")
    assert as_json(capsys, fleet) == wanted


def test_without_duckdb_packed_days_say_what_to_install(
    fleet: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(fleet)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["fleet", "show", str(fleet)]) == ExitCode.UNAVAILABLE
    assert "pip install 'wirespeed[fleet]'" in capsys.readouterr().err
