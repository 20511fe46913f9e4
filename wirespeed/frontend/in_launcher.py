"""Inside somebody else's launcher: this process is a rank, and rank 0 records and prints.

No front end watches here. Paths that may kill the job come last, everything before them is in the file,
and each rank's watchdog speaks for itself.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from wirespeed import launchers
from wirespeed.errors import AgreedError, ExitCode, WirespeedError
from wirespeed.frontend.bound import Bound
from wirespeed.frontend.interruption import Interruption, last_words, say
from wirespeed.frontend.order import resolve_inside, with_room
from wirespeed.frontend.rank_messages import MessageReader, received
from wirespeed.frontend.recording import RunRecorder
from wirespeed.host import devices, mpi, private_folder
from wirespeed.host.core import NativeError, core
from wirespeed.host.pci_topology import local_cpus
from wirespeed.host.process import ancestors
from wirespeed.job import shm_cleanup
from wirespeed.job.cause import Cause, CauseKind
from wirespeed.job.message_lines import send
from wirespeed.job.messages import Facts, Message, Note, RankError, RankPlace, RankReport
from wirespeed.job.outcome import Outcome, place_of, stack, with_call
from wirespeed.job.plan import Plan
from wirespeed.job.status_page import EXITING, RankState, alive_file, own_folder, read_pages
from wirespeed.job.step_spec import ExpectedJob, startup_limit
from wirespeed.launchers import LaunchedRank
from wirespeed.paths import TransferPath
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.join import rendezvous
from wirespeed.rank.join.apart import from_parent
from wirespeed.rank.join.free_cpus import FreeForThreads
from wirespeed.rank.join.mpi_world import MpiWorld
from wirespeed.rank.join.pinning import pin
from wirespeed.rank.join.socket_world import SocketWorld
from wirespeed.rank.join.startup import ignore, set_environment, show_own_slice
from wirespeed.rank.observe.watchdog import Watchdog
from wirespeed.rank.world import World
from wirespeed.results.recorder import Observer, StepJob
from wirespeed.results.store import shared_gpus_before

_DAEMONS = dict.fromkeys(("prterun", "prted", "orterun", "orted", "mpirun"), "openmpi")
_DAEMONS["hydra_pmi_proxy"] = "hydra"
HEARD_S = 1.0
"""Seconds in which rank 0 has ended by an error that all ranks have."""
RECORDED_S = 10.0
"""Seconds in which rank 0 has written an error and a launcher has ended the job, however busy the host is."""
_LAUNCHERS = ("mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "orterun", "prterun")


def measure_inside(plan: Plan, observe: Observer, bound: Bound | None = None) -> ExitCode:
    """Measures as one rank of the job that a launcher started."""
    place = launchers.launched_rank()
    assert place is not None
    try:
        return _measure(plan, observe, place, bound)
    except (WirespeedError, NativeError) as error:
        code = error.code if isinstance(error, WirespeedError) else ExitCode.FAILED_ENTRY
        if place.rank == 0:
            raise WirespeedError(str(error), code) from None
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
        heard = tell_rank0(place.rank, str(error), code)
        alone = launchers.first_rank_goes_on(RECORDED_S if heard else 2 * HEARD_S)
        if alone and not heard and tell_rank0(place.rank, str(error), code):
            # It was not listening before.
            heard, alone = True, launchers.first_rank_goes_on(RECORDED_S)
        if alone or (not heard and (unjoined or not agreed)):
            # Rank 0 has not failed, or nobody ends this rank: this one has other variables or options, or a
            # log of its own.
            last_words(f"rank {place.rank} of {place.size}: {error}")
        os._exit(int(code))


def _run_name() -> str:
    """Name of the run's folder: the same for all ranks that a launcher's daemon starts on this host."""
    return f"job-{os.getppid()}"


def tell_rank0(rank: int, text: str, code: ExitCode) -> bool:
    """Writes an error into the pipe that rank 0 reads, which ends by it.

    False where rank 0 is on another host, does not listen yet, or is gone.
    """
    file = alive_file(own_folder(_run_name()), 0)
    with suppress(OSError), private_folder.opened(file.parent) as folder:
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(file.name, flags, dir_fd=folder), "wb", buffering=0) as pipe:
            send(RankError(rank, text, int(code)), pipe.fileno())
            return True
    return False


def expected_job(plan: Plan, place: LaunchedRank) -> tuple[ExpectedJob, dict[str, str]]:
    """The MPI that the launcher belongs to, and the environment its library needs."""
    if not launchers.joins_mpi(place):
        if plan.mpi:
            raise WirespeedError(f"--mpi {plan.mpi}: {place.launcher} joins ranks without MPI; leave it out")
        return ExpectedJob(size=place.size), {}
    if plan.mpi:
        found: mpi.Mpi | None = mpi.choose(plan.mpi)
    elif given := os.environ.get("MPI4PY_LIBMPI"):
        starter = _of_ancestors()
        vendor = starter.vendor if starter else "openmpi" if place.launcher == "openmpi" else None
        return ExpectedJob(vendor, starter.version if starter else None, place.size, given), {}
    else:
        found = _of_ancestors() or _of_environment()
    if found is None:
        return ExpectedJob(size=place.size), {}
    return ExpectedJob(found.vendor, found.version, place.size, str(found.library)), found.environment()


def _of_ancestors() -> mpi.Mpi | None:
    """The MPI whose daemon started this process: its library lies beside the daemon."""
    for executable in ancestors():
        if executable.name in _DAEMONS:
            # Two MPIs may share a folder, and only one of them is its `mpiexec`.
            for name in _LAUNCHERS:
                found = mpi.identify(executable.parent / name, "machine")
                if isinstance(found, str):
                    continue
                if (found.vendor == "openmpi") == (_DAEMONS[executable.name] == "openmpi"):
                    return found
    return None


def _of_environment() -> mpi.Mpi | None:
    """Under a batch system: an MPI of the kind whose start-up protocol it speaks."""
    openmpi = "PMIX_RANK" in os.environ
    return next(
        (installed for installed in mpi.all_mpis() if (installed.vendor == "openmpi") == openmpi), None
    )


class _Voice:
    """Reads this rank's own watchdog: rank 0 records what it says, every rank names halted neighbours.

    Rank 0 also reads the errors of other ranks of its host.
    """

    def __init__(self, folder: Path, recorder: _Record | None) -> None:
        self.folders, self._recorder = {str(folder)}, recorder
        self.watchdog: Watchdog | None = None
        try:
            self._reading, self.descriptor = self._named(folder) if recorder else os.pipe()
        except OSError:
            # Other ranks' errors are then on stderr alone.
            self._reading, self.descriptor = os.pipe()
        threading.Thread(target=self._listen, daemon=True).start()

    def _named(self, folder: Path) -> tuple[int, int]:
        """Both ends of a new pipe, which other ranks open by its name. Raises OSError."""
        name = alive_file(folder, 0).name
        with private_folder.opened(private_folder.make(folder)) as descriptor:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
            os.mkfifo(name, 0o600, dir_fd=descriptor)
            end = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
        return end, os.dup(end)

    def _listen(self) -> None:
        with os.fdopen(self._reading, errors="replace") as pipe:
            reader = MessageReader()
            for line in pipe:
                _, message = reader.read(line.rstrip("\n"))
                with suppress(WirespeedError):
                    if isinstance(message, RankReport):
                        self._stuck(message)
                    elif isinstance(message, RankError) and self._recorder:
                        # All ranks may have this error: rank 0 then ends by itself.
                        time.sleep(HEARD_S)
                        self._recorder.broken(message)
                        if self.watchdog:
                            self.watchdog.close()
                        shm_cleanup.remove_own()
                        os._exit(message.code)

    def _stuck(self, report: RankReport) -> None:
        halted = self.halted() if report.kind == "stuck" else []
        for state in halted:
            say(str(state.halted()))
        if self._recorder:
            self._recorder.heard(report, next(iter(halted), None))

    def halted(self) -> list[RankState]:
        """Ranks of this host that are stopped, or gone without an end of their own."""
        found: list[RankState] = []
        for folder in map(Path, sorted(self.folders)):
            # A folder's name may be told by a rank of another host.
            with suppress(OSError), private_folder.opened(folder):
                found += [state for state in read_pages(folder) if state.halted()]
        return found

    def dead(self, wait: float = 0.0) -> RankState | None:
        """A rank that is gone; `wait`: seconds that its process may take to its end."""
        until = time.monotonic() + wait
        while not (gone := [state for state in self.halted() if state.gone]) and time.monotonic() < until:
            time.sleep(0.01)
        return next(iter(gone), None)


def _measure(plan: Plan, observe: Observer, place: LaunchedRank, bound: Bound | None) -> ExitCode:
    from wirespeed.rank.path.buffers import buffer_room
    from wirespeed.rank.path.teams import reduced_teams
    from wirespeed.rank.session import RankSession

    expected, variables = expected_job(plan, place)
    set_environment(variables)
    began = time.monotonic()
    opened = core()
    plan = replace(plan, device=devices.with_slices(plan.device, os.environ))
    show_own_slice(plan, place.rank, max(place.local_rank, 0))
    kind = devices.resolve(opened, plan.device)
    here = devices.every_identity(opened, kind) if kind != "host" else ()
    asked, order = plan, resolve_inside(plan, place, kind, here)
    plan, paths = order.plan, order.paths
    recorder: _Record | None = None
    problem: WirespeedError | None = None
    if place.rank == 0:
        try:
            recorder = _Record(plan, paths[0], observe)
        except WirespeedError as error:
            problem = error
    if place.local_rank <= 0:
        shm_cleanup.sweep()
    run = _run_name()
    voice = _Voice(own_folder(run), recorder)
    watchdog = Watchdog(opened, run, place.rank, reports=voice.descriptor, give_up=True)
    voice.watchdog = watchdog
    # Ranks that sockets join come within a time of their own, and who has not is named then.
    own_limit = 0.0 if launchers.joins_mpi(place) else rendezvous.patience(os.environ)
    watchdog.stage("start", 0, startup_limit(plan) + own_limit)
    interruption = Interruption(partial(_end_at_once, recorder, watchdog, voice))

    def world() -> World:
        if launchers.joins_mpi(place):
            return MpiWorld(expected)
        pattern = find_pattern(plan.pattern).at(Shape(place.size, dict(plan.options)))
        return SocketWorld(place, say=say, teams=reduced_teams(pattern, place.rank))

    try:
        place_of = place.rank, max(place.local_rank, 0)
        session = RankSession(opened, plan, kind, watchdog, place_of, began)
        if launchers.joins_mpi(place) and (differs := from_parent()):
            say(f"rank {place.rank} and its launcher: {differs}; an MPI may hang or fail as it starts")
        comm = session.connect(world)
    except (WirespeedError, NativeError):
        watchdog.close()
        if recorder:
            recorder.close()
        raise
    interruption.catch()
    if refused := comm.share(problem and (str(problem), int(problem.code))):
        # Rank 0 alone knows of its file; the others would wait for it for ever.
        watchdog.close()
        comm.leave()
        raise AgreedError(refused[0], ExitCode(refused[1]))
    unpinned, free = None, None
    if not launchers.joins_mpi(place) and not plan.between:
        near = () if kind == "host" else local_cpus(str(opened.identity(session.device).get("pci") or "none"))
        allowed = os.sched_getaffinity(0)
        unpinned = pin(comm, near, whole_cores=kind == "host")
        if not unpinned:
            free = FreeForThreads(comm, os.sched_getaffinity(0), allowed)
    # Ranks that were started with other words would measure something else, and wait for ever.
    shares = bool(recorder) and shared_gpus_before(plan)
    mine = replace(plan, share_gpus=plan.share_gpus or shares)
    plan, paths = comm.share((mine, paths))
    session.plan = plan
    ranks = session.introduce(recorder.tell if recorder else ignore, free=free)
    shared = [session.runner.shared_gpu(path) for path in paths]
    if all(shared):
        watchdog.close()
        if recorder:
            recorder.close()
        comm.leave()
        raise AgreedError(f"{plan.pattern}: {shared[0]}", ExitCode.UNAVAILABLE)
    voice.folders.update(comm.everyone(str(watchdog.file.parent)))
    room = buffer_room(opened, comm, session.device, comm.neighbours())
    fewer, left_out = (plan, None) if asked.sizes else with_room(plan, room)
    launches = recorder.begin_inside(fewer, paths, place, ranks, variables) if recorder else []
    for text in filter(None, (left_out, unpinned)):
        if recorder:
            observe(Note(text))
    try:
        left = comm.share(bound.left if bound else None)
        end = None if left is None else time.monotonic() + left
        session.measure(comm.share(launches), end, goes_on=True)
        if bound:
            over = time.monotonic() - bound.end
            bound.late(over, f"the last path ended {over:.1f} s late")
    except (WirespeedError, NativeError) as error:
        watchdog.close()
        if recorder:
            lost = isinstance(error, WirespeedError) and error.code == ExitCode.CANNOT_WRITE
            gone = voice.dead(EXITING if isinstance(error, NativeError) else 0.0)
            what = "death" if gone or isinstance(error, WirespeedError) else "error"
            recorder.finish(None if lost else Outcome(what, (gone and gone.halted()) or str(error)))
        raise
    # Rank 0 has still to print: the others wait, unwatched, until it is at its end too.
    watchdog.stage("end", 0, 0.0)
    atexit.register(comm.leave)
    atexit.register(watchdog.close)
    return recorder.finish(Outcome(), bounded=bound is not None) if recorder else ExitCode.OK


def _end_at_once(recorder: _Record | None, watchdog: Watchdog, voice: _Voice) -> None:
    """A signal ends the job; the launcher ends this rank by force in a moment."""
    # Launchers also send one once another rank has died.
    gone = voice.dead() if recorder else None
    watchdog.close()
    shm_cleanup.remove_own()
    if recorder:
        recorder.interrupted(gone)
    else:
        # A launcher ends the job at the first rank that ends: rank 0 must have written its record by then.
        time.sleep(2.0)
    os._exit(ExitCode.INTERRUPTED)


class _Record(RunRecorder):
    """What rank 0 of this job hears of itself, and of the job's end."""

    def __init__(self, plan: Plan, first: TransferPath, observe: Observer) -> None:
        """`first`: the path that fails if the ranks do not join."""
        super().__init__(plan, observe)
        self._first, self._begun, self._ended = first, False, False
        self._lock = threading.RLock()
        """Kept for good once a signal ends the run: nothing may follow its last record."""

    def begin_inside(
        self,
        plan: Plan,
        paths: Sequence[TransferPath],
        place: LaunchedRank,
        ranks: Sequence[RankPlace],
        variables: dict[str, str],
    ) -> list[tuple[str, tuple[int, ...]]]:
        """The paths that are measured, and their sizes. `plan`: with those that have room."""
        found = {rank["device"]["id"]: rank["device"] for rank in ranks if rank["device"]}
        with self._lock:
            self.resolved(plan)
            self._begin_once(found.values())
            self.plans(paths)
            if launches := [*self.to_come]:
                self.start_path(launches[0])
                mpi = {"source": "launcher"}
                self.begin_step(launches, StepJob(variables, place.launcher, plan.allocator, mpi))
        return [(launch.path.name, launch.sizes) for launch in launches]

    def _begin_once(self, found: Iterable[Facts] = ()) -> None:
        if not self._begun:
            self._begun = True
            self.begin_here(found)

    def tell(self, message: Message) -> None:
        """What this rank tells."""
        with self._lock:
            self.told(received(message))

    def finish(self, outcome: Outcome | None, *, bounded: bool = False) -> ExitCode:
        """The job has ended. `outcome`: of the rank that has gone, or can do no more; None: of the file."""
        with self._lock:
            self._ended = True
            self.path_over(outcome or Outcome())
            whole = outcome and (bounded or not self.to_come)
            return self.end("complete" if whole else "interrupted", bounded=bounded)

    def broken(self, error: RankError) -> None:
        """Another rank has ended by an error, and waits for this one to say so."""
        with self._lock:
            if self._ended:
                return
            if self._begun:
                self.finish(Outcome("error", f"rank {error.rank}: {error.text}", error.rank))
            else:
                last_words(f"rank {error.rank}: {error.text}")
                self.close()

    def interrupted(self, gone: RankState | None) -> None:
        """Ends the run's records for good. The user hears of it first: closing the file may take its time.

        `gone`: the rank for whose end the launcher ends the job.
        """
        self._lock.acquire(timeout=0.1)
        if self._ended:
            return
        try:
            if not self._begun:
                say("interrupted before anything was measured")
                self.close()
                return
            why = gone.halted() if gone else "interrupted"
            say(f"{why}; results: {self.file}; go on with --resume and this --out")
            if gone:
                self.fail_path(Outcome("death", str(why), **place_of(gone)))
            self.end("interrupted")
        except WirespeedError as error:
            say(str(error))

    def heard(self, report: RankReport, halted: RankState | None) -> None:
        """This rank's own watchdog or crash handler spoke: its last words go into the file.

        `halted`: the rank that it waits for.
        """
        report = with_call(report)
        where = report.call or "set-up"
        peer = next((rank for rank in self.ranks if rank["rank"] == report.peer), None)
        towards = f" with rank {peer['rank']} on {peer['host']} (pid {peer['pid']})" if peer else ""
        text = f"rank {report.rank} on {report.host}: {report.state} in {where}{towards}"
        what, cause = "hang" if report.kind == "stuck" else "crash", Cause()
        if halted:
            what, text = "death" if halted.gone else what, halted.halted() or text
            cause = Cause(CauseKind.STOPPED.value) if halted.stopped else cause
        outcome = Outcome(what, text, stacks=[stack(report)], cause=cause, **place_of(halted or report))
        with self._lock:
            if self._ended:
                return
            self._begin_once()
            if self._made:
                self.fail_path(outcome)
            else:
                self.fail(self._first, outcome, None)
