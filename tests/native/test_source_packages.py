"""What packagers start from: a source distribution that a wheel builds from, and `cmake --install`."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.command import captured

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
QUICK = ("-DCMAKE_BUILD_TYPE=Debug", "-G", "Ninja")
IMPORT = "from scikit_build_core.build import build_sdist, build_wheel"
NEEDED = (
    *("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "cmake/install.cmake", "cmake/exports.map"),
    *("native/wirespeed.h", "wirespeed/_version.py", "wirespeed/results/schema.json"),
)
"""Of a source distribution; all of native/ and wirespeed/ is compared with the tree."""


def run(*command: str | Path, **more: str) -> str:
    environment = {**os.environ, **more}
    done = captured(command, env=environment, ok=True)
    return done.stdout


def built(kind: str, folder: Path, into: Path) -> str:
    """What pip asks of the build system; the file's name."""
    call = f"build_{kind}({str(into)!r}, {{'cmake.build-type': 'Debug'}})"
    program = f"import os; os.chdir({str(folder)!r}); {IMPORT}; print({call})"
    return run(sys.executable, "-c", program).splitlines()[-1]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unpacked source distribution, in a folder that has nothing else."""
    if missing := [tool for tool in ("cmake", "ninja", "cc") if not shutil.which(tool)]:
        pytest.skip(f"no {', '.join(missing)} (apt install cmake ninja-build gcc)")
    folder = tmp_path_factory.mktemp("sdist")
    name = built("sdist", ROOT, folder)
    with tarfile.open(folder / name) as packed:
        packed.extractall(folder)
    (unpacked,) = (each for each in folder.iterdir() if each.is_dir())
    return unpacked


def test_a_source_distribution_has_what_a_build_needs(sources: Path) -> None:
    """Protects distributions from a tarball that lacks a file, or has what is no source."""
    has = {str(file.relative_to(sources)) for file in sources.rglob("*") if file.is_file()}
    tracked = set(run("git", "-C", ROOT, "ls-files", "native", "wirespeed", "cmake").split("\n")) - {""}
    assert not {*NEEDED, *tracked} - has
    assert not [name for name in has if name.endswith((".so", ".o", ".pyc"))]
    assert not [name for name in has if name.startswith(("results/", "build/", ".venv/", ".git/"))]


@pytest.mark.timeout(3000)
def test_a_wheel_builds_from_it(sources: Path, tmp_path: Path) -> None:
    """Protects `pip install wirespeed-X.tar.gz`: the library is in the wheel, and answers."""
    name = built("wheel", sources, tmp_path)
    with zipfile.ZipFile(tmp_path / name) as packed:
        packed.extractall(tmp_path / "site")
    (library,) = (tmp_path / "site").rglob("libwirespeed.so")
    assert (library.parent / "wirespeed.h").exists()
    asked = "from wirespeed.host import core; print(core.__file__, core.core().lib.ws_clock_cost())"
    # Python looks into the current folder first, which may be the source tree.
    code = f"import os; os.chdir({str(tmp_path)!r}); {asked}"
    said = run(sys.executable, "-c", code, PYTHONPATH=str(tmp_path / "site"))
    assert said.startswith(str(tmp_path))


PROGRAM = """
#include <stdio.h>
#include <wirespeed.h>
int main(void) { printf("%d\\n", ws_clock_cost() > 0); return 0; }
"""


@pytest.mark.timeout(3000)
def test_cmake_installs_under_a_prefix(sources: Path, tmp_path: Path) -> None:
    """Protects a Debian package: every file below DESTDIR, where the GNU coding standards put it."""
    build, root = tmp_path / "build", tmp_path / "root"
    folders = ("-DCMAKE_INSTALL_PREFIX=/usr", "-DCMAKE_INSTALL_LIBDIR=lib/some-triplet")
    run("cmake", "-S", sources, "-B", build, *QUICK, *folders, f"-DWIRESPEED_PYTHON={sys.executable}")
    run("cmake", "--build", build)
    run("cmake", "--install", build, DESTDIR=str(root))
    found = {str(file.relative_to(root / "usr")) for file in root.rglob("*") if not file.is_dir()}
    version = next(name for name in found if name.startswith("lib/some-triplet/libwirespeed.so.0."))
    assert found == {
        *("lib/some-triplet/libwirespeed.so", "lib/some-triplet/libwirespeed.so.0", version),
        *("include/wirespeed.h",),
        *("share/bash-completion/completions/wirespeed", "share/zsh/site-functions/_wirespeed"),
        "share/fish/vendor_completions.d/wirespeed.fish",
    }
    assert all((root / "usr" / name).stat().st_size for name in found)
    (tmp_path / "program.c").write_text(PROGRAM)
    library = root / "usr/lib/some-triplet"
    words = ("-I", root / "usr/include", "-L", library, "-lwirespeed", "-o", tmp_path / "program")
    run("cc", tmp_path / "program.c", *words)
    assert run(tmp_path / "program", LD_LIBRARY_PATH=str(library)) == "1\n"
