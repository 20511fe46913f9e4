"""wirespeed script: a job script that runs a measurement on a machine."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.options import flag, option
from wirespeed.errors import ExitCode, WirespeedError

if TYPE_CHECKING:
    from wirespeed.job.plan import Plan
    from wirespeed.patterns import Pattern
    from wirespeed.systems.model import System
    from wirespeed.systems.scripts import BatchJob

ORDER = 45
BATCH = ("slurm", "lsf", "pbs", "flux")
ONE_NUMBER = "in a job it takes one number: a job for each"


@dataclass(frozen=True)
class Options:
    """Of wirespeed script."""

    pattern: str | None
    words: tuple[str, ...]
    """The pattern's options."""
    system: str | None
    batch: str | None
    nodes: str
    gpus_per_node: str | None
    ranks_per_node: str | None
    time: str
    account: str | None
    queue: str | None
    setup: str | None
    output: str | None
    listed: bool


def run(options: Options) -> ExitCode:
    """Writes the script, or the list of systems."""
    if options.listed:
        from wirespeed.cli.systems import Options as Listed
        from wirespeed.cli.systems import run as listing

        return listing(Listed())
    text = script(options)
    if options.output is None:
        sys.stdout.write(text)
        return ExitCode.OK
    file = Path(str(values.word("--output", options.output)))
    if file.exists():
        raise WirespeedError(f"-o {file}: it exists, and is not overwritten")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WirespeedError(f"-o {file}: {error.strerror}", ExitCode.CANNOT_WRITE) from None
    return ExitCode.OK


def script(options: Options) -> str:
    """The script. Raises WirespeedError in one line for what could not run there."""
    from wirespeed.systems.scripts import between, write

    pattern = _pattern(options.pattern)
    system, batch = _where(options)
    given, plan = _measurement(pattern, options.words)
    job = _job(options, pattern, plan, given, system)
    if not {"--between", "--hosts"} & set(_names(options.words)) and plan.device not in ("cpu", "emulated"):
        gpus = between(job, system)
        if gpus:
            from dataclasses import replace

            job = replace(job, words=(*job.words, "--between", ",".join(map(str, gpus))))
            # Once more, as the ranks will read it.
            _measurement(pattern, job.words)
    return write(job, batch, system)


def _pattern(name: str | None) -> Pattern:
    from wirespeed.patterns import all_patterns

    known = all_patterns()
    if name is None:
        raise WirespeedError(f"name what to measure, as in 'wirespeed script groups': {', '.join(known)}")
    values.one_of("PATTERN", name, sorted(known))
    return known[name]


def _where(options: Options) -> tuple[System | None, str]:
    """The machine, if it is a known one, and the batch system."""
    from wirespeed.systems import load, names
    from wirespeed.systems.recognition import recognised_here

    batch = values.one_of("--batch", options.batch, BATCH) if options.batch else None
    name = options.system
    if name is None and batch is None:
        name = recognised_here()
        if name is None:
            raise WirespeedError(
                f"this machine is none of those known: name one with --system ({', '.join(names())}), or "
                f"--batch {'|'.join(BATCH)} with --gpus-per-node"
            )
    if name is None:
        if options.gpus_per_node is None:
            raise WirespeedError(f"--batch {batch}: say how many GPUs a node has, with --gpus-per-node N")
        return None, str(batch)
    system = load(name)
    return system, batch or system.batch.system


def _measurement(pattern: Pattern, words: Sequence[str]) -> tuple[Any, Plan]:
    """The pattern's options as its own command reads them, and the plan they make."""
    from wirespeed.cli.common.command import add_command
    from wirespeed.cli.patterns import command_of, options_of, plans

    app = typer.Typer(add_completion=False)
    add_command(app, pattern.name, options_of(pattern), command_of(pattern))
    context = typer.main.get_command(app).make_context(f"wirespeed {pattern.name}", list(words))
    given = options_of(pattern)(**context.params)
    if given.with_ is not None:
        raise WirespeedError("--with starts a job of its own: it does not go into a script")
    found = plans(pattern, given)
    if len(found) > 1:
        several = [one.name for one in pattern.options if one.many and "," in str(getattr(given, one.key))]
        raise WirespeedError(f"--{several[0] if several else 'ranks'}: {ONE_NUMBER}")
    return given, found[0]


def _job(options: Options, pattern: Pattern, plan: Plan, given: Any, system: System | None) -> BatchJob:
    from wirespeed.job.path_selection import select
    from wirespeed.patterns import Shape
    from wirespeed.systems.scripts import BatchJob

    nodes = values.count("--nodes", options.nodes, least=1, most=1_000_000)
    gpus = system.node.gpus if system else 0
    if options.gpus_per_node is not None:
        gpus = values.count("--gpus-per-node", options.gpus_per_node, most=1000)
    each = _ranks_per_node(options, pattern, plan, nodes, gpus)
    refusal = pattern.refuse(Shape(nodes * each, dict(plan.options)))
    if refusal:
        raise WirespeedError(refusal)
    on_gpus = plan.device != "cpu" and gpus > 0
    paths = select(plan.paths, on_gpus, pattern.within)
    if not paths:
        raise WirespeedError("--paths: none of them can be measured without a GPU")
    return BatchJob(
        pattern=pattern.name,
        words=_without(options.words, ("--paths", "--out", "--ranks"), ("--resume",)),
        paths=tuple(path.name for path in paths),
        out=given.out or "",
        nodes=nodes,
        ranks_per_node=each,
        gpus_per_node=gpus,
        minutes=minutes(options.time),
        choose_ranks=pattern.ranks is None,
        account=_plain("--account", options.account),
        queue=_plain("--queue", options.queue),
        setup=_one_line("--setup", options.setup),
        command=shlex.join(["wirespeed", *sys.argv[1:]])
        if sys.argv[1:2] == ["script"]
        else "wirespeed script",
    )


def _ranks_per_node(options: Options, pattern: Pattern, plan: Plan, nodes: int, gpus: int) -> int:
    """Given, or so that all ranks there are to be are spread evenly; else one a GPU."""
    total = pattern.ranks or plan.ranks
    if options.ranks_per_node is not None:
        each = values.count("--ranks-per-node", options.ranks_per_node, least=1, most=100_000)
        if total and nodes * each != total:
            raise WirespeedError(
                f"{pattern.name}: {total} ranks, not --nodes {nodes} x --ranks-per-node {each}"
            )
        return each
    if total:
        if total % nodes:
            raise WirespeedError(
                f"{pattern.name}: {total} ranks cannot be spread evenly over --nodes {nodes}"
            )
        return total // nodes
    if gpus == 0:
        raise WirespeedError("say how many ranks a node gets, with --ranks-per-node N")
    return gpus


def minutes(word: str) -> int:
    """'30' or '0:30' or '0:30:00' as minutes, rounded up."""
    parts = word.split(":")
    if len(parts) > 3 or not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise WirespeedError(
            f"--time {values.shown(word)}: write minutes, or hours:minutes[:seconds], as in 30 or 1:30"
        )
    hours, rest, seconds = (0, int(parts[0]), 0) if len(parts) == 1 else (*map(int, parts), 0)[:3]
    found = hours * 60 + rest + -(-seconds // 60)
    if found < 1:
        raise WirespeedError(f"--time {values.shown(word)}: at least a minute")
    return found


def _names(words: Sequence[str]) -> list[str]:
    return [word.split("=", 1)[0] for word in words if word.startswith("--")]


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


def _plain(name: str, value: str | None) -> str:
    """A word that goes into the script's head as it is."""
    import re

    if value is not None and not re.fullmatch(r"[\w.:/@+,-]+", value, re.ASCII):
        raise WirespeedError(f"{name} {values.shown(value)}: letters, digits and .:/@+,_- only")
    return value or ""


def _one_line(name: str, value: str | None) -> str:
    if value is not None and not value.isprintable():
        raise WirespeedError(f"{name} {values.shown(value)}: one line of shell")
    return value or ""


SYSTEM = option("--system", "NAME", "The machine: 'wirespeed systems' lists them. Default: this one.")
NODES = option("--nodes", "N", "Nodes of the job.")
TIME = option("--time", "TIME", "Time asked for: minutes, or hours:minutes[:seconds].")
SETUP = option("--setup", "LINE", "A line of shell to run first, as in 'source venv/bin/activate'.")
RANKS = option("--ranks-per-node", "N", "Ranks on each node. Default: one a GPU.")
GPUS = option("--gpus-per-node", "N", "GPUs of a node, for a machine that is not known.")
OUTPUT = typer.Option("-o", "--output", metavar="FILE", help="Write it there; an existing one is kept.")


def _call(
    context: typer.Context,
    pattern: Annotated[str | None, typer.Argument(metavar="PATTERN", help="What to measure.")] = None,
    system: Annotated[str | None, SYSTEM] = None,
    batch: Annotated[
        str | None, option("--batch", "|".join(BATCH), "Batch system of a machine that is not known.")
    ] = None,
    nodes: Annotated[str, NODES] = "1",
    gpus_per_node: Annotated[str | None, GPUS] = None,
    ranks_per_node: Annotated[str | None, RANKS] = None,
    time: Annotated[str, TIME] = "30",
    account: Annotated[str | None, option("--account", "NAME", "Project to charge.")] = None,
    queue: Annotated[str | None, option("--queue", "NAME", "Queue, partition or quality of service.")] = None,
    setup: Annotated[str | None, SETUP] = None,
    output: Annotated[str | None, OUTPUT] = None,
    listed: Annotated[
        bool, flag("--list", "List the known machines instead, as 'wirespeed systems'.")
    ] = False,
) -> int:
    """Write a job script that runs a measurement on a machine.

    Placement, the machine's switches and known breakages are in it, with their sources. After PATTERN come
    its own options and those of every measuring command ('wirespeed PATTERN --help').

    \b
    Examples:
      wirespeed script groups --system summit --nodes 2 --group 6 --paths host,aware --account ABC123
      wirespeed script pingpong --batch slurm --gpus-per-node 4 --nodes 2 --sizes 8:1G -o job.sh
    """
    words = tuple(context.args)
    return int(
        run(
            Options(
                pattern, words, system, batch, nodes, gpus_per_node, ranks_per_node, time, account, queue,
                setup, output, listed,
            )
        )
    )  # fmt: skip


def register(app: typer.Typer) -> None:
    """Adds the command."""
    passing = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("script", context_settings=passing)(_call)
