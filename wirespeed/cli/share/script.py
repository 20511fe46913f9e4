"""Write a job script that runs a measurement on a machine.

The script places the ranks, and sets the machine's switches and works around its known defects, with their
sources. PATTERN is what to measure; its own options and those of every measuring command may follow
('wirespeed PATTERN --help'). It may be survey or doctor as well, which look at one node.

\b
Examples:
  wirespeed script groups --system summit --nodes 2 --group 6 --paths host,aware --account ABC123
  wirespeed script pingpong --batch slurm --gpus-per-node 4 --nodes 2 --sizes 8:1G -o job.sh
  wirespeed script halo --batch kubernetes --gpus-per-node 8 --nodes 2 --image IMAGE -o job.yaml
  wirespeed script survey --batch slurm --gpus-per-node 1 --container apptainer --image wirespeed.sif
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from wirespeed.cli.common import words as types
from wirespeed.cli.common.options import flag, option
from wirespeed.cli.common.streams import print_or_write, warn
from wirespeed.errors import ExitCode, WirespeedError

if TYPE_CHECKING:
    from wirespeed.job.plan import Plan
    from wirespeed.paths import TransferPath
    from wirespeed.patterns import Pattern
    from wirespeed.systems.model import System
    from wirespeed.systems.scripts import BatchJob

BATCH = ("slurm", "lsf", "pbs", "flux", "kubernetes")
CONTAINERS = ("apptainer", "enroot")
ALONE = ("survey", "doctor")
"""Commands that start their own ranks, on the node that the script runs on."""


def minutes(word: str) -> int:
    """'30' or '0:30' or '0:30:00' as minutes, rounded up. Raises ValueError."""
    parts = word.split(":")
    if len(parts) > 3 or not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise ValueError("write minutes, or hours:minutes[:seconds], as in 30 or 1:30")
    hours, rest, seconds = (0, int(parts[0]), 0) if len(parts) == 1 else (*map(int, parts), 0)[:3]
    found = hours * 60 + rest + -(-seconds // 60)
    if found < 1:
        raise ValueError("at least a minute")
    if len(parts) > 1 and max(map(int, parts[1:])) > 59:
        raise ValueError("minutes and seconds after a colon end at 59; write minutes alone, as in 90")
    return found


def _pattern(word: str) -> Pattern | str:
    """A pattern, or the name of a command of ALONE."""
    from wirespeed.patterns import find_pattern

    return word if word in ALONE else find_pattern(word)


def _line(word: str) -> str:
    if not word.isprintable():
        raise ValueError("write one line of shell")
    return word


@dataclass(frozen=True)
class Wanted:
    """Commands to run, and on how much of which machine."""

    pattern: Pattern | str | None
    """A pattern, or a command of ALONE."""
    words: tuple[str, ...]
    """The pattern's options."""
    system: str | None
    batch: str | None
    nodes: int
    gpus_per_node: int | None
    ranks_per_node: int | None
    time: int
    account: str | None
    queue: str | None
    setup: str | None
    container: str | None
    image: str | None


PLAIN = types.Word("NAME", types.matching(r"[\w.:/@+,-]+", "letters, digits and .:/@+,_- only"))
"""It goes into the script's head as it is."""


@click.command(help=__doc__, context_settings={"ignore_unknown_options": True})
@click.argument("pattern", required=False, type=types.Word("PATTERN", _pattern))
@click.argument("words", metavar="[OPTIONS OF PATTERN]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--system", metavar="NAME", help="Machine, as 'wirespeed systems' lists it. Default: this one.")
@option("--batch", types.choice(*BATCH), "Batch system of a machine that is not known.")
@option("--nodes", types.count(1, 1_000_000), "Number of nodes.", "1")
@option("--gpus-per-node", types.count(most=1000), "GPUs of a node. Default: the known machine's, else none.")
@option("--ranks-per-node", types.count(1, 100_000), "Ranks on each node. Default: one rank per GPU.")
@option(
    "--time", types.Word("TIME", minutes), "Time limit of the job: minutes, or hours:minutes[:seconds].", "30"
)
@option("--account", PLAIN, "Project to charge.")
@option("--queue", PLAIN, "Queue, partition or quality of service.")
@option(
    "--setup", types.Word("LINE", _line), "Run this line of shell first, as in 'source venv/bin/activate'."
)
@option("--container", types.choice(*CONTAINERS), "Run in a container of --image, in a job of Slurm.")
@option("--image", PLAIN, "Container image that has wirespeed, for --container and --batch kubernetes.")
@click.option("-o", "--output", type=types.FILE, help="Where to write the script. Default: stdout.")
@flag("--list listed", "List the known machines, as 'wirespeed systems' does.")
@click.pass_context
def command(context: click.Context, /, output: str | None, listed: bool, **given: Any) -> ExitCode:
    """Writes the script, or the list of systems."""
    if listed:
        from wirespeed.cli.understand import systems

        code: ExitCode = context.invoke(systems.command)
        return code
    wanted = Wanted(**given)
    text = script(wanted)
    if wanted.setup:
        _check_shell(wanted.setup)
    print_or_write(text, output)
    system, _ = _where(wanted)
    if system is None and wanted.gpus_per_node is None:
        warn("the job asks for no GPU: --gpus-per-node N says how many a node has")
    if system and system.batch.account and not wanted.account:
        warn(f"jobs on {system.name} are charged to a project: name yours with --account NAME")
    return ExitCode.OK


def script(wanted: Wanted) -> str:
    """The script. Raises WirespeedError in one line for what could not run there."""
    from wirespeed.host.devices import kind_of
    from wirespeed.patterns import all_patterns
    from wirespeed.systems.scripts import between, write, write_for_kubernetes

    pattern = wanted.pattern
    if pattern is None:
        known = ", ".join(all_patterns())
        raise WirespeedError(
            f"name what to measure, as in 'wirespeed script groups'; there are: {known}, {', '.join(ALONE)}"
        )
    system, batch = _where(wanted)
    if isinstance(pattern, str):
        return write(_alone(wanted, pattern, batch, system), batch, system)
    plan = _measurement(pattern, wanted.words)
    job = _job(wanted, pattern, plan, system)
    placed = plan.between or plan.hosts or plan.ranks_per_gpu
    if not placed and kind_of(plan.device) not in ("cpu", "emulated"):
        gpus = between(job, system)
        if gpus:
            job = replace(job, words=(*job.words, "--between", ",".join(map(str, gpus))))
            # Once more, as the ranks will read it.
            _measurement(pattern, job.words)
    return write_for_kubernetes(job) if batch == "kubernetes" else write(job, batch, system)


def _alone(wanted: Wanted, name: str, batch: str, system: System | None) -> BatchJob:
    """A job of one node, on which the command starts its own ranks. Raises WirespeedError."""
    from wirespeed.cli.commands import cli

    if batch == "kubernetes":
        raise WirespeedError(f"--batch kubernetes: {name} starts ranks itself; name a pattern, as pingpong")
    if wanted.nodes > 1:
        raise WirespeedError(f"--nodes {wanted.nodes}: {name} looks at one node")
    asked = cli.get_command(click.Context(cli), name)
    assert asked
    given = asked.make_context(f"wirespeed {name}", list(wanted.words)).params
    job = _begun(wanted, name, system)
    words = _without(wanted.words, ("--out", "-o"), ())
    # In a container, the MPI in it starts the ranks.
    words += ("--launcher", "mpiexec") if wanted.container and given["launcher"] == "auto" else ()
    each = wanted.ranks_per_node or max(job.gpus_per_node, 2)
    return replace(job, words=words, ranks_per_node=each, out=given.get("out") or "")


def _begun(wanted: Wanted, name: str, system: System | None) -> BatchJob:
    """The job without its words and its ranks.

    GPUs of a node are as given, else as the machine is known to have; 0: the job asks for none.
    """
    from wirespeed.systems.scripts import BatchJob

    own = sys.argv[1:] if sys.argv[1:2] == ["script"] else ["script"]
    known = system.node.gpus if system else 0
    return BatchJob(
        pattern=name,
        words=(),
        paths=(),
        out="",
        nodes=wanted.nodes,
        ranks_per_node=0,
        gpus_per_node=known if wanted.gpus_per_node is None else wanted.gpus_per_node,
        minutes=wanted.time,
        choose_ranks=False,
        account=wanted.account or "",
        queue=wanted.queue or "",
        setup=wanted.setup or "",
        command=shlex.join(["wirespeed", *own]),
        container=wanted.container or "",
        image=wanted.image or "",
    )


def _check_shell(line: str) -> None:
    """Raises WirespeedError for a line that no shell can run; without bash here, the job will tell."""
    bash = shutil.which("bash")
    if bash is None:
        return
    # Nothing is run; BASH_ENV and functions of the environment would be.
    checked = subprocess.run(
        [bash, "-n"], input=line, env={"LC_ALL": "C"}, capture_output=True, text=True, errors="replace"
    )
    if checked.returncode or checked.stderr:
        why = re.sub(r"^.*?line \d+: ", "", checked.stderr.strip().split("\n")[0])
        raise WirespeedError(f"--setup {types.shown(line)}: bash cannot run this line: {why}")


def _check_container(wanted: Wanted, batch: str) -> None:
    if wanted.container and batch != "slurm":
        raise WirespeedError(f"--container goes into jobs of Slurm, and this one is of {batch}")
    if wanted.container and not wanted.image:
        raise WirespeedError(
            f"--container {wanted.container}: name an image that has wirespeed, with --image NAME "
            "(packaging/wirespeed.def and packaging/Containerfile make one)"
        )


def _check_kubernetes(wanted: Wanted) -> None:
    if wanted.batch == "kubernetes" and not wanted.image:
        raise WirespeedError(
            "--batch kubernetes: name an image that has wirespeed, with --image NAME "
            "(packaging/Containerfile makes one)"
        )
    if wanted.batch == "kubernetes" and wanted.account:
        raise WirespeedError("--account: Kubernetes has none; --queue names a queue of Kueue")


def _where(wanted: Wanted) -> tuple[System | None, str]:
    """The machine, if it is a known one, and the batch system."""
    _check_kubernetes(wanted)
    from wirespeed.systems import load, names
    from wirespeed.systems.recognition import recognised_here

    name = wanted.system
    if name is None and wanted.batch is None:
        name = recognised_here()
        if name is None:
            raise WirespeedError(
                f"this machine is none of those known: name one with --system ({', '.join(names())}), or "
                f"--batch {'|'.join(BATCH)}, with --gpus-per-node where nodes have GPUs"
            )
    system = None if name is None else load(name)
    batch = wanted.batch or (system.batch.system if system else "")
    _check_container(wanted, batch)
    return system, batch


def _measurement(pattern: Pattern, words: Sequence[str]) -> Plan:
    """The plan that the pattern's own command would make of the words."""
    from wirespeed.cli.patterns import command_of, plans

    context = command_of(pattern).make_context(f"wirespeed {pattern.name}", list(words))
    given = context.params
    for reporting in ("style", "against", "explain", "all_sizes"):
        del given[reporting]
    if given.pop("messages", False):
        raise WirespeedError("--messages: a job has one pattern; write another script for pingpong")
    if given.pop("background"):
        raise WirespeedError("--with starts a job of its own: it does not go into a script")
    if given["launches"] > 1:
        raise WirespeedError("--launches: the ranks of a job cannot be started anew; submit the script again")
    plan, *further = plans(pattern, given)
    if further:
        several = [
            option.name for option in pattern.options if option.many and len(given[option.key] or ()) > 1
        ]
        raise WirespeedError(f"--{[*several, 'ranks'][0]}: a job takes one number; write a job for each")
    return plan


def _job(wanted: Wanted, pattern: Pattern, plan: Plan, system: System | None) -> BatchJob:
    from wirespeed.job.path_selection import ALL, select, suited
    from wirespeed.patterns import Shape

    job = _begun(wanted, pattern.name, system)
    gpus = job.gpus_per_node
    each = _ranks_per_node(wanted, pattern, plan, gpus)
    pattern = pattern.at(Shape(wanted.nodes * each, dict(plan.options)))
    if refusal := pattern.refuse():
        raise WirespeedError(refusal)
    words = plan.paths or ((ALL,) if pattern.kind.one_sided else ())
    paths = select(words, plan.device != "cpu" and gpus > 0, pattern.kind.intra_rank)
    paths = suited(paths, plan.paths, pattern)
    if not paths:
        raise WirespeedError(
            "--paths: none of them can be measured without a GPU; --gpus-per-node N says how many a node has"
        )
    if wanted.nodes > 1 and not pattern.kind.intra_rank:
        paths = _between_nodes(paths, plan.paths)
    words = _without(wanted.words, ("--paths", "--out", "-o", "--ranks"), ("--resume",))
    return replace(
        job,
        words=words,
        paths=tuple(path.name for path in paths),
        ranks_per_node=each,
        out=plan.out or "",
        choose_ranks=pattern.rank_rule.exact is None,
    )


def _between_nodes(paths: Sequence[TransferPath], named: Sequence[str]) -> list[TransferPath]:
    """Those that work between nodes. Raises WirespeedError for another one that was named."""
    for path in paths:
        if path.one_host and path.name in named:
            raise WirespeedError(f"--paths {path.name}: it works within one node; leave it out, or --nodes")
    found = [path for path in paths if not path.one_host]
    if not found:
        raise WirespeedError("--paths: all of them work within one node; name others, or leave out --nodes")
    return found


def _ranks_per_node(wanted: Wanted, pattern: Pattern, plan: Plan, gpus: int) -> int:
    """Given, or so that all ranks there are to be are spread evenly; else one per GPU."""
    from wirespeed.patterns import Shape

    rule = pattern.at(Shape(0, dict(plan.options))).rank_rule
    total, nodes, each = rule.exact or plan.ranks, wanted.nodes, wanted.ranks_per_node
    if each is not None:
        if total and nodes * each != total:
            raise WirespeedError(
                f"{pattern.name}: {total} ranks, not --nodes {nodes} x --ranks-per-node {each}"
            )
        return each
    total = total or rule.wanted or 0
    if total % nodes:
        raise WirespeedError(f"{pattern.name}: {total} ranks cannot be spread evenly over --nodes {nodes}")
    if not total and not gpus:
        raise WirespeedError("say how many ranks a node gets, with --ranks-per-node N")
    return total // nodes or gpus


def _without(words: Sequence[str], options: Sequence[str], flags: Sequence[str]) -> tuple[str, ...]:
    """The words without these options and their values."""
    kept: list[str] = []
    left = iter(words)
    for word in left:
        name, sign, _ = word.partition("=")
        if name in options and not sign:
            next(left, None)
        elif name not in options and word not in flags:
            kept.append(word)
    return tuple(kept)
