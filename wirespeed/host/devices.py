"""Choice of a rank's device: before MPI starts, because a GPU-aware MPI binds to it in MPI_Init."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host import visible_devices
from wirespeed.host.core import Core, NativeError

GPU_KINDS = ("cuda", "hip")
NAMED = (*GPU_KINDS, "openmp", "emulated")
"""Kinds whose devices --device can name. Only GPU_KINDS are ever chosen unasked."""
CHOICES = ("auto", "cpu", *NAMED)
_WORDS = {1: "one", 2: "two", 3: "three", 4: "four"}
SLICE = "MIG-"
"""Begins the UUID of a MIG slice."""

Identity = Mapping[str, Any]


class NoPlace(WirespeedError):
    """The GPUs of a host have no place for this rank, though perhaps for others."""


def kind_of(word: str) -> str:
    """'cuda' of --device cuda:GPU-3f,cuda:GPU-8a."""
    return word.partition(":")[0]


def names_in(word: str) -> tuple[str, ...]:
    """The GPUs that --device names, by number or UUID; none: all that the driver shows."""
    return tuple(name.partition(":")[2] for name in word.split(",") if ":" in name)


def with_slices(word: str, environment: Mapping[str, str]) -> str:
    """The word of --device with the MIG slices of CUDA_VISIBLE_DEVICES written out.

    CUDA shows a process the first of them alone, so each rank must be given its own.
    """
    listed = visible_devices.entries(environment.get("CUDA_VISIBLE_DEVICES"))
    slices = [name for name in listed if name.startswith(SLICE)]
    if len(slices) < 2 or word not in ("auto", "cuda"):
        return word
    return ",".join(f"cuda:{name}" for name in slices)


def by_slices(word: str) -> bool:
    """Does --device name a MIG slice? Then every rank sees its own device and no other."""
    return any(name.startswith(SLICE) for name in names_in(word))


def resolve(core: Core, wanted: str) -> str:
    """The kind of device to use: 'host' for a machine without GPUs. Raises WirespeedError."""
    kind = kind_of(wanted)
    if kind not in CHOICES:
        raise WirespeedError(f"--device {kind}: there is no such device; there are: {', '.join(CHOICES)}")
    if kind == "cpu":
        return "host"
    if kind != "auto":
        try:
            core.device_count(kind)
        except NativeError as error:
            why = "; ".join(filter(None, (str(error), hidden(kind, error))))
            raise WirespeedError(f"--device {kind}: {why}", ExitCode.UNAVAILABLE) from None
        return kind
    return next((kind for kind in GPU_KINDS if count(core, kind) > 0), "host")


def check_allocator(kind: str, allocator: str, context: str) -> None:
    """Raises WirespeedError for an allocator that devices of this kind cannot have."""
    if allocator != "driver" and kind == "openmp":
        raise WirespeedError(f"--allocator {allocator}: --device openmp allocates by OpenMP; leave it out")
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


def hidden(kind: str, error: NativeError) -> str | None:
    """Why the driver says that it has no device, if a variable hides them; None where there is no driver."""
    return None if error.lack else visible_devices.explained(kind, 0, os.environ)


def count(core: Core, kind: str) -> int:
    """Number of devices; 0 when none can be used, whatever the reason."""
    try:
        return core.device_count(kind)
    except NativeError:
        return 0


def emulate(core: Core, kind: str, ranks: int, per_gpu: int | None) -> None:
    """As many emulated GPUs as `ranks` take, at least 2, where WIRESPEED_EMULATED does not say how many."""
    if kind == "emulated":
        core.lib.ws_emulated_devices(max(2, -(-ranks // (per_gpu or 1))))


def chosen(core: Core, kind: str, names: Sequence[str]) -> list[int]:
    """Indices of the devices that are named, in that order; of all where none is.

    Raises WirespeedError for a name that stands for no device, or for several.
    """
    if kind == "host":
        return [0]
    if not names:
        return list(range(count(core, kind)))
    known = every_identity(core, kind)
    return [_find(kind, name, known) for name in names]


def _find(kind: str, name: str, known: Sequence[Identity]) -> int:
    """A number, a UUID, or enough of its first digits, as in CUDA_VISIBLE_DEVICES."""
    found = [
        int(identity["index"])
        for identity in known
        if name == str(identity["index"]) or str(identity["id"]).lower().startswith(name.lower())
    ]
    if len(found) == 1:
        return found[0]
    there = ", ".join(f"{identity['index']} = {identity['id']}" for identity in known) or "none"
    what = (
        f"this begins the UUIDs of {len(found)} GPUs; write more of it" if found else "there is no such GPU"
    )
    raise WirespeedError(f"--device {kind}:{name}: {what}; there are: {there}", ExitCode.UNAVAILABLE)


def turn(
    devices: int, rank: int, local_rank: int, between: Sequence[int] = (), per_gpu: int | None = None
) -> int:
    """Device of a rank, of so many: --between's; each for `per_gpu` neighbouring ranks; else in turn.

    Raises WirespeedError when there is no such device.
    """
    if between:
        index = between[rank % len(between)]
        if index >= devices:
            raise WirespeedError(
                f"--between {','.join(map(str, between))}: there is no device {index}; "
                f"there are {devices}, numbered from 0"
            )
        return index
    if per_gpu:
        if local_rank // per_gpu >= devices:
            raise NoPlace(too_many(local_rank + 1, devices, per_gpu))
        return local_rank // per_gpu
    return local_rank % max(1, devices)


def too_few(ranks: int, gpus: int) -> str:
    """Why ranks that would share GPUs, though nobody asked for that, are not measured; and how to ask."""
    wanted, there = (_WORDS.get(number, str(number)) for number in (ranks, gpus))
    each = -(-ranks // gpus)
    return f"needs {wanted} GPUs; --ranks-per-gpu {each} measures {wanted} ranks that take turns on {there}"


def too_many(ranks: int, devices: int, per_gpu: int) -> str:
    """Why so many ranks of a host do not go onto its GPUs."""
    gpus = f"{devices} GPU{'' if devices == 1 else 's'}"
    return (
        f"--ranks-per-gpu {per_gpu}: {gpus} hold{'s' if devices == 1 else ''} {devices * per_gpu} ranks of a "
        f"host, and {ranks} or more were to start; start fewer, or put more on each GPU"
    )


def every_identity(core: Core, kind: str) -> list[dict[str, Any]]:
    """The identities of all devices of a kind, none of which is opened."""
    found: list[dict[str, Any]] = []
    for index in range(count(core, kind)):
        with suppress(NativeError):
            found.append(core.identity_of(kind, index))
    return found


def by_board(devices: Iterable[Identity]) -> dict[str, Identity]:
    """Identity of each device -> the device under which its board counts: slices of a GPU share counters.

    Slot, links and their counters belong to the board, which a PCI address names.
    """
    first: dict[str, Identity] = {}
    found = {}
    for device in devices:
        found[str(device["id"])] = first.setdefault(str(device.get("pci") or device["id"]), device)
    return found


def declared_rates(kind: str) -> dict[str, float]:
    """Bytes per second that an emulated GPU declares for its copies, `to_device` and `to_host`."""
    words = os.environ.get("WIRESPEED_EMULATED", "") if kind == "emulated" else ""
    told = dict(word.split("=", 1) for word in words.split(",") if "=" in word)
    return {
        way: float(told[name]) for way, name in (("to_device", "h2d"), ("to_host", "d2h")) if name in told
    }
