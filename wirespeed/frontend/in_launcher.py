"""Inside somebody else's launcher: this process is a rank, and rank 0 records and prints.

No front end watches here. Paths that may kill the job come last, everything before them is in the file,
and each rank's watchdog speaks for itself. Rank 0 records a figure before the next one is measured, in the
thread that measures: a front end beside it would take turns with it on one CPU.
"""

from __future__ import annotations

import atexit
import os
import time
from dataclasses import replace
from typing import NoReturn

from wirespeed import launchers
from wirespeed.errors import AgreedError, ExitCode, WirespeedError
from wirespeed.frontend.bound import Bound
from wirespeed.frontend.interruption import Interruption, last_words, say
from wirespeed.frontend.launched_mpi import expected_job
from wirespeed.frontend.launched_record import LaunchedRecord, death_of
from wirespeed.frontend.order import resolve_inside, with_room
from wirespeed.frontend.rank_voice import HEARD_S, RankVoice, run_name, tell_rank0
from wirespeed.host import devices
from wirespeed.host.core import NativeError, core
from wirespeed.host.devices import GPU_KINDS
from wirespeed.host.pci_topology import local_cpus
from wirespeed.job import shm_cleanup
from wirespeed.job.messages import Note, RankError, RankPlace
from wirespeed.job.outcome import Outcome
from wirespeed.job.plan import Plan
from wirespeed.job.status_page import EXITING, own_folder
from wirespeed.job.step_spec import startup_limit
from wirespeed.launchers import LaunchedRank
from wirespeed.paths import TransferPath
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.join import device_pointers, rendezvous
from wirespeed.rank.join.apart import from_parent
from wirespeed.rank.join.free_cpus import FreeForThreads
from wirespeed.rank.join.mpi_world import MpiWorld
from wirespeed.rank.join.pinning import pin
from wirespeed.rank.join.socket_world import SocketWorld
from wirespeed.rank.join.startup import ignore, set_environment, show_own_slice
from wirespeed.rank.observe.watchdog import Watchdog
from wirespeed.rank.path.buffers import buffer_room
from wirespeed.rank.path.teams import reduced_teams
from wirespeed.rank.session import RankSession
from wirespeed.rank.world import World
from wirespeed.results.recorder import Observer, StepJob
from wirespeed.results.store import shared_gpus_before

RECORDED_S = 10.0
"""Seconds in which rank 0 has written an error and a launcher has ended the job, however busy the host is."""


def measure_inside(plan: Plan, observe: Observer, bound: Bound | None = None) -> ExitCode:
    """Measures as one rank of the job that a launcher started."""
    place = launchers.launched_rank()
    assert place is not None
    try:
        return _InsideRank(plan, observe, place, bound).measured()
    except (WirespeedError, NativeError) as error:
        code = error.code if isinstance(error, WirespeedError) else ExitCode.FAILED_ENTRY
        if place.rank == 0:
            raise WirespeedError(str(error), code) from None
        _speak(error, code, place)


def _speak(error: WirespeedError | NativeError, code: ExitCode, place: LaunchedRank) -> NoReturn:
    """Ends a rank other than 0, whose error is said once."""
    unjoined = not launchers.joins_mpi(place)
    own = (code == ExitCode.WRONG_WORLD and unjoined) or isinstance(error, devices.NoPlace)
    if own:
        # Rank 0 will not know.
        say(f"rank {place.rank}: {error}")
        time.sleep(2 * HEARD_S)
        os._exit(int(code))
    # Ranks beside rank 0 load the same library.
    beside = place.local_rank == place.rank
    agreed = isinstance(error, AgreedError) or code == ExitCode.USAGE
    agreed |= code == ExitCode.WRONG_WORLD and beside
    # A launcher ends the job at the first rank that fails: rank 0 must have spoken by then.
    told = RankError(place.rank, str(error), int(code))
    heard = tell_rank0(told)
    alone = launchers.first_rank_goes_on(RECORDED_S if heard else 2 * HEARD_S)
    if alone and not heard and tell_rank0(told):
        # It was not listening before.
        heard, alone = True, launchers.first_rank_goes_on(RECORDED_S)
    if alone or (not heard and (unjoined or not agreed)):
        # Rank 0 has not failed, or nobody ends this rank: this one has other variables or options, or a
        # log of its own.
        last_words(f"rank {place.rank} of {place.size}: {error}")
    os._exit(int(code))


class _InsideRank:
    """This process, as a rank of the launcher's job; rank 0 has the record as well."""

    session: RankSession

    def __init__(self, plan: Plan, observe: Observer, place: LaunchedRank, bound: Bound | None) -> None:
        """Resolves the plan as far as one rank can tell. Raises WirespeedError."""
        self._place, self._observe, self._bound = place, observe, bound
        self._began = time.monotonic()
        self._expected, self._variables = expected_job(plan, place)
        set_environment(self._variables)
        self._core = core()
        plan = replace(plan, device=devices.with_slices(plan.device, os.environ))
        show_own_slice(plan, place.rank, max(place.local_rank, 0))
        self._kind = devices.resolve(self._core, plan.device)
        here = devices.every_identity(self._core, self._kind) if self._kind != "host" else ()
        order = resolve_inside(plan, place, self._kind, here)
        self._asked, self._plan, self._paths = plan, order.plan, order.paths
        self._joins_mpi = launchers.joins_mpi(place)

    def measured(self) -> ExitCode:
        """Collective. Everything, from the record's file to its end."""
        problem = self._open_record()
        self._watch()
        try:
            comm = self._join(problem)
            self._agree(comm)
            self._measure(comm)
        except (WirespeedError, NativeError) as error:
            self._watchdog.close()
            self._fail(error)
            raise
        # Rank 0 has still to print: the others wait, unwatched, until it is at its end too.
        self._watchdog.stage("end", 0, 0.0)
        atexit.register(comm.leave)
        atexit.register(self._watchdog.close)
        return (
            self._record.finish(Outcome(), bounded=self._bound is not None) if self._record else ExitCode.OK
        )

    def _open_record(self) -> WirespeedError | None:
        """Rank 0's file. An error is shared with the others once all have met."""
        self._record: LaunchedRecord | None = None
        if self._place.rank == 0:
            try:
                self._record = LaunchedRecord(self._plan, self._paths[0], self._observe)
            except WirespeedError as error:
                return error
        return None

    def _watch(self) -> None:
        """From here on this rank's end, or a signal, is recorded."""
        place = self._place
        if place.local_rank <= 0:
            shm_cleanup.sweep()
        self._voice = RankVoice(own_folder(run_name()), self._record, self._end)
        reports = self._voice.descriptor
        self._watchdog = Watchdog(self._core, run_name(), place.rank, reports=reports, give_up=True)
        self._voice.begin()
        # Ranks that sockets join come within a time of their own, and who has not is named then.
        own_limit = 0.0 if self._joins_mpi else rendezvous.patience(os.environ)
        self._watchdog.stage("start", 0, startup_limit(self._plan) + own_limit)
        self._interruption = Interruption(self._end_at_once)

    def _join(self, problem: WirespeedError | None) -> World:
        """Collective. Raises WirespeedError where these ranks are no job, or rank 0's `problem` on all."""
        place, plan = self._place, self._plan
        here = place.rank, max(place.local_rank, 0)
        self.session = RankSession(self._core, plan, self._kind, self._watchdog, here, self._began)
        if self._joins_mpi and (differs := from_parent()):
            say(f"rank {place.rank} and its launcher: {differs}; an MPI may hang or fail as it starts")
        comm = self.session.connect(self._world)
        self._interruption.catch()
        if refused := comm.share(problem and (str(problem), int(problem.code))):
            # Rank 0 alone knows of its file; the others would wait for it for ever.
            self._leave(comm, AgreedError(refused[0], ExitCode(refused[1])))
        return comm

    def _world(self) -> World:
        if self._joins_mpi:
            return MpiWorld(self._expected)
        pattern = find_pattern(self._plan.pattern).at(Shape(self._place.size, dict(self._plan.options)))
        return SocketWorld(self._place, say=say, teams=reduced_teams(pattern, self._place.rank))

    def _agree(self, comm: World) -> None:
        """Collective. All ranks have rank 0's plan: one that was started with other words would measure
        something else, and wait for ever. Raises AgreedError where nothing can be measured.
        """
        unpinned, free = self._pinned(comm)
        record = self._record
        shares = bool(record) and shared_gpus_before(self._plan)
        mine = replace(self._plan, share_gpus=self._plan.share_gpus or shares)
        plan, paths, lacking = comm.share((mine, *self._without_refused(comm)))
        self.session.plan = self._plan = plan
        ranks = self.session.introduce(record.tell if record else ignore, free=free)
        shared = [self.session.runner.shared_gpu(path) for path in paths]
        if all(shared):
            self._leave(comm, AgreedError(f"{plan.pattern}: {shared[0]}", ExitCode.UNAVAILABLE))
        self._voice.folders.update(comm.everyone(str(self._watchdog.file.parent)))
        room = buffer_room(self._core, comm, self.session.device, comm.neighbours())
        fewer, left_out = (plan, None) if self._asked.sizes else with_room(plan, room)
        if record:
            self._begin(record, fewer, ranks, paths, lacking)
            for text in filter(None, (left_out, unpinned)):
                self._observe(Note(text))

    def _pinned(self, comm: World) -> tuple[str | None, FreeForThreads | None]:
        """Collective. Where no launcher's MPI has placed ranks: why they cannot be pinned, or, once they are,
        where their libraries' threads go."""
        if self._joins_mpi or self._plan.between:
            return None, None
        on_gpu = self._kind != "host"
        pci = str(self._core.identity(self.session.device).get("pci") or "none") if on_gpu else ""
        allowed = os.sched_getaffinity(0)
        unpinned = pin(comm, local_cpus(pci) if on_gpu else (), whole_cores=not on_gpu)
        return unpinned, None if unpinned else FreeForThreads(comm, os.sched_getaffinity(0), allowed)

    def _without_refused(self, comm: World) -> tuple[list[TransferPath], list[tuple[TransferPath, str]]]:
        """The paths, and those that nobody has named and that would end the whole job: an MPI that takes no
        device pointers crashes on one."""
        paths = [*self._paths]
        if self._kind not in GPU_KINDS or not isinstance(comm, MpiWorld):
            return paths, []
        risky = [path for path in paths if path.gpu_aware_mpi and path.name not in self._plan.paths]
        safe = [path for path in paths if path not in risky]
        by = device_pointers.refused_by(comm.library) if risky and safe else None
        why = f"{comm.title} says that it takes no device pointers ({by}: 0); --paths {{}} tries it"
        return (safe, [(path, why.format(path.name)) for path in risky]) if by else (paths, [])

    def _begin(
        self,
        record: LaunchedRecord,
        plan: Plan,
        ranks: tuple[RankPlace, ...],
        paths: list[TransferPath],
        lacking: list[tuple[TransferPath, str]],
    ) -> None:
        """Writes the run's first records. `plan`: with the sizes that have room."""
        found = {rank["device"]["id"]: rank["device"] for rank in ranks if rank["device"]}
        record.begin_run(plan, found.values(), paths)
        for path, why in lacking:
            record.fail(path, Outcome("unavailable", why), None)

    def _measure(self, comm: World) -> None:
        """Collective. Path after path; then, while there is time, what the bound has left out."""
        bound, record = self._bound, self._record
        left = comm.share(bound.left if bound else None)
        end = None if left is None else time.monotonic() + left
        job = StepJob(self._variables, self._place.launcher, self._plan.allocator, {"source": "launcher"})

        def launches() -> list[tuple[str, tuple[int, ...]]]:
            seconds = bound.for_what_had_none() if bound else 0.0
            return comm.share(record.launches(job, seconds) if record else [])

        to_come = launches()
        if to_come:
            self.session.met()
        while to_come:
            self.session.measure(to_come, end, goes_on=True)
            to_come = launches()
        self.session.runner.close(orderly=True)
        if bound:
            over = time.monotonic() - bound.end
            bound.late(over, f"the last path ended {over:.1f} s late")

    def _fail(self, error: WirespeedError | NativeError) -> None:
        """Records what has ended the job."""
        if self._record:
            lost = isinstance(error, WirespeedError) and error.code == ExitCode.CANNOT_WRITE
            gone = self._voice.dead(EXITING if isinstance(error, NativeError) else 0.0)
            what = "death" if isinstance(error, WirespeedError) else "error"
            self._record.finish(None if lost else death_of(gone) if gone else Outcome(what, str(error)))

    def _leave(self, comm: World, error: AgreedError) -> NoReturn:
        """Collective. All ranks have this error, before anything is measured."""
        self._watchdog.close()
        comm.leave()
        raise error

    def _end(self, code: int) -> NoReturn:
        """Ends this process from another thread than its own."""
        self._clean()
        os._exit(code)

    def _clean(self) -> None:
        self._watchdog.close()
        shm_cleanup.remove_own()

    def _end_at_once(self) -> NoReturn:
        """A signal ends the job; the launcher ends this rank by force in a moment."""
        # Launchers also send one once another rank has died.
        gone = self._voice.dead() if self._record else None
        self._clean()
        if self._record:
            self._record.interrupted(gone)
        else:
            # A launcher ends the job at the first rank that ends: rank 0 must have its record by then.
            time.sleep(2.0)
        os._exit(ExitCode.INTERRUPTED)
