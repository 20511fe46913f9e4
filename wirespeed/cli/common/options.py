"""Options that commands share, and how their words become a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from wirespeed.cli.common import values
from wirespeed.errors import WirespeedError
from wirespeed.job.plan import DEFAULT_SIZES, Plan
from wirespeed.statistics.stopping import Stopping
from wirespeed.units import parse_share, parse_sizes

FORMATS = ("table", "json", "csv", "tutorial", "osu", "prometheus", "reframe")
DEVICES = ("auto", "cpu", "cuda", "hip", "emulated")


def option(name: str, metavar: str, text: str) -> typer.models.OptionInfo:
    """An option that takes a word, with the word's name and its help."""
    made: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=text)
    return made


def flag(name: str, text: str, variable: str | None = None) -> typer.models.OptionInfo:
    """An option that is there or not; an environment variable may stand for it."""
    made: typer.models.OptionInfo = typer.Option(name, help=text, envvar=variable)
    return made


@dataclass(frozen=True)
class Debugging:
    """Of every command."""

    debug: Annotated[bool, flag("--debug", "Show where an unexpected error comes from.")] = False
    test: Annotated[list[str] | None, typer.Option("--test", hidden=True)] = None


@dataclass(frozen=True)
class Reporting:
    """How a result is printed."""

    format: Annotated[
        str,
        option(
            "--format", "|".join(FORMATS), "How to print the result. Tutorial: its lines, GB = 2^30 bytes."
        ),
    ] = "table"
    against: Annotated[
        str | None, option("--against", "SYSTEM", "Put a system's published curves beside ours (as summit).")
    ] = None

    def check_report(self) -> None:
        """Raises WirespeedError before anything is measured in vain."""
        values.one_of("--format", self.format, FORMATS)
        if self.against is None:
            return
        if self.format != "table":
            raise WirespeedError(f"--against prints a table; it does not go with --format {self.format}")
        from wirespeed.report.systems.published_curves import load_system

        load_system(self.against)


@dataclass(frozen=True)
class Where:
    """Which processors, under which MPI."""

    device: Annotated[
        str, option("--device", "|".join(DEVICES), "Kind of processors. Auto: GPUs where there are any.")
    ] = "auto"
    mpi: Annotated[
        str | None,
        option("--mpi", "PATH", "An MPI's prefix or its mpiexec. Default: the machine's, else a wheel's."),
    ] = None
    launcher: Annotated[
        str, option("--launcher", "NAME", "What starts the ranks: auto, mpiexec, srun, flux, jsrun.")
    ] = "auto"


@dataclass(frozen=True)
class Sampling:
    """What to measure, and until when."""

    paths: Annotated[
        str | None,
        option(
            "--paths",
            "NAME,...",
            "Paths to measure: names, patterns as in 'rma*,ipc-*', or all. 'wirespeed paths' lists them.",
        ),
    ] = None
    sizes: Annotated[
        str,
        option("--sizes", "SIZES", "Bytes of a message: powers of two as in 8:1G, or a list as in 0,8,1M."),
    ] = DEFAULT_SIZES
    precision: Annotated[
        str,
        option("--precision", "SHARE", "Stop when the 95 % interval of the median is within ± this share."),
    ] = "1%"
    max_time: Annotated[
        str, option("--max-time", "SECONDS", "Stop after this time per size all the same, and say so.")
    ] = "0.15"
    loops: Annotated[
        str | None, option("--loops", "N", "Measure exactly N rounds per size instead of --precision.")
    ] = None
    warmup: Annotated[
        str | None, option("--warmup", "N", "Rounds before measuring. Default: 5 rounds or 0.2 s.")
    ] = None


@dataclass(frozen=True)
class Measuring(Where, Sampling):
    """What every measuring command takes."""

    between: Annotated[
        str | None,
        option("--between", "I,J", "Processor of each rank: GPU numbers, or CPU cores with --device cpu."),
    ] = None
    hosts: Annotated[str | None, option("--hosts", "NAME,...", "Hosts to place the ranks on, in turn.")] = (
        None
    )
    out: Annotated[str | None, option("--out", "FILE", "Result file. Default: ./wirespeed-<time>.jsonl.")] = (
        None
    )
    resume: Annotated[bool, flag("--resume", "Go on with --out's file: measure only what it lacks.")] = False
    link: Annotated[
        str | None,
        option(
            "--link",
            "NAME=RATE,...",
            "What a wire can carry one way, where its driver does not say: eth0=25Gbit/s, pcie=32GB/s.",
        ),
    ] = None
    no_evidence: Annotated[
        bool,
        flag("--no-evidence", "Do not count bytes on the wires after the figures.", "WIRESPEED_NO_EVIDENCE"),
    ] = False
    timeout: Annotated[
        str | None,
        option("--timeout", "SECONDS", "Time without progress that is a hang. Default: by message size."),
    ] = None

    def plan(
        self,
        pattern: str,
        ranks: int,
        debug: bool = False,
        test: Sequence[str] | None = None,
        own: tuple[tuple[str, Any], ...] = (),
    ) -> Plan:
        """The plan in these words; `own`: the pattern's options. Raises WirespeedError with one line."""
        if self.resume and not self.out:
            raise WirespeedError("--resume goes on with a result file: name it with --out FILE")
        if self.link and self.no_evidence:
            raise WirespeedError("--link rates the wires that are counted: it does not go with --no-evidence")
        return Plan(
            pattern=pattern,
            paths=values.path_names(self.paths),
            sizes=values.named("--sizes", self.sizes, parse_sizes),
            stopping=Stopping(
                precision=values.named("--precision", self.precision, parse_share),
                max_time=values.number("--max-time", self.max_time),
                loops=None if self.loops is None else values.count("--loops", self.loops, least=1),
                warmup=None if self.warmup is None else values.count("--warmup", self.warmup),
            ),
            device=values.one_of("--device", self.device, DEVICES),
            between=values.processors(self.between, ranks),
            ranks=ranks,
            options=own,
            mpi=values.word("--mpi", self.mpi),
            launcher=values.launcher(self.launcher),
            hosts=values.host_names(self.hosts),
            out=values.word("--out", self.out),
            resume=self.resume,
            timeout=None if self.timeout is None else values.number("--timeout", self.timeout),
            links=values.links(self.link),
            evidence=not self.no_evidence,
            debug=debug,
            test=values.test_pairs(test),
        )
