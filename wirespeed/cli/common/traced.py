"""Output of --timeline and --timing, once everything is measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wirespeed.cli.common.streams import note
from wirespeed.errors import WirespeedError
from wirespeed.job.plan import Plan

if TYPE_CHECKING:
    from rich.console import Console

    from wirespeed.report.export.timeline import RangeLog
    from wirespeed.results.model import Event


@dataclass
class Traced:
    """The ranges of one command's runs, if it asked for them."""

    plan: Plan
    log: RangeLog | None = None

    @classmethod
    def of(cls, plan: Plan) -> Traced:
        """Raises WirespeedError for a file that cannot be written."""
        if plan.timeline is None and not plan.timing:
            return cls(plan)
        from wirespeed.report.export.timeline import ENDING, RangeLog, refuse_archive
        from wirespeed.results.whole_file import refuse_unwritable

        if plan.timeline is not None:
            if plan.timeline.endswith(ENDING):
                refuse_archive(plan.timeline)
            else:
                refuse_unwritable(plan.timeline)
            if plan.out and Path(plan.timeline).resolve() == Path(plan.out).resolve():
                raise WirespeedError("--timeline: name another file than that of --out")
        return cls(plan, RangeLog())

    def take(self, event: Event) -> bool:
        """Returns whether nobody else needs the event."""
        return self.log is not None and self.log.take(event)

    def finish(self, console: Console) -> None:
        """Writes and prints what was asked for. Raises WirespeedError."""
        if self.log is None:
            return
        if self.plan.timing:
            from wirespeed.report.terminal.timing_table import print_timing

            print_timing(console, self.log.steps)
        if self.plan.timeline is not None:
            from wirespeed.report.export.timeline import ENDING, write_archive, write_timeline

            archive = self.plan.timeline.endswith(ENDING)
            (write_archive if archive else write_timeline)(self.plan.timeline, self.log)
            viewer = "Vampir" if archive else "ui.perfetto.dev or chrome://tracing"
            note(f"timeline: {self.plan.timeline}; open it in {viewer}")
