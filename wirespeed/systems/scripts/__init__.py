"""Job scripts: the measurement, its placement and the machine's switches, for its batch system.

One template a batch system (NAME.sh.j2), all of them on top of job.sh.j2.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from wirespeed.systems.model import System


@dataclass(frozen=True)
class BatchJob:
    """What to run, and on how much of the machine."""

    pattern: str
    words: tuple[str, ...]
    """Options of the pattern and common ones, as on a command line; without --paths and --out."""
    paths: tuple[str, ...]
    """Paths, each in a job step of its own."""
    out: str
    """Result file; empty: named after the job."""
    nodes: int
    ranks_per_node: int
    gpus_per_node: int
    minutes: int
    choose_ranks: bool = True
    """Whether the pattern takes any number of ranks, so that the script has to give it."""
    account: str = ""
    queue: str = ""
    setup: str = ""
    """Shell line to run first."""
    command: str = ""
    """Command that wrote the script, for its head."""

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node

    @property
    def name(self) -> str:
        return f"wirespeed-{self.pattern}"

    @property
    def clock(self) -> str:
        """'01:30:00'."""
        return f"{self.minutes // 60:02}:{self.minutes % 60:02}:00"


def between(job: BatchJob, system: System | None) -> tuple[int, ...]:
    """The GPU nearest to each rank, for --between; empty where they are in order, or not known.

    One GPU for each rank of the pair, or of a node.
    """
    if system is None or system.affinity is None:
        return ()
    order, ranks = system.affinity.gpus, job.ranks_per_node if job.choose_ranks else job.ranks
    in_order = tuple(rank % job.ranks_per_node % len(order) for rank in range(ranks))
    found = tuple(order[index] for index in in_order)
    return () if found == in_order else found


def write(job: BatchJob, batch: str, system: System | None = None) -> str:
    """The script. The batch settings of `system` apply to its own batch system only."""
    own = system.batch if system and system.batch.system == batch else None
    switches = system.switches if system else ()
    options = [switch.option for switch in switches if switch.option and switch.active]
    template = _templates().get_template(f"{batch}.sh.j2")
    return template.render(
        job=job,
        system=system,
        directives=own.directives if own else (),
        queue=job.queue or (own.queue if own else ""),
        queue_option=(own.queue_option if own else "") or "--partition",
        chunk=own.chunk if own else "",
        cores_per_rank=own.cores_per_rank if own and job.ranks_per_node <= job.gpus_per_node else 0,
        cores=system.node.cores if system else 0,
        launcher_options=options if own else (),
        modules=[switch for switch in switches if switch.module],
        variables=[switch for switch in switches if switch.variable and not switch.ranks_only],
        ranks_only=[switch for switch in switches if switch.ranks_only and switch.active],
    )


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("wirespeed.systems.scripts", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # The output is shell, not HTML: input is quoted for the shell.
        autoescape=False,
    )
    made.filters["quote"] = shlex.quote
    made.filters["join_words"] = shlex.join
    made.filters["capitalise"] = lambda text: text[:1].upper() + text[1:]
    return made
