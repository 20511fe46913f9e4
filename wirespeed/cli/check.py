"""wirespeed check: does this machine reach what it must?"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import DEVICES, Debugging, Where, flag, option
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import Plan

if TYPE_CHECKING:
    from wirespeed.report.check.requirements import Requirement
    from wirespeed.results.runs import Run

ORDER = 44


@dataclass(frozen=True)
class _File:
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="Results: a file, a folder of them, or a pattern in quotes."),
    ] = None


@dataclass(frozen=True)
class Options(Debugging, Where, _File):
    """Of wirespeed check."""

    require: Annotated[str | None, option("--require", "SITE.toml", "Bounds that must hold.")] = None
    measure: Annotated[bool, flag("--measure", "Measure just what --require asks for, instead of FILE.")] = (
        False
    )
    out: Annotated[str | None, option("--out", "FILE", "Result file of --measure.")] = None
    strict: Annotated[bool, flag("--strict", "Figures in doubt fail as well.")] = False
    everything: Annotated[bool, flag("--all", "Print the bounds that hold, too.")] = False
    learn: Annotated[
        str | None, option("--learn", "FILE", "Write a starting SITE.toml from these results.")
    ] = None
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="SITE.toml", help="Where --learn writes to.")
    ] = None


def run(options: Options) -> ExitCode:
    """Hold results against the bounds in a file, for acceptance tests and the ends of jobs.

    One line for each bound that does not hold; the exit code is then 6.

    \b
    wirespeed check --learn RESULTS.jsonl -o site.toml   # write bounds that this machine reaches
    wirespeed check --require site.toml RESULTS.jsonl    # hold other results against them
    wirespeed check --require site.toml --measure        # measure what they need, now
    """
    if options.learn is not None:
        return _learn(options)
    if options.require is None:
        raise WirespeedError("--require SITE.toml says what must hold; --learn FILE writes a first one")
    if options.output is not None:
        raise WirespeedError("-o says where --learn writes to; result files are named with --out")
    if (options.file is None) != options.measure:
        raise WirespeedError("give a result file, or --measure to measure now: one of both")
    return _check(options, options.require)


def _check(options: Options, name: str) -> ExitCode:
    from wirespeed.cli.common.sides import read_side
    from wirespeed.report.check.evaluate import check
    from wirespeed.report.check.requirements import read_requirements
    from wirespeed.report.check.terminal import print_findings
    from wirespeed.report.terminal.run_summary import make_console

    requirements = read_requirements(name)
    code = ExitCode.OK
    if options.file is not None:
        runs = read_side(options.file)
    else:
        code, runs = _measure(options, requirements)
    findings = check(requirements, runs)
    print_findings(make_console(), name, findings, strict=options.strict, everything=options.everything)
    if code == ExitCode.INTERRUPTED:
        return code
    return ExitCode.WORSE if any(one.bad(strict=options.strict) for one in findings) else ExitCode.OK


def _measure(options: Options, requirements: Sequence[Requirement]) -> tuple[ExitCode, list[Run]]:
    """What the requirements need, and nothing else, in one result file."""
    from wirespeed.cli.common.measuring import measure_plan, note
    from wirespeed.launch import launched_rank
    from wirespeed.results.runs import collect

    if launched_rank():
        raise WirespeedError("--measure starts jobs of its own: not inside a launcher's job; give it a file")
    code, file, records = ExitCode.OK, values.word("--out", options.out), []
    for number, plan in enumerate(plans(options, requirements)):
        measured = measure_plan(dataclasses.replace(plan, out=file, resume=number > 0))
        file, records, code = measured.file, measured.records, measured.code
        if code == ExitCode.INTERRUPTED:
            break
    note(f"results: {file}")
    return code, collect(records)


def plans(options: Options, requirements: Sequence[Requirement]) -> Iterator[Plan]:
    """One for each pattern with its options, and each set of sizes."""
    from wirespeed.patterns import find_pattern

    sizes: dict[tuple[str, str, int, tuple[tuple[str, object], ...]], set[int]] = {}
    for one in requirements:
        pattern = find_pattern(one.pattern)
        own = {option.key: option.default for option in pattern.options} | one.options
        ranks = one.ranks or pattern.ranks or 0
        sizes.setdefault((one.path, one.pattern, ranks, tuple(own.items())), set()).add(one.bytes)
    together: dict[tuple[str, int, tuple[tuple[str, object], ...], tuple[int, ...]], list[str]] = {}
    for (path, name, ranks, own_options), wanted in sizes.items():
        together.setdefault((name, ranks, own_options, tuple(sorted(wanted))), []).append(path)
    for (name, ranks, own_options, wanted_sizes), paths in together.items():
        yield Plan(
            pattern=name,
            paths=tuple(paths),
            sizes=wanted_sizes,
            device=values.one_of("--device", options.device, DEVICES),
            ranks=ranks,
            options=own_options,
            mpi=values.word("--mpi", options.mpi),
            launcher=values.launcher(options.launcher),
            debug=options.debug,
            test=values.test_pairs(options.test),
        )


def _learn(options: Options) -> ExitCode:
    from wirespeed.cli.common.sides import files_of, read_side
    from wirespeed.report.check.learn import learn

    if options.require is not None or options.measure or options.file is not None:
        raise WirespeedError("--learn FILE goes with -o SITE.toml alone; hold results against it afterwards")
    name = str(options.learn)
    runs = read_side(name)
    text = learn(runs, files_of(name))
    if "\n[[require]]\n" not in text:
        raise WirespeedError(f"{name}: no figure in it that several samples tell the usual range of")
    if options.output is None:
        sys.stdout.write(text)
        return ExitCode.OK
    try:
        with Path(options.output).open("x", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise WirespeedError(f"cannot write {options.output}: {why}", ExitCode.CANNOT_WRITE) from None
    return ExitCode.OK


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "check", Options, run)
