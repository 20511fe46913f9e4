"""What is removed is this user's, however deep; what another user has planted stays, and costs no command."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.fake_run import FakeRun
from support.public import public_folder
from support.results import entry, run
from unit.test_private_folder import as_stranger, needs_root

from wirespeed import inputs
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.host.removal import remove_folder, try_to_remove_folder
from wirespeed.host.temporary import make_folder, temporary_folder

DEEP = 1500
"""Folders within each other: more than Python calls functions within each other, or a process opens files."""


def nest(place: Path, file: str = "") -> None:
    """Makes the folder, DEEP folders within each other in it, and perhaps a file in the deepest one."""
    place.mkdir(parents=True)
    here = os.open(place, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    if file:
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder, where everybody may write."""
    with public_folder() as place:
        monkeypatch.setenv("TMPDIR", str(place))
        monkeypatch.setattr("tempfile.tempdir", None)
        yield place
        for left in place.iterdir():
            as_stranger_or_own(lambda left=left: try_to_remove_folder(left))  # type: ignore[misc]
            try_to_remove_folder(left)


def as_stranger_or_own(does: Callable[[], object]) -> None:
    as_stranger(does) if os.geteuid() == 0 else does()


def foretellable() -> str:
    """The name of a folder that a killed process left, without its last letters."""
    name = Path(make_folder("days")).name
    return name.replace(f"-{os.getpid()}-", "-4194305-")


class TestOwn:
    def test_a_folder_goes_however_deep_it_is(self, tmp_path: Path) -> None:
        nest(tmp_path / "a", "file")
        (tmp_path / "a/b/c").mkdir(parents=True)
        (tmp_path / "a/b/c/file").touch()
        descriptors = len([*Path("/proc/self/fd").iterdir()])
        remove_folder(tmp_path / "a")
        assert not (tmp_path / "a").exists() and len([*Path("/proc/self/fd").iterdir()]) == descriptors

    def test_no_link_is_followed(self, tmp_path: Path) -> None:
        """Protects what a link leads to, on top and below."""
        (tmp_path / "kept").mkdir()
        (tmp_path / "kept/file").touch()
        (tmp_path / "a/b").mkdir(parents=True)
        (tmp_path / "a/link").symlink_to(tmp_path / "kept")
        (tmp_path / "a/b/link").symlink_to(tmp_path / "kept")
        (tmp_path / "top").symlink_to(tmp_path / "kept")
        remove_folder(tmp_path / "a")
        with pytest.raises(OSError):
            remove_folder(tmp_path / "top")
        assert (tmp_path / "kept/file").exists() and not (tmp_path / "a").exists()

    def test_what_a_killed_process_left_goes(self, public: Path) -> None:
        left = public / foretellable()
        nest(left)
        with temporary_folder("days") as folder:
            assert folder.is_dir() and not left.exists()
        assert not folder.exists()


@needs_root
class TestAnothersFolder:
    def test_is_kept_and_costs_nothing(self, public: Path) -> None:
        """Protects both: root's command, and the other user's folder of a name that can be foreseen."""
        left = public / foretellable()
        as_stranger(lambda: nest(left, "file"))
        with temporary_folder("days") as folder:
            assert folder.is_dir()
        assert left.is_dir() and (left / "d/d").is_dir()

    def test_within_an_own_one_is_kept(self, tmp_path: Path) -> None:
        """Protects what another user has put into a folder that is open to all."""
        (tmp_path / "a/b").mkdir(parents=True)
        (tmp_path / "a/b/file").touch()
        os.chown(tmp_path / "a/b", 65534, 65534)
        with pytest.raises(PermissionError):
            remove_folder(tmp_path / "a")
        assert (tmp_path / "a/b/file").exists()

    @pytest.mark.parametrize("name", ["watch", "fleet", "background", "doctor", "home", "days"])
    def test_costs_no_command(self, name: str, public: Path) -> None:
        left = public / foretellable().replace("-days-", f"-{name}-")
        as_stranger(lambda: nest(left))
        make_folder(name)
        assert left.is_dir()


def test_a_fleet_s_folder_may_be_as_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects from whoever may write below it."""
    monkeypatch.chdir(tmp_path)
    nest(Path("fleet/a"), "r.jsonl")
    Path("fleet/r.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in (run(), entry())))
    assert Path("fleet/r.jsonl") in inputs.files_below(Path("fleet"))
    for command in ("show", "pack"):
        assert main(["fleet", command, "fleet"]) in (ExitCode.OK, *(ExitCode(code) for code in (3, 4, 6, 8)))
        assert "unexpected" not in capsys.readouterr().err
    remove_folder("fleet")
