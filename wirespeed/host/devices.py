"""Which device a rank uses: chosen before MPI starts, because a GPU-aware MPI binds to it in MPI_Init."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.core import Core, NativeError

GPU_KINDS = ("cuda", "hip")
CHOICES = ("auto", "cpu", *GPU_KINDS, "emulated")


def resolve(core: Core, wanted: str) -> str:
    """The kind of device to use: 'host' for a machine without GPUs. Raises WirespeedError."""
    if wanted not in CHOICES:
        raise WirespeedError(f"--device {wanted}: there is no such device; there are: {', '.join(CHOICES)}")
    if wanted == "cpu":
        return "host"
    if wanted != "auto":
        try:
            core.device_count(wanted)
        except NativeError as error:
            raise WirespeedError(f"--device {wanted}: {error}", ExitCode.UNAVAILABLE) from None
        return wanted
    return next((kind for kind in GPU_KINDS if count(core, kind) > 0), "host")


def check_allocator(kind: str, allocator: str, context: str) -> None:
    """Raises WirespeedError for an allocator that devices of this kind cannot have."""
    if allocator != "driver" and kind == "host":
        raise WirespeedError(
            f"--allocator {allocator}: it hands out memory of GPUs, and there is none here; leave it out",
            ExitCode.UNAVAILABLE,
        )
    if context != "own":
        return
    if not allocator.startswith(("openmp", "openacc")):
        raise WirespeedError(
            f"--context own: the allocator '{allocator}' needs a context before it allocates; write "
            "--allocator openmp or --allocator openacc"
        )
    if kind != "cuda":
        raise WirespeedError(
            f"--context own: {kind} devices have no contexts; it works with --device cuda",
            ExitCode.UNAVAILABLE,
        )


def count(core: Core, kind: str) -> int:
    """How many there are; 0 when none can be used, whatever the reason."""
    try:
        return core.device_count(kind)
    except NativeError:
        return 0


def pick(kind: str, devices: int, rank: int, local_rank: int, between: tuple[int, ...]) -> int:
    """Index of the device of a rank: --between's, else its local rank modulo the devices.

    Raises WirespeedError when --between names a device that is not there.
    """
    if kind == "host" or devices == 0:
        return 0
    if not between:
        return local_rank % devices
    index = between[rank % len(between)]
    if not 0 <= index < devices:
        raise WirespeedError(
            f"--between {','.join(map(str, between))}: there is no {kind} device {index}; "
            f"there are {devices}, numbered from 0"
        )
    return index


def every_identity(core: Core, kind: str) -> list[dict[str, Any]]:
    """The identities of all devices of a kind, none of which is opened."""
    found: list[dict[str, Any]] = []
    for index in range(count(core, kind)):
        with suppress(NativeError):
            found.append(core.identity_of(kind, index))
    return found
