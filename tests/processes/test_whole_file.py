"""Files made from results: whole or not at all, and one habit for every command that writes one."""

from __future__ import annotations

import errno
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.command import captured
from support.fake_run import one_line
from support.fleet_files import write_fleet
from support.results import entry, run, step

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.state import FleetRun, FleetState
from wirespeed.results.store import Store
from wirespeed.results.whole_file import refuse_unwritable, write_whole


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "results.jsonl"
    file.write_text(
        "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in (run(), step(), entry()))
    )
    return file


COMMANDS = {
    "script": ["script", "ring", "--system", "summit", "-o", "job.sh"],
    "learn": ["check", "--learn", "results.jsonl", "--spread", "1%", "-o", "site.toml"],
    "page": ["report", "results.jsonl", "-o", "a.html"],
    "markdown": ["report", "results.jsonl", "-o", "a.md"],
    "plot": ["plot", "results.jsonl", "-o", "a.svg"],
}


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest, results: Path) -> list[str]:
    if request.param == "plot":
        pytest.importorskip("matplotlib", reason="pip install matplotlib")
    return COMMANDS[request.param]


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every file ends at its 512th byte, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_nothing_and_the_retry_works(
    command: list[str], tmp_path: Path, no_room: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == ExitCode.CANNOT_WRITE
    assert one_line(capsys.readouterr().err).startswith(
        f"wirespeed: cannot write {command[-1]}: File too large"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["results.jsonl"]
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit[1], limit[1]))
    assert main(command) == ExitCode.OK
    assert (tmp_path / command[-1]).stat().st_size > 512


def test_every_command_replaces_what_it_wrote_before(command: list[str], tmp_path: Path) -> None:
    """One habit: files made from results are replaced, so a repeated command line does the same again."""
    file = tmp_path / command[-1]
    file.write_text("of last week")
    assert main(command) == main(command) == ExitCode.OK
    assert "of last week" not in file.read_text()
    assert {one.name for one in tmp_path.iterdir()} == {"results.jsonl", command[-1]}


def test_no_command_replaces_a_result_file(
    command: list[str], tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / command[-1]
    file.write_bytes(results.read_bytes())
    assert main(command) == ExitCode.CANNOT_WRITE
    line = one_line(capsys.readouterr().err)
    assert line == f"wirespeed: {command[-1]} is a result file, which is never overwritten: name another file"
    assert file.read_bytes() == results.read_bytes()


def test_standard_output_has_no_name(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command[:-1], "-"]) == ExitCode.USAGE
    assert "'./-' means one that is called so" in one_line(capsys.readouterr().err)
    assert main(["pingpong", "--out", "-"]) == ExitCode.USAGE
    assert [file.name for file in tmp_path.iterdir()] == ["results.jsonl"]


def test_an_earlier_file_survives_a_full_disk(tmp_path: Path, no_room: None) -> None:
    file = tmp_path / "a"
    file.write_text("earlier")
    with pytest.raises(WirespeedError, match=os.strerror(errno.EFBIG)):
        write_whole(file, "x" * 1000)
    assert file.read_text() == "earlier" and len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes another user's link of this name to a file of this user's, which is the result."""

    def plant(name: str, target: str = "precious") -> Path:
        victim, link = tmp_path / target, tmp_path / name
        link.symlink_to(victim)
        if os.geteuid() == 0:
            os.chown(link, 65534, 65534, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        return victim

    return plant


@pytest.mark.parametrize("there", [True, False])
def test_no_command_writes_through_another_user_s_link(
    command: list[str],
    there: bool,
    planted: Callable[..., Path],
    results: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Protects the user's files from whoever may write into the current folder and knows usual names."""
    victim = planted(command[-1])
    if there:
        victim.write_text("a key")
    assert main(command) == ExitCode.CANNOT_WRITE
    assert one_line(capsys.readouterr().err) == (
        f"wirespeed: cannot write {command[-1]}: another user has made a link of this name"
    )
    assert victim.exists() == there and (not there or victim.read_text() == "a key")


def test_another_user_s_link_is_refused_before_anything_is_measured(
    planted: Callable[..., Path], results: Path, tmp_path: Path
) -> None:
    """Protects the user's files from --picture, --timeline and --resume, and a run from a late refusal."""
    planted("m.png")
    (tmp_path / "own.png").symlink_to("m.png")
    for name in ("m.png", "own.png"):
        with pytest.raises(WirespeedError, match="another user has made a link of this name"):
            refuse_unwritable(str(tmp_path / name))
    whole = results.read_bytes()
    planted("linked.jsonl", results.name)
    with pytest.raises(WirespeedError, match="another user has made a link of this name"):
        Store(tmp_path / "linked.jsonl", resume=True)
    assert results.read_bytes() == whole


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", ["packed.json", "fleet-run.json"])
def test_a_link_at_a_name_of_ours_is_replaced(
    name: str, there: bool, planted: Callable[..., Path], tmp_path: Path
) -> None:
    """Protects the user's files from links at names that everybody knows, in a folder of several users."""
    victim = planted(name)
    if there:
        victim.write_text("a key")
        victim.chmod(0o600)
    if name == "packed.json":
        write_fleet(tmp_path, nodes=4, days=1)
        assert main(["fleet", "pack", str(tmp_path)]) == ExitCode.OK
    else:
        FleetState(tmp_path, FleetRun({"sizes": [8]})).write()
    assert victim.exists() == there and (not there or victim.read_text() == "a key")
    assert not (tmp_path / name).is_symlink() and json.loads((tmp_path / name).read_text())


def test_links_permissions_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    file, link = tmp_path / "job.sh", tmp_path / "link"
    file.write_text("earlier")
    file.chmod(0o750)
    link.symlink_to(file)
    write_whole(link, "new")
    assert link.is_symlink() and file.read_text() == "new" and file.stat().st_mode & 0o777 == 0o750
    command = [sys.executable, "-m", "wirespeed", "script", "ring", "--system", "summit", "-o", "/dev/stdout"]
    piped = captured(command, cwd=tmp_path, ok=True)
    assert piped.stdout.startswith("#!/bin/bash") and Path("/dev/stdout").exists()
    with pytest.raises(WirespeedError, match=os.strerror(errno.ENOSPC)):
        write_whole("/dev/full", "new")
