"""GPU devices under fake drivers, and under the machine's own where it has one."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.selection import slow_case

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
