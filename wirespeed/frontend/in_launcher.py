"""Inside somebody else's launcher: this process is a rank, and rank 0 records and prints.

No front end watches here. Paths that may kill the job come last, everything before them is in the file,
and each rank's watchdog speaks for itself.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wirespeed import launch
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host import devices, mpi
from wirespeed.host.core import Core, NativeError, core
from wirespeed.host.process import ancestors
from wirespeed.job.messages import Message, parse
from wirespeed.job.outcome import Outcome, place_of
from wirespeed.job.path_selection import select
from wirespeed.job.plan import Plan
from wirespeed.job.status_page import own_folder, read_pages, sweep
from wirespeed.job.step_spec import ExpectedJob, startup_limit
from wirespeed.launch import LaunchedRank
from wirespeed.paths import TransferPath
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.communicator import Communicator
from wirespeed.rank.startup import describe_self, open_device, set_environment
from wirespeed.rank.watchdog import Watchdog

if TYPE_CHECKING:
    from wirespeed.results.recorder import Observer

_DAEMONS = {
    "prterun": "openmpi",
    "prted": "openmpi",
    "orterun": "openmpi",
    "orted": "openmpi",
    "mpirun": "openmpi",
    "hydra_pmi_proxy": "hydra",
}


def measure_inside(plan: Plan, observe: Observer) -> ExitCode:
    """Measures as one rank of the job that a launcher started."""
    place = launch.launched_rank()
    assert place is not None
    try:
        return _measure(plan, observe, place)
    except (WirespeedError, NativeError) as error:
        code = error.code if isinstance(error, WirespeedError) else ExitCode.FAILED_ENTRY
        if place.rank == 0:
            raise WirespeedError(str(error), code) from None
        # A launcher ends the job at the first rank that fails: rank 0 must have spoken by then.
        time.sleep(2.0)
        os._exit(int(code))


def expected_job(plan: Plan, place: LaunchedRank) -> tuple[ExpectedJob, dict[str, str]]:
    """The MPI that the launcher belongs to, and the environment its library needs."""
    if plan.mpi:
        found: mpi.Mpi | None = mpi.choose(plan.mpi)
    elif given := os.environ.get("MPI4PY_LIBMPI"):
        starter = _of_ancestors()
        if starter:
            return ExpectedJob(starter.vendor, starter.version, place.size, given), {}
        return ExpectedJob("openmpi" if place.launcher == "openmpi" else None, None, place.size, given), {}
    else:
        found = _of_ancestors() or _of_environment(place)
    if found is None:
        return ExpectedJob(size=place.size), {}
    return ExpectedJob(found.vendor, found.version, place.size, str(found.library)), found.environment()


def _of_ancestors() -> mpi.Mpi | None:
    """The MPI whose daemon started this process: its library lies beside the daemon."""
    own = Path(sys.prefix).resolve()
    for executable in ancestors():
        if executable.name in _DAEMONS:
            source = "wheel" if own in executable.parents else "machine"
            # Two MPIs may share a folder, and only one of them is its `mpiexec`.
            for name in (
                "mpiexec",
                "mpiexec.hydra",
                "mpiexec.mpich",
                "mpiexec.openmpi",
                "orterun",
                "prterun",
            ):
                found = mpi.identify(executable.parent / name, source)
                if found and (found.vendor == "openmpi") == (_DAEMONS[executable.name] == "openmpi"):
                    return found
    return None


def _of_environment(place: LaunchedRank) -> mpi.Mpi | None:
    """Under a batch system: an MPI of the kind whose start-up protocol it speaks."""
    openmpi = "PMIX_RANK" in os.environ
    for candidate in mpi.all_mpis():
        if (candidate.vendor == "openmpi") == openmpi:
            return candidate
    return None


class _Voice:
    """Reads this rank's own watchdog: rank 0 records what it says, every rank names stopped neighbours."""

    def __init__(self, folder: Path, record_failure: Callable[[Message], None]) -> None:
        self.descriptor, self._folder, self._record = -1, folder, record_failure
        self._reading, self.descriptor = os.pipe()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with os.fdopen(self._reading, errors="replace") as pipe:
            for line in pipe:
                _, message = parse(line.rstrip("\n"))
                if message is None:
                    continue
                if message["kind"] == "stuck":
                    self._name_stopped()
                with suppress(WirespeedError):
                    self._record(message)

    def _name_stopped(self) -> None:
        for state in read_pages(self._folder):
            if state.stopped or state.gone:
                word = "is stopped (SIGSTOP)" if state.stopped else "is gone"
                text = (
                    f"wirespeed: rank {state.rank} on {state.host} (pid {state.pid}) {word} {state.where()}\n"
                )
                os.write(2, text.encode())


def _measure(plan: Plan, observe: Observer, place: LaunchedRank) -> ExitCode:
    from wirespeed.rank.path_run import PathRunner

    if plan.ranks not in (0, place.size) and find_pattern(plan.pattern).ranks is None:
        raise WirespeedError(f"--ranks {plan.ranks}, but the launcher has started {place.size} ranks")
    shape = Shape(place.size, dict(plan.options))
    fixed = find_pattern(plan.pattern).fixed_sizes(shape)
    plan = replace(plan, ranks=place.size, sizes=plan.sizes if fixed is None else fixed)
    refusal = find_pattern(plan.pattern).refuse(shape)
    if refusal:
        raise WirespeedError(refusal)
    expected, variables = expected_job(plan, place)
    set_environment(variables)
    opened = core()
    kind = devices.resolve(opened, plan.device)
    paths = _in_order(plan, kind)
    recorder, problem = _open_recorder(plan, observe) if place.rank == 0 else (None, None)
    if place.local_rank <= 0:
        sweep()
    run = f"job-{os.getppid()}"
    voice = _Voice(own_folder(run), recorder.heard if recorder else _ignore)
    watchdog = Watchdog(opened, run, place.rank, reports=voice.descriptor, give_up=True)
    watchdog.stage("start", 0, startup_limit(plan))
    try:
        device = open_device(opened, kind, plan.between, place.rank, max(place.local_rank, 0))
        comm = Communicator(expected)
    except (WirespeedError, NativeError):
        watchdog.close()
        raise
    watchdog.catch()
    if refused := comm.share(problem):
        # Rank 0 alone knows of its file; the others would wait for it for ever.
        watchdog.close()
        comm.leave()
        raise WirespeedError(refused[0], ExitCode(refused[1]))
    opened.check(opened.lib.ws_mpi_open(comm.library.encode(), comm.handle()))
    ranks = comm.gather(describe_self(opened, device, comm.rank, kind))
    if recorder:
        recorder.begin(opened, comm, place, ranks or [], variables)
    runner = PathRunner(opened, comm, device, watchdog, plan, recorder.take if recorder else _ignore)
    for step, path in enumerate(paths):
        sizes = comm.share(recorder.sizes(path) if recorder else None)
        if recorder:
            recorder.start(step, path, len(paths))
        runner.run(path.name, sizes)
    # Rank 0 has still to print: the others wait, unwatched, until it is at its end too.
    watchdog.stage("end", 0, 0.0)
    atexit.register(comm.leave)
    atexit.register(watchdog.close)
    return recorder.finish() if recorder else ExitCode.OK


def _open_recorder(plan: Plan, observe: Observer) -> tuple[_Rank0 | None, tuple[str, int] | None]:
    """Rank 0's recorder, or why there is none."""
    try:
        return _Rank0(plan, observe), None
    except WirespeedError as error:
        return None, (str(error), int(error.code))


def _ignore(message: Message) -> None:
    """Ranks other than 0 record nothing."""


def _in_order(plan: Plan, kind: str) -> list[TransferPath]:
    """The plan's paths, those that may end the whole job last."""
    intra_rank = find_pattern(plan.pattern).intra_rank
    chosen = select(plan.paths, kind != "host", intra_rank) or select(plan.paths, intra_rank=intra_rank)
    usable = [path for path in chosen if kind != "host" or not path.needs_device]
    if not usable:
        raise WirespeedError(f"{chosen[0].name}: no GPU on this machine", ExitCode.UNAVAILABLE)
    return sorted(usable, key=lambda path: (path.gpu_aware_mpi, path.tried_first))


class _Rank0:
    """What rank 0 hears goes into the result file."""

    def __init__(self, plan: Plan, observe: Observer) -> None:
        # Only rank 0 needs what writes records.
        from wirespeed.results.recorder import Recorder

        self._observe, self._recorder = observe, Recorder(plan, observe)
        self._step = 0
        self._path: TransferPath | None = None
        self._job: Message = {}
        self._accepted = False

    def begin(
        self,
        opened: Core,
        comm: Communicator,
        place: LaunchedRank,
        ranks: list[Any],
        variables: dict[str, str],
    ) -> None:
        library = {
            "vendor": comm.vendor,
            "version": comm.version,
            "string": comm.string.splitlines()[0],
            "library": comm.library,
            "source": "launcher",
        }
        self._job = {"mpi": library, "launcher": place.launcher, "variables": variables, "ranks": ranks}
        clock = {"cost_s": opened.lib.ws_clock_cost(), "resolution_s": opened.lib.ws_clock_resolution()}
        found = {rank["device"]["id"]: rank["device"] for rank in ranks if rank["device"]}
        self._recorder.begin(sys.argv, found.values(), clock)

    def sizes(self, path: TransferPath) -> tuple[int, ...]:
        return self._recorder.missing_sizes(path)

    def start(self, step: int, path: TransferPath, total: int) -> None:
        self._step, self._path, self._accepted = step, path, False
        self._observe({"kind": "step-start", "path": path.name, "steps_done": step, "steps_total": total})

    def take(self, message: Message) -> None:
        kind = message["kind"]
        if kind == "accepted" and self._path:
            self._accepted = True
            self._recorder.started(self._step, self._path, {**self._job, "details": message["details"]})
        elif kind in ("entry", "evidence", "wires"):
            self._recorder.take(message, self._step)
        elif kind == "failure":
            self._fail(Outcome(message["what"], message["text"], message.get("rank"), bytes=message["bytes"]))
        else:
            self._observe(message)

    def heard(self, message: Message) -> None:
        """This rank's own watchdog or crash handler spoke: its last words go into the file."""
        where = message["call"] or "set-up"
        peer = next((rank for rank in self._job["ranks"] if rank["rank"] == message["peer"]), None)
        towards = f" with rank {peer['rank']} on {peer['host']} (pid {peer['pid']})" if peer else ""
        text = f"rank {message['rank']} on {message['host']}: {message['state']} in {where}{towards}"
        what = "hang" if message["kind"] == "stuck" else "crash"
        self._fail(Outcome(what, text, stacks=[message], **place_of(message)))

    def _fail(self, outcome: Outcome) -> None:
        if self._path:
            self._recorder.fail(self._path, outcome, self._step if self._accepted else None)

    def finish(self) -> ExitCode:
        return self._recorder.end("complete")
