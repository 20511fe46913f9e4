"""Job scripts: the measurement, its placement and the machine's switches, for its batch system.

One template a batch system (NAME.sh.j2), all of them on top of job.sh.j2.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from wirespeed.errors import WirespeedError
from wirespeed.paths import find_path
from wirespeed.systems.model import System


@dataclass(frozen=True)
class BatchJob:
    """Command to run, and on how much of the machine."""

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
    """The pattern takes any number of ranks, so that the script has to give it."""
    account: str = ""
    queue: str = ""
    setup: str = ""
    """Shell line to run first."""
    command: str = ""
    """Command that wrote the script, for its head."""
    container: str = ""
    """apptainer or enroot: what runs the image on Slurm's nodes; empty: no container."""
    image: str = ""
    """Container image that has wirespeed."""

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

    def inside(self, gpu: str = "") -> str:
        """Words that run a command in the container, for a shell; `gpu`: its name, which tells AMD's."""
        if self.container == "apptainer":
            devices = "" if not self.gpus_per_node else " --rocm" if "MI" in gpu else " --nv"
            return f'apptainer exec{devices} --bind "$PWD" {shlex.quote(self.image)}'
        if self.container == "enroot":
            image = shlex.quote(f"--container-image={self.image}")
            return f'{image} --container-mounts="$PWD:$PWD" --container-workdir="$PWD"'
        return ""


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
        paths=job.paths,
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


def write_for_kubernetes(job: BatchJob) -> str:
    """An MPIJob for the paths that need MPI, and an indexed Job for the others.

    Raises WirespeedError for a word that YAML cannot hold in a script's lines.
    """
    if odd := next((word for word in job.words if not word.isprintable()), None):
        raise WirespeedError(
            f"{odd!r}: a file for Kubernetes takes words of one line, without control characters"
        )
    templates = _templates()

    def script(kind: str, paths: list[str]) -> str:
        return (
            templates.get_template(f"kubernetes_{kind}.sh.j2").render(job=job, paths=paths) if paths else ""
        )

    by_mpi = [path for path in job.paths if find_path(path).needs_mpi]
    return templates.get_template("kubernetes.yaml.j2").render(
        job=job,
        queue=job.queue,
        mpi_script=script("mpi", by_mpi),
        pod_script=script("pod", [path for path in job.paths if path not in by_mpi]),
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
    # In a comment: what a terminal, a shell or YAML may take for the end of a line ends it.
    made.filters["one_line"] = lambda text: "".join(
        letter if letter.isprintable() else " " for letter in text
    )
    # A string of JSON is one of YAML.
    made.filters["string_of_yaml"] = json.dumps
    made.filters["join_words"] = shlex.join
    made.filters["capitalise"] = lambda text: text[:1].upper() + text[1:]
    return made
