"""Options that commands share, and the plan that they make."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from wirespeed.cli.common import words
from wirespeed.cli.common.help_all import RARE, help_all
from wirespeed.errors import WirespeedError
from wirespeed.job.plan import Plan
from wirespeed.statistics.stopping import Stopping

if TYPE_CHECKING:
    from rich.console import Console

    from wirespeed.results.findings import RecordedFinding
    from wirespeed.results.runs import Run

Decorated = Callable[..., Any]
Decorator = Callable[[Decorated], Decorated]
FORMATS = ("table", "json", "ticket", "csv", "tutorial", "osu", "nccl-tests", "prometheus", "reframe")
STOPPING = ("precision", "max_time", "loops", "warmup")


def unlisted(command: click.Command, *names: str) -> click.Command:
    """The command; its --help leaves out these options, which it refuses with a reason of its own."""
    for param in command.params:
        if isinstance(param, click.Option) and param.name in names:
            param.hidden = True
    return command


def together(*options: Decorator) -> Decorator:
    """Options as one decorator; --help lists them in this order."""

    def add(function: Decorated) -> Decorated:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def option(names: str, kind: words.Word, text: str, default: str | None = None, **more: Any) -> Decorator:
    """An option that takes a word of this kind. `names`: '--out -o'; its own parameter's name stands last.

    `default`: None where it is to tell that the user has not said anything.
    """
    return click.option(*names.split(), type=kind, default=default, help=text, **more)


class _Formatted(click.Option):
    """--format, of which some values are flags as well: --json is --format json."""

    def __init__(self, *names: Any, short: tuple[str, ...], **more: Any) -> None:
        super().__init__(*names, **more)
        self.short = short

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        for name in self.short:
            parser.add_option(self, [f"--{name}"], self.name, action="store_const", const=name)


def formatted(kind: words.Word, text: str, *short: str) -> Decorator:
    """How to print the result; `short`: formats that are options, too."""
    text += f" {' and '.join(f'--{name}' for name in short)} may be written alone."
    return click.option(
        "--format", "style", cls=_Formatted, type=kind, default="table", help=text, short=short
    )


def flag(names: str, text: str, **more: Any) -> Decorator:
    """An option that takes no word; `names`: as of option()."""
    return click.option(*names.split(), is_flag=True, help=text, **more)


_DEBUG = "Show where an unexpected error comes from."
debugging = flag("--debug", _DEBUG, expose_value=False)
"""For commands that start no ranks."""

_DEVICE = (
    "auto (GPUs if there are any), cpu, cuda, hip, openmp or emulated; or GPUs by number, or by the first "
    "digits of a UUID: cuda:GPU-3f2a,cuda:MIG-91c0."
)
where = together(
    option("--device", words.DEVICE, _DEVICE, "auto"),
    option("--mpi", words.MPI, "Prefix of an MPI, or its mpiexec. Default: the machine's, or a wheel's."),
    option(
        "--launcher",
        words.LAUNCHER,
        "What starts the ranks: auto, mpiexec, srun, flux, jsrun.",
        "auto",
        **RARE,
    ),
    flag("--debug", _DEBUG, **RARE),
    click.option("--test", type=words.TEST, multiple=True, hidden=True),
)
"""Options that choose the processors and the MPI."""


def goes_with(wanted: str, *names: str) -> None:
    """Raises WirespeedError if the user has typed one of these options; a variable's value is not counted.

    `names`: those of their parameters.
    """
    context = click.get_current_context()
    for param in context.command.params:
        if param.name in names and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            raise WirespeedError(f"{param.opts[0]} goes with {wanted}")


def within(text: str) -> Decorator:
    """The bound on a command's time; --budget is its older name."""
    return click.option(
        *("--within", "--budget", "budget"),
        type=words.BOUND,
        help=text,
        envvar=["WIRESPEED_WITHIN", "WIRESPEED_BUDGET"],
        show_envvar=True,
    )


_PATHS = "Paths to measure: names, wildcards such as 'rma*,ipc-*', or all. 'wirespeed paths' lists them."
_SIZES = "Message sizes in bytes: powers of two as in 8:1G, or a list as in 0,8,1M."
_BLOCKS = "Sizes of a block in bytes: powers of two as in 4K:1M, or a list as in 4K,96K."
_sampling = together(
    option("--precision", words.SHARE, "Stop when the median's 95 % interval is within ± this share.", "1%"),
    option(
        "--max-time", words.SECONDS, "Time per size; up to three times that where it helps.  [default: 0.05]"
    ),
    within(
        "Time of the whole command, its start and end included: 10s, 2m; 0: none. What it leaves no time for "
        "is named. Default: 1m a launch, 20s of copy; 0 with --max-time, --loops, --soak, programs and watch."
    ),
    option(
        "--loops", words.count(1), "Measure exactly N iterations per size, whatever the precision.", **RARE
    ),
    option(
        "--warmup",
        words.count(),
        "Untimed iterations first. Default: 5, fewer if 5 take over 0.05 s.",
        **RARE,
    ),
    option("--allocator", words.ALLOCATOR, "Who hands out GPU memory; docs/devices.md.", "driver", **RARE),
    option(
        "--context",
        words.CONTEXT,
        "own: memory is allocated before any CUDA context is current, which some MPIs do not take.",
        "primary",
        **RARE,
    ),
    option("--between", words.CORES, "Processor of each rank: GPU numbers, or CPU cores with --device cpu."),
    option(
        "--ranks-per-gpu",
        words.count(1, 64),
        "So many neighbouring ranks share each GPU. Default: none shares one.",
    ),
    option("--hosts", words.HOSTS, "Place the ranks on these hosts, in turn."),
)
recording = together(
    option("--out -o", words.FILE, "Result file. Default: ./wirespeed-<time>.jsonl."),
    flag("--resume", "Measure only what the file of --out lacks."),
    option(
        "--link links",
        words.LINKS,
        "Peak rate of a link, one way, if its driver does not report it: eth0=25Gbit/s,pcie=32GB/s.",
        **RARE,
    ),
    flag(
        "--no-evidence",
        "Do not count the bytes on the links after measuring, and do not read the hosts' health.",
        envvar="WIRESPEED_NO_EVIDENCE",
        show_envvar=True,
        **RARE,
    ),
    option(
        "--timeout", words.SECONDS, "Time without progress that counts as a hang. Default: by size.", **RARE
    ),
)
"""Options of what is recorded, and of how long is waited for it."""


def measuring(sizes: str, name: str = "sizes") -> Decorator:
    """Options of every measuring command, besides `where`; plan_of() makes a plan of both.

    `name`: of the option that lists the sizes, which are called --sizes as well.
    """
    text = _SIZES if name == "sizes" else _BLOCKS
    names = (f"--{name}", "--sizes", "sizes") if name != "sizes" else ("--sizes",)
    sized = click.option(*names, type=words.SIZES, help=f"{text}  [default: {sizes}]")
    return together(option("--paths", words.PATHS, _PATHS), sized, _sampling, recording, help_all)


soaking = option(
    "--soak",
    words.SECONDS,
    "Time per path and size in which iterations run freely and each message is checked on its way; "
    "docs/checking.md.",
    **RARE,
)
"""For patterns that move bytes unchanged."""


fresh = option(
    "--fresh",
    words.count(1, 100_000),
    "Check so many further messages of each size, each from memory allocated for it, and say what its first "
    "use costs. With --soak: free the memory and allocate it again so often.",
    **RARE,
)
"""For patterns that move bytes unchanged."""


dry_run = flag(
    "--dry-run",
    "Print what would be measured, by which processes, and what not and why; start nothing.",
    **RARE,
)
"""For commands that measure once."""


launches = option(
    "--launches",
    words.count(1, 1000),
    "Measure everything N times with new processes; from 3 on, intervals include how launches differ.",
    "1",
)
"""For commands that measure once."""


profiling = together(
    option(
        "--timeline",
        words.FILE,
        "Write what each rank did, and when, for Perfetto or Chrome (.json), or Vampir (.otf2, a folder).",
        **RARE,
    ),
    flag("--timing", "Also print where the time of each path went.", **RARE),
    option(
        "--profile", words.PROFILER, "Start each rank under this profiler, with a file for each path.", **RARE
    ),
)
"""For commands that measure once."""


def reporting(published: bool = True, collective: bool = True) -> Decorator:
    """Options of printing: Reporting. `published` and `collective`: which layouts of others fit it."""
    text = "How to print the result."
    if published:
        text += " Tutorial means as the ping-pong tutorial does, with GB = 2^30 bytes."
    fitting = {"tutorial": published, "nccl-tests": collective}
    listed = [name for name in FORMATS if fitting.get(name, True)]
    kind = words.Word("|".join(listed), words.choice(*FORMATS).parse)
    against = "Also print a system's published curves (summit)."
    return together(
        formatted(kind, text, "json", "ticket"),
        click.option("--against", metavar="SYSTEM", hidden=not published, help=against),
        flag(
            "--explain",
            "Also print what the columns and marks mean, each limit's equation, and what paths chose.",
        ),
        flag("--all-sizes", "Print a row for each size, also if they do not fit a screen."),
    )


table_or_json = formatted(words.choice("table", "json"), "How to print the result.", "json")


def plan_of(given: dict[str, Any], ranks: int = 2, **more: Any) -> Plan:
    """The plan in the values of measuring() or `where`. Raises WirespeedError for what cannot be combined."""
    found = {name: value for name, value in given.items() if value is not None}
    if found.get("resume") and not found.get("out"):
        raise WirespeedError("--resume goes on with a result file: name it with --out FILE")
    without_evidence = found.pop("no_evidence", False)
    if without_evidence and found.get("links"):
        raise WirespeedError("--link rates the links that are counted: it does not go with --no-evidence")
    if ranks and "between" in found and len(found["between"]) != ranks:
        example = ",".join(map(str, range(min(ranks, 8))))
        raise WirespeedError(f"--between: write one processor for each of the {ranks} ranks, as in {example}")
    if "between" in found and "ranks_per_gpu" in found:
        raise WirespeedError("--between and --ranks-per-gpu both place the ranks: write one of them")
    stopping = Stopping(**{name: found.pop(name) for name in STOPPING if name in found})
    return Plan(ranks=ranks, stopping=stopping, evidence=not without_evidence, **found, **more)


@dataclass(frozen=True)
class Reporting:
    """Layout of what is printed. Raises WirespeedError before anything is measured in vain."""

    format: str = "table"
    against: str | None = None
    explain: bool = False
    all_sizes: bool = False

    def __post_init__(self) -> None:
        if self.explain and self.format != "table":
            raise WirespeedError(f"--explain explains a table; it does not go with --format {self.format}")
        if self.all_sizes and self.format != "table":
            raise WirespeedError(
                f"--all-sizes is for a table; --format {self.format} has all sizes: leave it out"
            )
        if self.against is None:
            return
        if self.format != "table":
            raise WirespeedError(f"--against prints a table; it does not go with --format {self.format}")
        from wirespeed.report.systems.published_curves import load_system

        load_system(self.against)

    def console(self) -> Console:
        """Stream of what goes with a result: beside a table, and not within what programs read."""
        from wirespeed.report.console.console import make_console

        return make_console(sys.stdout if self.format == "table" else sys.stderr)

    def print(
        self,
        runs: Sequence[Run],
        recorded: Sequence[RecordedFinding] = (),
        stream: IO[str] | None = None,
    ) -> None:
        """The runs, on stdout or a stream; `recorded`: what the doctor found, by the same file."""
        from wirespeed.report.export.formats import TEXTS, print_tables

        stream = sys.stdout if stream is None else stream
        if self.format == "table":
            more = {"explain": self.explain, "all_sizes": self.all_sizes}
            print_tables(runs, recorded, stream, self.against, **more)
        else:
            # Line by line: with PYTHONUNBUFFERED, Python drops the rest when a long write falls short.
            stream.writelines(TEXTS[self.format](runs, recorded).splitlines(keepends=True))
        stream.flush()
