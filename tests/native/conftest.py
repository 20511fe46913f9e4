"""Where tests of the native core find vendors' headers, compilers and drivers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from support import stand_ins
from support.builds import compiler, program
from support.command import captured
from support.kernels import Workshop

from wirespeed.host.core import Core

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"


def _in_site_packages(pattern: str) -> Path | None:
    """The newest file of that pattern in a pip-installed package; of CUDA 12's own only if named."""
    found = sorted(
        path
        for entry in sys.path
        for path in Path(entry or ".").glob(pattern)
        if "alt" not in path.name and ("cuda_nvrtc" in pattern or "cuda_nvrtc" not in path.parts)
    )
    return found[-1] if found else None


@pytest.fixture(scope="session")
def cxx() -> str:
    return compiler()


@pytest.fixture
def kernels(builds: Path) -> Workshop:
    """Builds programs that run kernels on the CPU."""
    return Workshop(builds)


@pytest.fixture(scope="session")
def cpu_kernels(builds: Path) -> dict[str, int]:
    """Name and number of arguments of every kernel, as the CPU has them."""
    folder = stand_ins.kernels(builds)
    objects = [folder / f"{name}.o" for name in ("kernels", "program_kernels", "tma_model")]
    names = program(builds, "kernel_names", "-I", NATIVE, HERE / "kernel_names.cpp", *objects, "-lpthread")
    said = captured([names], ok=True).stdout
    return {name: int(count) for name, count in map(str.split, said.splitlines())}


@pytest.fixture(scope="session")
def units(cpu_kernels: dict[str, int]) -> dict[str, str]:
    """The text of each unit that is compiled for GPUs, by the first of its kernels."""
    core = Core()
    texts = {core.text(core.lib.ws_kernel_source(name.encode())): name for name in cpu_kernels}
    return {name: text for text, name in texts.items()}


@pytest.fixture(scope="session")
def native() -> Path:
    """The core's source folder."""
    return NATIVE


@pytest.fixture(scope="session")
def nvrtc() -> Path:
    found = _in_site_packages("nvidia/*/lib/libnvrtc.so.*")
    if not found:
        pytest.skip("no libnvrtc (pip install nvidia-cuda-nvrtc)")
    return found


@pytest.fixture(scope="session")
def oldest_nvrtc() -> Path:
    found = _in_site_packages("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    if not found:
        pytest.skip("no NVRTC 12.0 (pip install nvidia-cuda-nvrtc-cu12==12.0.140)")
    return found


@dataclass(frozen=True)
class Driver:
    """A GPU driver to test against: a fake one, or the machine's own."""

    kind: str
    fake: Path | None

    def run(
        self, scenario: str, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a scenario of scenarios.py in a process of its own."""
        variables = {**os.environ, **(environment or {})}
        if self.fake:
            variables["LIBRARY_" + self.kind.upper()] = str(self.fake)
        return captured([sys.executable, str(HERE / "scenarios.py"), scenario, self.kind], env=variables)

    def passes(self, scenario: str, environment: dict[str, str] | None = None) -> str:
        done = self.run(scenario, environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refuses(self, scenario: str, environment: dict[str, str] | None = None) -> str:
        """The error's text; anything but an error of the core (a crash, say) fails the test."""
        done = self.run(scenario, environment)
        assert done.returncode == 3, (done.returncode, done.stderr)
        return done.stderr


BuildFake = Callable[[str], Driver]


@pytest.fixture(scope="session")
def build_fake(cxx: str, builds: Path) -> BuildFake:
    """Builds the fake driver of a vendor, once."""
    return lambda kind: Driver(kind, stand_ins.driver(builds, kind))


@cache
def why_no_device(kind: str) -> str | None:
    found = Driver(kind, None).run("count")
    return found.stderr.strip() if found.returncode else None


@pytest.fixture(params=["cuda", "hip"])
def fake(request: pytest.FixtureRequest, build_fake: BuildFake) -> Driver:
    return build_fake(request.param)


@pytest.fixture(params=["fake cuda", "fake hip", "cuda", "hip"])
def driver(request: pytest.FixtureRequest, build_fake: BuildFake) -> Driver:
    """Each fake driver, and the machine's own where it has one."""
    *faked, kind = request.param.split()
    if faked:
        return build_fake(kind)
    if why := why_no_device(kind):
        pytest.skip(why)
    return Driver(kind, None)
