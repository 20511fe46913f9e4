"""wirespeed doctor: what this machine has, what is wrong with it, and what to set."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import DEVICES, Debugging, Where, flag, option
from wirespeed.errors import ExitCode, WirespeedError

if TYPE_CHECKING:
    from wirespeed.doctor.result import Result

ORDER = 15


@dataclass(frozen=True)
class _File:
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A result file of this machine. Default: the newest ./wirespeed-*.jsonl that is one.",
        ),
    ] = None


@dataclass(frozen=True)
class _What:
    try_: Annotated[bool, flag("--try", "Measure what remedies are worth, each in job steps of its own.")] = (
        False
    )
    look_only: Annotated[
        bool, flag("--look-only", "Start no ranks: not even to try whether MPI takes device pointers.")
    ] = False
    after_hang: Annotated[
        str | None, option("--after-hang", "FILE", "What may help against the hangs in a result file.")
    ] = None


@dataclass(frozen=True)
class _Output:
    fix: Annotated[bool, flag("--fix", "Print shell lines, and nothing else.")] = False
    json: Annotated[bool, flag("--json", "Print facts and findings as one object.")] = False
    out: Annotated[
        str | None, option("--out", "FILE", "Append facts and findings to a result file, as one record.")
    ] = None
    strict: Annotated[bool, flag("--strict", "Exit code 1 if there is a finding.")] = False


@dataclass(frozen=True)
class Options(Debugging, _Output, _What, Where, _File):
    """Of wirespeed doctor."""


def run(options: Options) -> ExitCode:
    """See what this machine has, what is wrong with it, and what to set.

    Draws the machine and lists what costs speed, dearest first: how it is known, what to do, and what that
    is worth where it was measured. Changes nothing.
    """
    from wirespeed.cli.common.reading import read_runs
    from wirespeed.doctor.examine import Request, examine
    from wirespeed.doctor.measured import tried_before
    from wirespeed.launch import launched_rank

    if launched_rank():
        raise WirespeedError("doctor starts ranks itself: run it by itself, without a launcher")
    if options.fix and options.json:
        raise WirespeedError("--fix and --json are two outputs: choose one")
    if options.try_ and options.look_only:
        raise WirespeedError("--try starts ranks and --look-only starts none: choose one")
    values.word("--out", options.out)
    request = Request(
        device=values.one_of("--device", options.device, DEVICES),
        mpi=values.word("--mpi", options.mpi),
        launcher=values.launcher(options.launcher),
        runs=tuple(read_runs(options.file)) if options.file else (),
        file=options.file or "",
        tried=tried_before(options.file) if options.file else {},
        try_remedies=options.try_,
        start_ranks=not options.look_only,
        hung=tuple(read_runs(options.after_hang)) if options.after_hang else (),
    )
    result = examine(request, _say)
    _print(options, result)
    if options.out:
        result.append_to(options.out)
    return ExitCode.FAILED_ENTRY if options.strict and result.findings else ExitCode.OK


def _print(options: Options, result: Result) -> None:
    from wirespeed.report.doctor.terminal import print_result, shell_lines
    from wirespeed.report.terminal.run_summary import make_console

    if options.json:
        sys.stdout.write(json.dumps(result.to_record(), indent=1, default=str) + "\n")
    elif options.fix:
        sys.stdout.write("".join(f"{line}\n" for line in shell_lines(result.findings)))
    else:
        print_result(make_console(), result)
    sys.stdout.flush()


def _say(text: str) -> None:
    """Progress goes beside the result."""
    print(f"wirespeed: {text}", file=sys.stderr, flush=True)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "doctor", Options, run)
