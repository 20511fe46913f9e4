"""Main function of each rank: choose a device, join the job, measure paths, say what was found."""

from __future__ import annotations

import os
import sys
import time
import traceback
import zlib
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from wirespeed import launchers
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.core import NativeError, core
from wirespeed.host.die_with_parent import die_with_parent
from wirespeed.host.process import host_name
from wirespeed.job.message_lines import send
from wirespeed.job.messages import Done, RankAddresses, RankError
from wirespeed.job.plan import decode
from wirespeed.job.status_page import lost, own_folder
from wirespeed.job.step_spec import StepSpec, startup_limit
from wirespeed.job.stop_request import asked_to_stop
from wirespeed.rank.join.free_cpus import FreeForThreads
from wirespeed.rank.join.mpi_world import MpiWorld
from wirespeed.rank.join.peers import by_interface
from wirespeed.rank.join.pinning import place
from wirespeed.rank.join.startup import ignore, set_environment, show_own_slice, start_profiler
from wirespeed.rank.observe.watchdog import Watchdog

BY_HAND = (
    "python -m wirespeed.rank takes one of the orders that 'wirespeed PATTERN --dry-run --json' prints, in a "
    "file NAME.json"
)


def main(word: str) -> NoReturn:
    """Measures the step in the word, or in a JSON file of that name; ends the process, without exit handlers,
    which could undo the exit code. Raises WirespeedError for what is no order.
    """
    started = time.monotonic()
    try:
        spec = StepSpec.of(decode(word))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, zlib.error) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no order of one path"
        raise WirespeedError(f"{word[:80]}: {why}; {BY_HAND}", ExitCode.USAGE) from None
    profiled = "WIRESPEED_PROFILED" in os.environ
    if not profiled:
        set_environment(spec.variables)
        die_with_parent()
    rank = launchers.global_rank()
    code = ExitCode.OK
    try:
        if spec.profiler and not profiled:
            start_profiler(spec, rank)
        _serve(spec, rank, started)
    except WirespeedError as error:
        code = error.code
        send(RankError(rank, str(error), int(code), lack=code == ExitCode.UNAVAILABLE))
    except Exception as error:
        code = ExitCode.FAILED_ENTRY
        if isinstance(error, NativeError):
            _fail(spec, rank, str(error))
        else:
            _fail(spec, rank, f"{type(error).__name__}: {error}", traceback.format_exc().splitlines())
    sys.stdout.flush()
    sys.stderr.flush()
    if profiled and code == ExitCode.OK:
        # What a profiler has in this process writes its file in an exit handler.
        sys.exit(0)
    if "UCX_LOG_FILE" in os.environ:
        import ctypes

        # UCX's log in a file lies in a buffer of libc, of which a process that ends so writes nothing.
        ctypes.CDLL(None).fflush(None)
    os._exit(int(code))


def _fail(spec: StepSpec, rank: int, text: str, python: Sequence[str] = ()) -> None:
    """Says what failed, and which ranks were gone by then: a call fails when the peer has died, too."""
    gone = tuple(lost(own_folder(spec.run, spec.base), 0.05))
    send(RankError(rank, text, int(ExitCode.FAILED_ENTRY), python=tuple(python), lost=gone))
    # The launcher ends the others once this rank has ended: the front end must see an earlier death before.
    time.sleep(0.3)


def _serve(spec: StepSpec, rank: int, started: float) -> None:
    from wirespeed.rank.session import RankSession

    opened = core()
    here = spec.host == host_name()
    watchdog = Watchdog(opened, spec.run, rank, reports=1, give_up=False, read_here=here, base=spec.base)
    watchdog.stage("start", 0, startup_limit(spec.plan))
    show_own_slice(spec.plan, rank, launchers.local_rank())
    if spec.cpus:
        place(spec.cpus, launchers.local_rank(), spec.plan.ranks, whole_cores=spec.device == "host")
    place_of = rank, launchers.local_rank()
    if not here and launchers.local_rank() <= 0:
        # An MPI may hang as it joins, and nobody could ask then.
        send(RankAddresses(host_name(), by_interface()))
    session = RankSession(opened, spec.plan, spec.device, watchdog, place_of, started)
    comm = session.connect(lambda: MpiWorld(spec.expected))
    # Some MPIs bind a rank as it joins.
    own = os.sched_getaffinity(0)
    tell = send if comm.rank == 0 else ignore
    free = FreeForThreads(comm, own, spec.cpus) if spec.threads_leave else None
    session.introduce(tell, own, free)
    session.runner.end_when(partial(asked_to_stop, own_folder(spec.run, spec.base)))
    session.met()
    session.measure(spec.paths, spec.end(), goes_on=False)
    session.runner.close(orderly=False)
    watchdog.stage("end", 0, 30.0)
    tell(Done())
    watchdog.close(keep_list=here)
    comm.leave()
