"""GPU devices under fake drivers, and under the machine's own where it has one."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.builds import program as builds_program
from support.command import captured
from support.selection import slow_case
from support.stand_ins import kernels
from support.tools import need_compiler

from wirespeed.host.core import core
from wirespeed.host.libraries import known_libraries

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(autouse=True)
def keeping(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled kernels are kept from test to test, but for those that say otherwise."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))


@cache
def why_nothing_compiles(driver: Any) -> str | None:
    tried = driver.run("kernel")
    return tried.stderr.strip() if tried.returncode == 3 and "rtc not found" in tried.stderr else None


@pytest.fixture
def compiles(request: pytest.FixtureRequest) -> None:
    """Skips where no run-time compiler for the driver's GPU is installed."""
    driver = request.getfixturevalue("driver" if "driver" in request.fixturenames else "fake")
    if why := why_nothing_compiles(driver):
        pytest.skip(why)


@pytest.mark.parametrize("scenario", ["copies", "threads", "own_handle", "shared", "bad_handles", "too_much"])
def test_device(driver: Any, scenario: str) -> None:
    driver.passes(scenario)


@pytest.mark.slow(after=1)
@pytest.mark.usefixtures("compiles")
def test_payload(driver: Any) -> None:
    driver.passes("payload")


def test_identity(driver: Any) -> None:
    identity = ast.literal_eval(driver.passes("identity"))
    assert identity["kind"] == driver.kind
    assert identity["architecture"].startswith({"cuda": "sm_", "hip": "gfx"}[driver.kind])
    assert identity["pci"] == identity["pci"].lower()
    assert identity["pci"].count(":") == 2
    assert identity["name"] and identity["id"] and identity["bytes"] >= 1 << 30
    assert identity["driver"].startswith(driver.kind.upper())


def test_a_look_holds_no_gpu(fake: Any) -> None:
    """In exclusive-process mode ranks can open a GPU only if their front end has no context on it."""
    fake.passes("looks")


def test_a_closed_device_is_released(build_fake: Any) -> None:
    build_fake("cuda").passes("closes")


def test_cuda_identity_in_full(build_fake: Any) -> None:
    driver = build_fake("cuda")
    identity = ast.literal_eval(driver.passes("identity"))
    assert identity["id"] == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert identity["pci"] == "0000:a0:00.0"
    assert identity["architecture"] == "sm_90"
    assert identity["driver"].split(",")[0] == "CUDA 13.0"
    slice_of_a_gpu = driver.passes("identity", {"FAKE_GPU_NAME": "NVIDIA A100-SXM4-40GB MIG 1g.5gb"})
    assert ast.literal_eval(slice_of_a_gpu)["id"] == "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f"


def test_hip_identity_in_full(build_fake: Any) -> None:
    driver = build_fake("hip")
    identity = ast.literal_eval(driver.passes("identity"))
    assert identity["id"] == "GPU-0011223344556600"
    assert identity["architecture"] == "gfx90a"
    assert identity["driver"].split(",")[0] == "HIP 6.3.42134"
    without = ast.literal_eval(driver.passes("identity", {"FAKE_GPU_FAIL": "hipDeviceGetUuid=801"}))
    assert without["id"] == without["pci"] == "0000:a0:00.0"


def test_hip_handles_before_rocm_6(build_fake: Any) -> None:
    build_fake("hip").passes("shared", {"FAKE_HIP_ROCM5": "1"})


@pytest.mark.parametrize(
    ("kind", "failing", "text"),
    [
        ("cuda", "cuInit=100", "cuInit(): no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)"),
        ("cuda", "cuInit=999", "cuInit(): made to fail (CUDA_ERROR_FAKE)"),
        ("hip", "hipGetDeviceCount=100", "no ROCm-capable device is detected (hipErrorNoDevice)"),
    ],
)
def test_why_there_is_no_device(build_fake: Any, kind: str, failing: str, text: str) -> None:
    assert text in build_fake(kind).refuses("count", {"FAKE_GPU_FAIL": failing})


def test_no_device(fake: Any) -> None:
    assert "the driver has no device" in fake.refuses("count", {"FAKE_GPU_DEVICES": "0"})


def test_no_driver(fake: Any) -> None:
    """A library that is not the driver is refused for what it lacks; none at all for being absent."""
    wrong = {"LIBRARY_" + fake.kind.upper(): "libm.so.6"}
    assert "no such symbol" in type(fake)(fake.kind, None).refuses("count", wrong)


@pytest.mark.parametrize(
    ("cuda", "hip", "arguments"),
    [
        ("cuMemAlloc_v2", "hipMalloc", "64 bytes"),
        ("cuMemcpy", "hipMemcpy", "64 bytes"),
        ("cuStreamSynchronize", "hipStreamSynchronize", "copy"),
        ("cuCtxSetCurrent", "hipSetDevice", ""),
    ],
)
def test_errors_name_the_call(fake: Any, cuda: str, hip: str, arguments: str) -> None:
    call = {"cuda": cuda, "hip": hip}[fake.kind]
    assert f"{call}({arguments}): made to fail" in fake.refuses("fails", {"FAKE_GPU_FAIL": f"{call}=2"})


@pytest.mark.usefixtures("compiles")
@pytest.mark.parametrize(
    ("cuda", "hip", "arguments"),
    [
        ("cuModuleLoadData", "hipModuleLoadData", "kernels for "),
        ("cuModuleGetFunction", "hipModuleGetFunction", "ws_payload_fill)"),
        ("cuLaunchKernel", "hipModuleLaunchKernel", "528 blocks of 256 threads)"),
    ],
)
def test_errors_of_kernels_name_the_call(fake: Any, cuda: str, hip: str, arguments: str) -> None:
    call = {"cuda": cuda, "hip": hip}[fake.kind]
    assert f"{call}({arguments}" in fake.refuses("fails", {"FAKE_GPU_FAIL": f"{call}=700"})


@pytest.mark.usefixtures("compiles")
def test_compiled_kernels_are_kept(fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "wirespeed"
    fake.passes("kernel")
    (compiled,) = folder.iterdir()
    first = compiled.stat()
    fake.passes("kernel")
    assert compiled.stat().st_ino == first.st_ino, "compiled again"

    compiled.write_bytes(compiled.read_bytes()[:-1])
    fake.passes("kernel")
    assert compiled.stat().st_size == first.st_size, "a torn file was used"
    assert [compiled] == list(folder.iterdir())


@pytest.mark.usefixtures("compiles")
@pytest.mark.parametrize(
    ("fake", "place"),
    [("cuda", "/dev/null"), ("cuda", "relative"), slow_case("hip", "/proc")],
    indirect=["fake"],
)
def test_without_a_place_to_keep_them(fake: Any, place: str) -> None:
    fake.passes("kernel", {"XDG_CACHE_HOME": place, "HOME": place})


SOURCES = {
    "core": ("helpers.cpp",),
    "devices": (
        *("device.cpp", "host/pages.cpp", "gpu/device.cpp", "gpu/shared_allocation.cpp"),
        *("cuda/cupti_copies.cpp", "cuda/cuda.cpp", "cuda/mapped_memory.cpp", "hip/hip.cpp"),
    ),
    "kernels": ("cache.cpp", "compile.cpp", "compile_apart.cpp"),
    "libraries": ("library.cpp", "nvrtc.cpp", "hiprtc.cpp"),
}


@pytest.fixture(scope="module")
def program(native: Path, builds: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    text = tmp_path_factory.mktemp("streams") / "kernels.txt"
    text.write_text(core().text(core().lib.ws_kernel_source(b"ws_payload_fill")))
    sources = [native / room / name for room, names in SOURCES.items() for name in names]
    sanitize = ("-fsanitize=address,undefined", "-fno-sanitize-recover", "-I", native)
    own = Path(__file__).parent / "stream.cpp"
    # What runs kernels on the CPU is sanitized in tests of its own.
    sources += sorted(kernels(builds).glob("*.o"))
    built = builds_program(builds, "stream", *sanitize, own, *sources, "-ldl", "-lpthread")
    return [str(built), str(text)]


@pytest.fixture(autouse=True)
def sanitizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendor's driver leaks and reserves address space as it pleases."""
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0:protect_shadow_gap=0")


def test_streams(driver: Any, program: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [program[0], "work", driver.kind, str(driver.fake or ""), program[1]]
    if nvrtc := known_libraries().get("nvrtc"):
        command.append(str(nvrtc))
        # The sanitizer's dlopen() loses the wheel's own search path.
        monkeypatch.setenv("LD_LIBRARY_PATH", str(nvrtc.parent))
    done = captured(command)
    need_compiler(done.stderr)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("kind", "said", "hertz"),
    [
        ("cuda", "", 1_000_000_000),
        ("hip", "25000", 25_000_000),
        ("hip", "100000", 100_000_000),
        ("hip", "0", 0),
        ("hip", "unknown", 0),
    ],
)
def test_clock_rate(build_fake: Any, program: list[str], kind: str, said: str, hertz: int) -> None:
    """A kernel's stamps become seconds by the device's own rate: MI200's is a quarter of MI300's."""
    command = [program[0], "clock", kind, str(build_fake(kind).fake), program[1]]
    environment = {**os.environ, "FAKE_HIP_CLOCK": said}
    done = captured(command, env=environment, ok=True)
    assert set(map(int, done.stdout.split())) == {hertz}
