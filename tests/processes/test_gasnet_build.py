"""What `wirespeed paths --build gasnet` says where it cannot build, and what `wirespeed paths` says then."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import wirespeed
from support.shim import fake_gasnet

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend.machine import Machine
from wirespeed.host import gasnet
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
