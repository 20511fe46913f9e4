"""What a vendor's library lacks is said before ranks are started for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import wirespeed

from wirespeed.host import libraries


def test_what_is_not_there_is_said_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects `wirespeed paths` from calling a path available whose library nobody can open."""
    monkeypatch.setattr(libraries, "known_libraries", dict)
    monkeypatch.setitem(libraries._LOADED, "nccl", {"cuda": ("libno_such.so.2", "pip install it")})
    assert libraries.lacking("nccl", "cuda") == "libno_such.so.2 not found (pip install it)"
    assert libraries.lacking("nccl", "emulated") == "there is none for emulated devices"
    assert libraries.lacking("", "cuda") is None


def test_a_file_that_is_named_is_what_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects WIRESPEED_LIBRARY_NCCL: a file that loads is enough, one that does not is named."""
    broken = tmp_path / "libnccl.so.2"
    broken.write_text("not a library")
    monkeypatch.setattr(libraries, "known_libraries", lambda: {"nccl": broken})
    assert str(broken) in str(libraries.lacking("nccl", "cuda"))
    monkeypatch.setattr(libraries, "known_libraries", lambda: {"nccl": Path("libc.so.6")})
    assert libraries.lacking("nccl", "emulated") is None


def test_the_list_says_so(tmp_path: Path) -> None:
    """Protects the list itself, as a program reads it."""
    nowhere = {"WIRESPEED_LIBRARY_NVSHMEM": "/nowhere/libnvshmem.so"}
    done = wirespeed("paths", "--device", "emulated", "--format", "json", environment=nowhere, cwd=tmp_path)
    rows = {row["path"]: row for row in json.loads(done.out)}
    assert "/nowhere/" in rows["shmem"]["lacks"] and not rows["shmem"]["available"]
    assert rows["ipc-write"]["available"]
    assert rows["ucx"]["lacks"] == rows["ucx-put"]["lacks"] == "UCX knows no memory of emulated devices"


def test_one_gpu_has_no_path_to_another(tmp_path: Path) -> None:
    """Protects the owner of one GPU from a list of paths that is then refused."""
    one = {"WIRESPEED_EMULATED": "count=1"}
    done = wirespeed("paths", "--device", "emulated", "--format", "json", environment=one, cwd=tmp_path)
    rows = {row["path"]: row for row in json.loads(done.out)}
    for path in ("staged", "aware", "aware-d2h", "rma", "ipc-write", "gpu"):
        assert str(rows[path]["lacks"]).startswith("needs two GPUs; --ranks-per-gpu 2 measures two ranks")
    assert all(rows[path]["available"] for path in ("host", "host-pinned", "h2d-pinned", "d2d", "compute"))
