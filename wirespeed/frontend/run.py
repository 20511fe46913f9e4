"""One run: its job steps in order, and what becomes of each path. Read it from top to bottom."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile

from wirespeed import interrupts, launchers
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend.bound import PATH_S, START_S, Bound
from wirespeed.frontend.job_step import LATE
from wirespeed.frontend.order import Order
from wirespeed.frontend.profiles import Profiles
from wirespeed.frontend.recording import PathLaunch, RunRecorder, StepRecorder
from wirespeed.frontend.starter import Starter, StepKey
from wirespeed.host import gpu_aware_mpi, mpi
from wirespeed.host.devices import GPU_KINDS
from wirespeed.host.process import host_name
from wirespeed.job.messages import Hello, Measured, Note, Picture, Progress
from wirespeed.job.outcome import Outcome
from wirespeed.paths import TransferPath, all_paths
from wirespeed.results.recorder import Observer
from wirespeed.units import format_size


class PlannedRun:
    """One run: its result file, and its job steps in order."""

    def __init__(self, order: Order, observe: Observer, bound: Bound | None = None) -> None:
        plan, found = order.plan, order.found
        self._order, self._plan, self._found = order, plan, found
        self._observe, self._bound = observe, bound
        self._mpi = found.mpis[0]
        # A launcher that is not there is said before anything starts.
        launchers.check_installed(launchers.choose(plan.launcher, self._mpi))
        self._recorder = RunRecorder(plan, observe)
        self._profiles = Profiles(plan.profile, self._recorder.file) if plan.profile else None
        self._starter = Starter(plan, found, self._recorder.run, self._profiles, self._until)
        self._start_s = START_S
        """Seconds that processes take until they have met, at most so far."""
        self._works: dict[str, mpi.Mpi] = {}
        """The MPI under which each path has moved bytes."""
        if self._recorder.resumed:
            self._same_as_before()

    def _until(self, key: StepKey) -> float | None:
        """When a job step is to be over: what is left has equal parts for its paths and those to come.

        Where those are too short for a figure, the first ones have what they need, and others none.
        """
        if self._bound is None:
            return None
        left = max(self._bound.left, 0.0)
        to_come = self._recorder.to_come
        places = [at for at, launch in enumerate(to_come) if launch in key.launches]
        before = 1 + max(places, default=-1) + 1
        share = left * before / (1 + len(to_come))
        return time.monotonic() + min(max(share, self._start_s + PATH_S * len(key.launches)), left)

    def _has_time(self) -> bool:
        """Is there time to start processes, and to measure something?"""
        return self._bound is None or self._bound.left > self._start_s + PATH_S

    def _again_has_time(self) -> bool:
        """Does what had no time come once more, after all others?"""
        bound = self._bound
        return bound is not None and self._recorder.again(bound.for_what_had_none(self._start_s))

    def all_steps(self) -> ExitCode:
        """Measures path after path, launch after launch; what breaks costs its own path and launch only."""
        recorder = self._recorder
        recorder.begin_here(self._found.devices)
        for text in filter(None, (self._found.hidden, self._order.left_out)):
            self._observe(Note(text))
        status, to_come = "interrupted", recorder.to_come
        try:
            for path, why in self._order.lacking:
                recorder.fail(path, Outcome("unavailable", why), None)
            recorder.plans(self._order.paths)
            begun = False
            while (to_come and (self._has_time() or not begun)) or self._again_has_time():
                self._measure(self._together(to_come))
                begun = True
            status = "complete"
        except KeyboardInterrupt:
            pass
        finally:
            code = recorder.end(status, bounded=self._bound is not None)
        if self._profiles:
            self._observe(Note(self._profiles.said()))
        return code

    def _same_as_before(self) -> None:
        """Figures of another MPI or another machine do not belong into one table. Raises WirespeedError."""
        here = (self._mpi.vendor, self._mpi.version, host_name())
        # Another MPI may have taken over a path that hands it device pointers.
        aware = {path.name for path in all_paths() if path.gpu_aware_mpi}
        own = [step for step in self._recorder.before.steps if step.path not in aware]
        for run, step in zip(self._recorder.before.runs[-1:], own[-1:], strict=False):
            there = (step.mpi.vendor, step.mpi.version, run.environment.host) if step.mpi else here
            other = mpi.NAMES.get(there[0], there[0])
            if there != here:
                self._recorder.close()
                raise WirespeedError(
                    f"--resume: the file was measured on {there[2]} with {other} {there[1]}, this is "
                    f"{here[2]} with {self._mpi.title}; use the same (--mpi) or name another file (--out)"
                )

    def _together(self, launches: Sequence[PathLaunch]) -> list[PathLaunch]:
        """Those that come first and can share their processes, whose start takes a second.

        A process that dies costs the path that it measured; those that follow begin in new ones.
        """
        first, *others = launches
        mpis, plan = self._candidates(first.path), self._plan
        # A profiler has a file for each path; only the first path can allocate before there is a context.
        if len(mpis) > 1 or self._profiles or plan.context == "own" or "apart" in dict(plan.test):
            return [first]
        variables = self._starter.variables

        def alike(launch: PathLaunch) -> bool:
            same = launch.number == first.number and self._candidates(launch.path) == mpis
            same = same and launch.path.traits.own_threads == first.path.traits.own_threads
            return same and variables(launch.path, mpis[0]) == variables(first.path, mpis[0])

        return [first, *takewhile(alike, others)]

    def _measure(self, launches: Sequence[PathLaunch]) -> None:
        """One job step; more where the first path's MPIs are tried one after the other."""
        candidates = self._candidates(launches[0].path)
        self._recorder.start_path(launches[0])
        try:
            for library, following in zip(candidates, [*candidates[1:], None], strict=True):
                step, outcome = self._job_step(launches, library)
                following = following if self._has_time() else None
                if outcome.passing and step.path == launches[0].path:
                    text = f"{step.path.name}: {outcome.text}; starting them once more"
                    self._observe(Note(text))
                    step, outcome = self._job_step(launches, library)
                if self._settled(step, outcome, library, following):
                    self._again(launches, step, outcome)
                    break
                if following is None:
                    break
        finally:
            self._recorder.end_path()

    def _again(self, launches: Sequence[PathLaunch], step: StepRecorder, outcome: Outcome) -> None:
        """Smaller sizes that took turns with the one that broke are measured again, in new processes.

        After a hang larger ones have it, too, unless the first of them hangs as well.
        """
        if not step.accepted or step.counting or outcome.what not in ("crash", "death", "hang"):
            return
        launch = next(launch for launch in launches if launch.path == step.path)
        broke = outcome.bytes or 0
        again = [size for size in launch.sizes if size < broke and size not in step.measured]
        larger = [size for size in launch.sizes if size > broke and size not in step.measured]
        hung = outcome.what == "hang" and broke > 0
        if hung and larger:
            goes_on = not launch.after_hang or bool(step.measured)
            again += larger if goes_on else []
            then = f"{format_size(larger[0])} is tried in new processes"
            if not goes_on:
                then = "it hung twice in a row, so larger sizes are left out"
            self._observe(Note(f"{step.path.name} hung at {format_size(broke)}; {then}"))
        if again:
            self._recorder.to_come.insert(0, replace(launch, sizes=tuple(again), after_hang=hung))

    def _settled(
        self, step: StepRecorder, outcome: Outcome, library: mpi.Mpi, following: mpi.Mpi | None
    ) -> bool:
        """Records what became of a path; False: the `following` MPI may do better, if there is one."""
        path = step.path
        if outcome.what in ("ok", LATE):
            if outcome.text:
                self._observe(Note(f"{path.name}: {outcome.text} when {self._bound} was over"))
            return True
        if step.counting:
            outcome.text = f"after all figures: {outcome.text}"
            outcome.bytes = None
        if step.accepted or path.name in self._works or not path.gpu_aware_mpi:
            step.fail(outcome)
            if outcome.what == "unavailable" and path.name not in self._works:
                self._give_up(path)
            return True
        remedy = None
        if outcome.what == "unavailable":
            # A rank found something lacking before any device pointer was tried.
            outcome.text = f"{library.title}: {outcome.text}"
            outcome.cause = replace(outcome.cause, mpi=library.title)
        else:
            remedy = gpu_aware_mpi.aware_remedy(library)
            if self._plan.context == "own":
                first = gpu_aware_mpi.OWN_CONTEXT_REMEDY
                remedy = f"call {first} before the first allocation, as without --context own"
            outcome = _no_device_pointers(library, outcome)
        if following:
            remedy = f"measured with {following.title} instead (--mpi {following.prefix})"
            outcome.cause = replace(outcome.cause, instead=following.title)
        else:
            self._give_up(path)
        step.fail(outcome, remedy)
        return False

    def _give_up(self, path: TransferPath) -> None:
        """Another launch would give no figure either."""
        to_come = self._recorder.to_come
        to_come[:] = [launch for launch in to_come if launch.path != path]

    def _candidates(self, path: TransferPath) -> list[mpi.Mpi]:
        """The MPI measured with; for device pointers also the wheels that are known to take them."""
        if path.name in self._works:
            return [self._works[path.name]]
        if not path.gpu_aware_mpi or self._plan.mpi or self._found.kind not in GPU_KINDS:
            return [self._mpi]
        # With and without GPUDirect are compared: by the same MPI.
        working = (self._works.get(known_path.name) for known_path in all_paths() if known_path.gpu_aware_mpi)
        if library := next(filter(None, working), None):
            return [library]
        aware = [mpi for mpi in self._found.mpis if gpu_aware_mpi.aware_environment(mpi)]
        return list(dict.fromkeys([self._mpi, *aware]))

    def _job_step(self, launches: Sequence[PathLaunch], library: mpi.Mpi) -> tuple[StepRecorder, Outcome]:
        """Processes that measure the launches: the last one that they came to, and what became of it."""
        key = StepKey(tuple(launches), library)
        began = time.monotonic()
        watched = self._starter.start(key)
        watched.bound = self._bound
        recorder = self._recorder
        recorder.settle = partial(self._settled, library=library, following=None)
        recorder.begin_step(launches, self._starter.job(key), watched.ucx_log)
        messages = watched.messages()
        for message in messages:
            if isinstance(message, Progress) and not self._plan.soak:
                interrupts.under_way(watched.ask_to_stop)
            elif isinstance(message, Measured):
                interrupts.under_way(None)
                if interrupts.asked():
                    messages.close()
                    break
            if isinstance(message, Hello):
                self._start_s = time.monotonic() - began
            recorder.told(message)
            if recorder.step.accepted:
                self._works.setdefault(recorder.step.path.name, library)
            if isinstance(message, Picture) and message.row + 1 == message.of:
                # By every path the field is the same.
                self._plan = self._starter.plan = replace(self._plan, picture=None)
        interrupts.under_way(None)
        if interrupts.asked():
            interrupts.end()
        step = recorder.step
        if self._bound:
            over = time.monotonic() - self._bound.end
            self._bound.late(over, f"the processes of {step.path.name} ended {over:.1f} s late")
        return step, watched.outcome if watched.outcome.what != "ok" else recorder.wrong


def _no_device_pointers(library: mpi.Mpi, outcome: Outcome) -> Outcome:
    """What became of an MPI that was handed device pointers, as a line of the table."""
    did = {
        "crash": f"crashed on a device pointer{f' in {outcome.fault}' if outcome.fault else ''}",
        "hang": f"hung on a device pointer ({outcome.text})",
        "death": f"ended the program on a device pointer ({outcome.text})",
    }.get(outcome.what, f"failed on a device pointer ({outcome.text})")
    outcome.what, outcome.text, outcome.bytes = "unavailable", f"{library.title} {did}", None
    outcome.cause = replace(outcome.cause, pointer=True, mpi=library.title)
    return outcome
