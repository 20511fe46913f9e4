"""Devices and MPI libraries of this machine, and the paths that can be measured on it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from wirespeed.host import devices, mpi, visible_devices
from wirespeed.host.core import Core, NativeError, core
from wirespeed.host.libraries import lacking
from wirespeed.job.path_selection import beyond_openmp
from wirespeed.job.plan import Plan
from wirespeed.paths import TransferPath


@dataclass(frozen=True)
class Machine:
    """The machine as the front end sees it; ranks on other hosts may find something else."""

    kind: str
    """host, cuda, hip, openmp or emulated: the device that ranks will use."""
    devices: list[dict[str, Any]]
    mpis: list[mpi.Mpi]
    why_no_gpu: dict[str, str]
    """For each kind of GPU that cannot be used: why."""
    hidden: str | None = None
    """Why a variable shows fewer GPUs than it lists."""
    too_few_gpus: str | None = None
    """Why ranks that want a GPU each cannot be measured."""

    def availability(self, path: TransferPath) -> str | None:
        """None if the path can be tried; else one line: why not, and what would help."""
        # Whatever carries the bytes, ranks are started and meet through MPI.
        if not self.mpis:
            return mpi.why_none()
        if path.needs_device and self.kind == "host":
            reasons = "; ".join(f"{kind}: {why}" for kind, why in self.why_no_gpu.items())
            if not reasons:
                return "no GPU: device cpu was asked for"
            return f"no GPU ({reasons}); on a machine with one, its driver is all that is needed"
        if self.too_few_gpus and path.wants_gpu:
            return self.too_few_gpus
        return beyond_openmp(path) if self.kind == "openmp" else None

    def lacks(self, path: TransferPath) -> str | None:
        """The same, and where a library that the path opens is not on this host: which one."""
        return (
            self.availability(path)
            or lacking(path.traits.library, self.kind)
            or self._lacks_oshmem(path)
            or self._lacks_ucx(path)
        )

    def _lacks_oshmem(self, path: TransferPath) -> str | None:
        """As the transport does, this looks beside the libmpi in use alone."""
        if path.traits.beside_mpi != "oshmem":
            return None
        first = self.mpis[0]
        if first.vendor not in ("openmpi", "spectrum"):
            return f"OpenSHMEM comes with Open MPI, and the MPI in use is {first.title}"
        file = first.library.parent / "liboshmem.so.40"
        return None if file.exists() else f"{first.title} was built without OpenSHMEM: no {file}"

    def _lacks_ucx(self, path: TransferPath) -> str | None:
        """As ranks do, this takes the one that the MPI in use brings, else any other."""
        if path.traits.beside_mpi != "ucx":
            return None
        if path.needs_device and self.kind == "emulated":
            return "UCX knows no memory of emulated devices"
        if any(self.mpis[0].library.parent.glob("*/libucp.so.0")):
            return None
        return lacking("ucx", self.kind)


def _why_not(opened: Core, kind: str) -> str | None:
    try:
        return None if opened.device_count(kind) else "none found"
    except NativeError as error:
        return "; ".join(filter(None, (short(str(error)), devices.hidden(kind, error))))


def short(text: str) -> str:
    """The first of a list of the loader's complaints, without its prose."""
    return re.sub(
        r"^\w+ not found: (\S+): cannot open shared object file.*", r"\1 not found", text.split("; ")[0]
    )


def look(plan: Plan) -> Machine:
    """Looks at the machine. Raises WirespeedError for a device or an MPI asked for that is not there."""
    opened = core()
    kind = devices.resolve(opened, plan.device)
    devices.emulate(opened, kind, plan.ranks, plan.ranks_per_gpu)
    devices.check_allocator(kind, plan.allocator, plan.context)
    why = {} if plan.device != "auto" else {k: w for k in devices.GPU_KINDS if (w := _why_not(opened, k))}
    mpis = [mpi.choose(plan.mpi)] if plan.mpi else mpi.all_mpis()
    hidden = visible_devices.explained(kind, devices.count(opened, kind), os.environ)
    return Machine(kind, _identities(opened, kind, plan.device), mpis, why, hidden)


def _identities(opened: Core, kind: str, word: str) -> list[dict[str, Any]]:
    """Of the devices that ranks will use, in the order of --device if it names some."""
    if kind == "host":
        return []
    names = devices.names_in(word)
    if devices.by_slices(word):
        # This process sees one of them at most.
        return [{"kind": kind, "name": "MIG slice", "id": name} for name in names]
    known = {record["index"]: record for record in devices.every_identity(opened, kind)}
    return [known[index] for index in devices.chosen(opened, kind, names) if index in known]
