"""What a library lacks is said before ranks are started for it; `wirespeed paths --build gasnet`, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import wirespeed
from support.shim import fake_gasnet

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend.machine import Machine
from wirespeed.host import gasnet, libraries
from wirespeed.host.gasnet.build import build
from wirespeed.host.libraries import known_libraries
from wirespeed.host.mpi import Mpi
from wirespeed.paths import find_path


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for built conduits, empty at first."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def _prefix(folder: Path, **variables: str) -> Path:
    """An installation with a conduit that has these variables, and nothing behind them."""
    file = folder / "lib64" / "pkgconfig" / "gasnet-ofi-par.pc"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
    return folder


@pytest.mark.parametrize("name", ["none", "~nobody-of-this-name", "long" * 5000])
def test_no_gasnet_there(name: str, tmp_path: Path) -> None:
    """Protects from a compiler's complaints, or Python's, where the folder is the wrong one."""
    with pytest.raises(
        WirespeedError, match="no GASNet-EX with a conduit smp, udp, ibv, ofi or ucx"
    ) as caught:
        list(build(tmp_path / name))
    assert caught.value.code is ExitCode.USAGE


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the line that says what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(WirespeedError, match="no C compiler found") as caught:
        list(build(_prefix(tmp_path / "prefix")))
    assert caught.value.code is ExitCode.UNAVAILABLE


def test_no_place_for_it(tmp_path: Path, data: Path) -> None:
    """Protects from a stack trace where the user's folder is none."""
    data.write_text("a file")
    with pytest.raises(WirespeedError, match=r"cannot write .*gasnet: Not a directory") as caught:
        list(build(_prefix(tmp_path / "prefix")))
    assert caught.value.code is ExitCode.CANNOT_WRITE


def test_what_the_compiler_says(tmp_path: Path) -> None:
    """Protects the one line of a compiler's many that names the fault; other conduits are built."""
    prefix = _prefix(fake_gasnet(tmp_path / "prefix", "-fPIC"), GASNET_INCLUDES="-I${GASNET_PREFIX}/none")
    made = dict(build(prefix))
    assert made["udp"] == gasnet.file_of("udp") and gasnet.file_of("udp").exists()
    assert "gasnetex.h: No such file" in str(made["ofi"]) or "file not found" in str(made["ofi"])
    assert "\n" not in str(made["ofi"]) and not gasnet.file_of("ofi").exists()


def test_not_position_independent(tmp_path: Path, data: Path) -> None:
    """Protects the command's words and code where GASNet must be configured in another way first."""
    prefix = fake_gasnet(tmp_path / "prefix", "-fno-pic", "-fno-pie")
    done = wirespeed("paths", "--build", "gasnet", "--with", prefix)
    assert done.code == ExitCode.UNAVAILABLE
    assert done.err == (
        "udp: its library was compiled without -fPIC; configure GASNet with --with-cflags=-fPIC "
        "--with-cxxflags=-fPIC and build it again\n"
    )
    assert not list((data / "wirespeed" / "gasnet").iterdir())


@pytest.mark.parametrize("home", ["", "/proc/1/root/closed", "long" * 5000])
def test_a_home_that_is_none(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects every other path from a user's folder that is missing or cannot be looked into."""
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", home)
    assert gasnet.built() == {}


@pytest.mark.parametrize("conduits", [(), ("smp",)])
def test_listed_once_a_conduit_is_built(conduits: tuple[str, ...], tmp_path: Path) -> None:
    """Protects the list of paths, and that ranks without MPI do not take this path by default."""
    gasnet.folder().mkdir(parents=True)
    for name in conduits:
        gasnet.file_of(name).touch()
    known_libraries.cache_clear()
    mpi = Mpi("openmpi", "5.0.11", tmp_path, tmp_path / "mpiexec", tmp_path / "libmpi.so.40", "given")
    lacks = Machine("host", [], [mpi], {}).lacks(find_path("gasnet"))
    known_libraries.cache_clear()
    assert lacks == (None if conduits else gasnet.NONE_BUILT)
    assert not find_path("gasnet").instead_of_mpi


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
