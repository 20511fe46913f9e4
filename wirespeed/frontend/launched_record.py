"""The record that rank 0 keeps of a job in a user's own launcher: of what it tells, and of the job's end."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend.interruption import last_words, say
from wirespeed.frontend.rank_messages import received
from wirespeed.frontend.recording import RunRecorder
from wirespeed.job.cause import Cause, CauseKind
from wirespeed.job.messages import Facts, Message, RankError, RankReport
from wirespeed.job.outcome import Outcome, place_of, stack, with_call
from wirespeed.job.plan import Plan
from wirespeed.job.status_page import RankState
from wirespeed.paths import TransferPath
from wirespeed.results.recorder import Observer, StepJob


def death_of(gone: RankState) -> Outcome:
    """What ends the path under way, of a rank that is gone."""
    return Outcome("death", str(gone.halted()), **place_of(gone))


class LaunchedRecord(RunRecorder):
    """Rank 0's own thread tells it what is measured, others what ends the job."""

    def __init__(self, plan: Plan, first: TransferPath, observe: Observer) -> None:
        """`first`: the path that fails if the ranks do not join."""
        super().__init__(plan, observe)
        self._first, self._begun, self._ended = first, False, False
        self._crashed = False
        """A rank has said by what it ends: that it is gone is no second failure."""
        self._lock = threading.RLock()
        """Kept for good once a signal ends the run: nothing may follow its last record."""

    def begin_run(self, plan: Plan, devices: Iterable[Facts], paths: Iterable[TransferPath]) -> None:
        """The ranks have met. `plan`: what it has become; `devices`: of all hosts."""
        with self._lock:
            self.resolved(plan)
            self._begin_once(devices)
            self.plans([*paths])

    def _begin_once(self, devices: Iterable[Facts] = ()) -> None:
        if not self._begun:
            self._begun = True
            self.begin_here(devices)

    def launches(self, job: StepJob, seconds: float) -> list[tuple[str, tuple[int, ...]]]:
        """Names and sizes of the paths that are to come. `seconds`: that are left for what had no time."""
        with self._lock:
            if self._under_way:
                self.path_over(Outcome())
            if self._made and not self.again(seconds, anew=False):
                return []
            if launches := [*self.to_come]:
                self.start_path(launches[0])
                # Its processes were there already, if others have been measured.
                self.begin_step(launches, replace(self.step.job, startup_s=0.0) if self._made else job)
        return [(launch.path.name, launch.sizes) for launch in launches]

    def tell(self, message: Message) -> None:
        """What this rank tells."""
        with self._lock:
            self.told(received(message))

    def finish(self, outcome: Outcome | None, *, bounded: bool = False) -> ExitCode:
        """The job has ended. `outcome`: of the rank that has gone, or can do no more; None: of the file."""
        with self._lock:
            self._ended = True
            if not self._begun:
                # Who raised the error says it; there is nothing to keep.
                self.close()
                return ExitCode.FAILED_ENTRY
            self.fail_path(Outcome() if self._crashed else outcome or Outcome())
            if self._under_way:
                self.end_path()
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
            if gone and not self._crashed:
                self.fail_path(death_of(gone))
            self.end("interrupted")
        except WirespeedError as error:
            say(str(error))

    def heard(self, report: RankReport, halted: RankState | None) -> None:
        """This rank's watchdog, or a rank's crash handler spoke: its last words go into the file.

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
            if self._ended or self._crashed:
                return
            self._begin_once()
            self._crashed |= what == "crash"
            if self._made:
                self.fail_path(outcome)
            else:
                self.fail(self._first, outcome, None)
            if self._entries:
                say(f"what was measured before: wirespeed show {self.file}")
