"""What will be measured, decided before any process starts: the plan completed, its paths, and the rest."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wirespeed import launchers
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend import machine
from wirespeed.frontend.machine import Machine
from wirespeed.frontend.rank_limit import refuse_too_many
from wirespeed.host import devices, mpi
from wirespeed.host.memory import room_for_buffers
from wirespeed.host.process import allowed_cpus, cores, span
from wirespeed.host.profilers import PROFILERS
from wirespeed.host.temporary import check_temporary_folder
from wirespeed.job import soaking
from wirespeed.job.messages import Facts
from wirespeed.job.path_selection import ALL, by_algorithms, select, suited, unsuited
from wirespeed.job.plan import Plan
from wirespeed.launchers import LaunchedRank
from wirespeed.paths import TransferPath, all_paths
from wirespeed.patterns import Option, Pattern, Shape, find_pattern
from wirespeed.results.environment import numa_nodes
from wirespeed.results.store import shared_gpus_before
from wirespeed.units import format_size

NO_GPUS = "--ranks-per-gpu places ranks on GPUs, and there is none to use here"
MAX_CPU_RANKS = 8
"""Without GPUs and --ranks."""


@dataclass(frozen=True)
class Order:
    """One run, as it will be measured."""

    plan: Plan
    """Completed: its ranks, sizes and options."""
    found: Machine
    paths: tuple[TransferPath, ...]
    """Those that can be tried here, in the order measured."""
    lacking: tuple[tuple[TransferPath, str], ...] = ()
    """The others, and why."""
    left_out: str | None = None
    """Sizes without room, in words."""

    @property
    def launcher(self) -> str:
        """Name of what starts the ranks. Raises WirespeedError where it is not there."""
        chosen = launchers.choose(self.plan.launcher, self.found.mpis[0])
        launchers.check_installed(chosen)
        return chosen.name


def resolve(plan: Plan) -> Order:
    """Every default, every refusal, what fits into memory, and which paths. Raises WirespeedError."""
    refuse_too_many([plan])
    asked = plan
    plan = dataclasses.replace(plan, device=devices.with_slices(plan.device, os.environ))
    if plan.profile:
        PROFILERS[plan.profile].command(plan.profile, Path(), "")
    found = machine.look(plan)
    plan = dataclasses.replace(plan, share_gpus=plan.share_gpus or shared_gpus_before(plan))
    plan = completed(plan, plan.ranks or _usual_ranks(plan, found), found.kind)
    refuse_multiprocessors(plan, found.devices)
    paths = chosen_paths(plan, found.kind)
    found = dataclasses.replace(found, too_few_gpus=too_few_gpus(plan, found))
    if not any(found.availability(path) is None for path in paths):
        path, why = paths[0], found.availability(paths[0])
        text = f"{path.name}: {why}"
        if why == found.too_few_gpus:
            raise _for_lack_of_gpus(found, text)
        raise WirespeedError(text, ExitCode.UNAVAILABLE)
    check_temporary_folder()
    left_out = None
    if not plan.hosts:
        _check_places(plan, found)
        if all(path.needs_device for path in paths):
            _refuse_shared_gpus(plan, found)
        _check_memory(plan, found)
        if not asked.sizes:
            plan, left_out = with_room(plan, _room(plan, found))
    reasons = [(path, _why_not(plan, found, path)) for path in paths]
    # Risky ones come last: all others share their processes.
    able = sorted((path for path, why in reasons if not why), key=lambda path: path.gpu_aware_mpi)
    lacking = tuple((path, why) for path, why in reasons if why)
    return Order(plan, found, tuple(able), lacking, left_out)


def resolve_inside(plan: Plan, place: LaunchedRank, kind: str, found: Iterable[Facts]) -> Order:
    """The same in a job that a user's own launcher has started, as far as this rank can tell.

    `found`: this host's devices. What fits into memory, and who shares a GPU, the ranks find out together.
    """
    _refuse_inside(plan, place)
    if plan.ranks_per_gpu and kind == "host":
        raise WirespeedError(NO_GPUS, ExitCode.UNAVAILABLE)
    devices.check_allocator(kind, plan.allocator, plan.context)
    plan, found = completed(plan, place.size, kind), [*found]
    refuse_multiprocessors(plan, found)
    paths = _paths_inside(plan, kind, place)
    return Order(plan, Machine(kind, found, [], {}), tuple(paths))


def _refuse_inside(plan: Plan, place: LaunchedRank) -> None:
    """Raises WirespeedError for what somebody else's launcher has decided already."""
    if plan.launches > 1:
        raise WirespeedError(
            f"--launches {plan.launches} starts new processes, and a launcher's job cannot; leave it out, "
            "start the job several times, each with its own --out, and keep the files in a folder: "
            "'wirespeed compare' takes each as a launch"
        )
    if plan.profile:
        raise WirespeedError(
            f"--profile {plan.profile} starts ranks, and a launcher has started these: leave it out, and "
            "write the profiler before wirespeed"
        )
    if plan.ranks not in (0, place.size) and find_pattern(plan.pattern).rank_rule.exact is None:
        raise WirespeedError(f"--ranks {plan.ranks}, but the launcher has started {place.size} ranks")


def _paths_inside(plan: Plan, kind: str, place: LaunchedRank) -> list[TransferPath]:
    """The plan's paths, those that may end the whole job last."""
    joins_mpi = launchers.joins_mpi(place)
    chosen = chosen_paths(plan, kind, joins_mpi)
    if not joins_mpi:
        # Wildcards and "all" leave out what cannot be.
        named = [path for path in chosen if path.needs_mpi and path.name in plan.paths]
        chosen = [path for path in chosen if not path.needs_mpi]
        if named or not chosen:
            names = ", ".join(path.name for path in named) or "host"
            raise WirespeedError(
                f"{place.launcher} joins ranks without MPI, which {names} needs; start with mpiexec, or "
                "choose other --paths",
                ExitCode.UNAVAILABLE,
            )
    usable = [path for path in chosen if kind != "host" or not path.needs_device]
    if not usable:
        raise WirespeedError(f"{chosen[0].name}: no GPU on this machine", ExitCode.UNAVAILABLE)
    return sorted(usable, key=lambda path: (path.gpu_aware_mpi, path.tried_first))


def _for_lack_of_gpus(found: Machine, text: str, code: ExitCode = ExitCode.UNAVAILABLE) -> WirespeedError:
    """A refusal, which also says which variable hides GPUs: no run begins that would say it."""
    return WirespeedError("; ".join(filter(None, (text, found.hidden))), code)


def _placed(plan: Plan) -> Pattern:
    """The plan's pattern in its job."""
    return find_pattern(plan.pattern).at(Shape(plan.ranks, dict(plan.options)))


def _why_not(plan: Plan, found: Machine, path: TransferPath) -> str | None:
    return found.availability(path) or unsuited(path, _placed(plan), plan)


def _check_places(plan: Plan, found: Machine) -> None:
    """Raises WirespeedError for a processor that this host does not have."""
    if found.kind == "host":
        allowed_cpus(plan.between)
        if plan.ranks_per_gpu:
            raise WirespeedError(NO_GPUS, ExitCode.UNAVAILABLE)
        return
    there = len(found.devices)
    if plan.ranks_per_gpu and plan.ranks > there * plan.ranks_per_gpu:
        text = devices.too_many(plan.ranks, there, plan.ranks_per_gpu)
        raise _for_lack_of_gpus(found, text, ExitCode.USAGE)
    try:
        for rank in range(len(plan.between)):
            devices.turn(there, rank, rank, plan.between)
    except WirespeedError as error:
        raise _for_lack_of_gpus(found, str(error), error.code) from None


def too_few_gpus(plan: Plan, found: Machine) -> str | None:
    """Why ranks that nobody told to share GPUs cannot have one each; None where ranks find out themselves."""
    asked = plan.share_gpus or plan.ranks_per_gpu or plan.between
    if asked or plan.hosts or launchers.by_batch_system(plan.launcher) or mpi.in_batch_job():
        return None
    there = len(found.devices)
    # A program's ranks are refused with a reason of their own.
    if find_pattern(plan.pattern).kind.program or not 0 < there < plan.ranks:
        return None
    return devices.too_few(plan.ranks, there)


def _refuse_shared_gpus(plan: Plan, found: Machine) -> None:
    """Raises WirespeedError for a program whose ranks would share a GPU, which has no right figure."""
    there = len(found.devices)
    places = (devices.turn(there, n, n, plan.between, plan.ranks_per_gpu) for n in range(plan.ranks))
    if not find_pattern(plan.pattern).kind.program or found.kind not in devices.GPU_KINDS:
        return
    if (own := len(set(places))) < plan.ranks:
        from wirespeed.programs import A_GPU_EACH

        raise _for_lack_of_gpus(
            found,
            f"{plan.pattern} --ranks {plan.ranks}: {A_GPU_EACH}, and here the ranks would share {own}; take "
            f"--ranks {own}; {plan.ranks} GPUs would also show what the transfers between them cost",
        )


def _check_memory(plan: Plan, found: Machine) -> None:
    """Raises WirespeedError for a program's grid that this host's memory cannot hold."""
    pattern = _placed(plan)
    # What goes into a file that has figures already is a failure there, and ends nothing else.
    if not pattern.kind.program or plan.resume:
        return
    room, needed = _room(plan, found), pattern.extent(0, plan.sizes[0])
    if room is not None and needed > room:
        raise WirespeedError(
            f"--size {pattern['size']}: each rank needs two buffers of "
            f"{needed >> 20} MiB, and there is free memory for {room >> 20} MiB; write a smaller size"
        )


def _room(plan: Plan, found: Machine) -> int | None:
    """Bytes for each of a rank's two buffers, where all ranks are on this host."""
    least = min((int(device.get("bytes") or 0) for device in found.devices), default=0)
    return room_for_buffers(plan.ranks, least, emulated=found.kind == "emulated")


def _usual_ranks(plan: Plan, found: Machine) -> int:
    """How many ranks, where --ranks does not say: one for each GPU, if there are any."""
    pattern, options = find_pattern(plan.pattern), dict(plan.options)
    least = 1 if pattern.kind.intra_rank or pattern.kind.program else 2
    gpus = max(least, len(found.devices) * (plan.ranks_per_gpu or 1)) if found.devices else None
    rule = pattern.at(Shape(0, options)).rank_rule
    usual = (rule.per_gpu and gpus) or rule.wanted
    return len(plan.between) or usual or gpus or max(2, min(cores(), MAX_CPU_RANKS))


def completed(plan: Plan, ranks: int, kind: str) -> Plan:
    """The plan for this many ranks on this kind of device, with its pattern's own sizes.

    Raises WirespeedError if the pattern refuses it.
    """
    pattern = find_pattern(plan.pattern)
    options = dict(plan.options)
    for option in pattern.options:
        given = options.get(option.key)
        if option.by_machine != (None, None) and given is None:
            options[option.key] = option.by_machine[kind not in devices.GPU_KINDS]
        if option.content and given:
            options[f"{option.key}_sha256"] = option.content(str(given))
        if not plan.hosts:
            _check_node(option, given)
    pattern = pattern.at(Shape(ranks, options))
    if refusal := pattern.refuse():
        raise WirespeedError(refusal)
    soaking.refuse(plan, pattern)
    rule = pattern.size_rule
    sizes = rule.chosen(plan.sizes, soak=plan.soak is not None)
    if refusal := next(filter(None, map(rule.refuse, sizes)), None):
        raise WirespeedError(refusal)
    return dataclasses.replace(plan, ranks=ranks, sizes=sizes, options=tuple(options.items()))


def refuse_multiprocessors(plan: Plan, found: Iterable[Facts]) -> None:
    """Raises WirespeedError where kernels are to run on more multiprocessors than a GPU has."""
    wanted = dict(plan.options).get("multiprocessors")
    most = min((int(device.get("multiprocessors") or 0) for device in found), default=0)
    if wanted is not None and 0 < most < wanted:
        raise WirespeedError(f"--multiprocessors {wanted}: a GPU here has {most}; write {most} or less")


def _check_node(option: Option, node: int | None) -> None:
    """Raises WirespeedError for a NUMA node that this host does not have."""
    there = numa_nodes()
    if option.each_node and node is not None and there and node not in there:
        raise WirespeedError(
            f"--{option.name} {node}: there is no such NUMA node here; there are: {span(there)}"
        )


def chosen_paths(plan: Plan, kind: str, mpi: bool = True) -> list[TransferPath]:
    """The plan's paths on a machine with this kind of device; at least one. Raises WirespeedError.

    `mpi`: False where no MPI joins the ranks, and other paths are the defaults between host buffers.
    """
    pattern = _placed(plan)
    words = plan.paths or ((ALL,) if pattern.kind.one_sided else ())
    every = select(words, intra_rank=pattern.kind.intra_rank)
    chosen = select(words, kind != "host", pattern.kind.intra_rank) or [*every]
    if not (mpi or plan.paths or pattern.kind.intra_rank or pattern.kind.one_sided):
        chosen += [path for path in all_paths() if path.instead_of_mpi]
    if pattern.kind.needs_device and kind == "host" and not any(path.name in words for path in chosen):
        raise WirespeedError(f"{pattern.name}: {pattern.kind.needs_device}", ExitCode.UNAVAILABLE)
    # Where GPUs' paths alone have the operation, the reason why they cannot be measured is shown.
    chosen = suited(chosen, plan.paths, pattern) or suited(every, plan.paths, pattern)
    if pattern.kind.of_all_ranks:
        return by_algorithms(chosen, pattern)
    if not pattern.kind.program:
        return chosen
    if not plan.paths:
        # A CPU takes minutes for a field that a GPU takes seconds for.
        chosen = [path for path in chosen if path.memory == "device"] or chosen
    return [_alone(chosen)] if plan.ranks == 1 else chosen


def _alone(chosen: list[TransferPath]) -> TransferPath:
    """What one rank measures, which needs no path: its work, where these paths have their data."""
    on_device = any(path.memory == "device" for path in chosen)
    return next(path for path in all_paths() if path.work_alone and (path.memory == "device") == on_device)


def with_room(plan: Plan, room: int | None) -> tuple[Plan, str | None]:
    """The plan without sizes that do not fit, but for the first one, and what was left out.

    `room`: bytes for each of a rank's two buffers; None: nobody knows.
    """
    pattern = find_pattern(plan.pattern).at(Shape(plan.ranks, dict(plan.options), memory=room))
    if room is None or pattern.size_rule.fixed is not None:
        return plan, None

    def fits(size: int) -> bool:
        return max(pattern.extent(rank, size) for rank in range(plan.ranks)) <= room

    sizes = tuple(filter(fits, plan.sizes)) or plan.sizes[:1]
    if sizes == plan.sizes:
        return plan, None
    text = (
        f"only sizes up to {format_size(sizes[-1])}: larger ones need more memory than is free for "
        f"{plan.ranks} ranks; --sizes measures those that it names"
    )
    return dataclasses.replace(plan, sizes=sizes), text
