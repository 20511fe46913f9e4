"""Hold results against bounds in a file, for acceptance tests.

FILE has the results: a result file, a folder of them, a quoted wildcard, or another tool's output. Each rule
([[require]]) that does not hold is one line; the exit code is then 6, or 7 if a figure is impossible. It is 8
if all that could be judged holds, but some could not be.

\b
Examples:
  wirespeed pingpong --launches 5 --out good.jsonl     # a healthy machine
  wirespeed check --learn good.jsonl -o site.toml      # write bounds that it reaches
  wirespeed check --require site.toml RESULTS.jsonl    # hold other results against them
  wirespeed check --require site.toml --measure        # measure what they need, now
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import flag, goes_with, option, plan_of, table_or_json, where, within
from wirespeed.cli.common.streams import note, one_of_ranks, print_or_write, warn
from wirespeed.errors import ExitCode, WirespeedError, gravest
from wirespeed.job.plan import Plan

if TYPE_CHECKING:
    from wirespeed.cli.common.measuring import PlanResult
    from wirespeed.frontend.bound import Bound
    from wirespeed.report.check.requirements import Requirement
    from wirespeed.results.runs import Run


OF_MEASURE = ("out", "budget", "device", "mpi", "launcher")
"""Options that go with --measure."""
MAX_LAUNCHES = 3
"""Launches of --measure: the second tells nearly always whether the first was a chance."""


@click.command(help=__doc__)
@click.argument("file", required=False, type=words.ANY_FILE)
@click.option("--require", metavar="SITE.toml", help="Bounds that must hold.")
@flag(
    "--measure",
    "Measure what --require asks for, instead of reading FILE; again where one launch alone is slow.",
)
@option("--out", words.FILE, "Result file of --measure.")
@within(
    "With --measure: time of the whole command, as 2m; what it leaves no time for cannot be told (exit code "
    "8). Default: 0, none."
)
@flag("--strict", "What cannot be told fails as well (exit code 6).")
@flag("--all everything", "Also print the rules that hold.")
@flag("--explain", "Print a line for each size of each rule.")
@table_or_json
@click.option("--learn", metavar="FILE", help="Write a first SITE.toml from these results.")
@option("--spread", words.PART, "With --learn: what launches differ by (standard deviation), if you know it.")
@click.option("-o", "--output", type=words.FILE, help="Where --learn writes to. Default: stdout.")
@where
def command(
    file: str | None,
    require: str | None,
    learn: str | None,
    output: str | None,
    spread: float | None,
    measure: bool,
    **given: Any,
) -> ExitCode:
    """Checks, or learns."""
    how = {name: given.pop(name) for name in ("strict", "everything", "explain")}
    as_json = given.pop("style") == "json"
    if learn is not None:
        if require is not None or measure or file is not None:
            raise WirespeedError(
                "--learn FILE goes with -o SITE.toml alone; check against that file afterwards"
            )
        goes_with("--require", "strict", "everything", "explain", "style", *OF_MEASURE)
        return _learn(learn, output, spread)
    if spread is not None:
        raise WirespeedError("--spread goes with --learn")
    if require is None:
        raise WirespeedError("--require SITE.toml says what must hold; --learn FILE writes a first one")
    if output is not None:
        raise WirespeedError("-o says where --learn writes to; result files are named with --out")
    if (file is None) != measure:
        raise WirespeedError("give either FILE or --measure")
    if not measure:
        goes_with("--measure", *OF_MEASURE)
    from wirespeed.cli.common.reading import read_side
    from wirespeed.report import cannot_tell
    from wirespeed.report.check.evaluate import check, rules
    from wirespeed.report.check.requirements import read_requirements
    from wirespeed.report.check.terminal import print_findings, to_json
    from wirespeed.report.console.console import make_console
    from wirespeed.report.facts.summary import answer
    from wirespeed.results.runs import IMPOSSIBLE

    requirements = read_requirements(require)
    if file is not None:
        code, runs = ExitCode.OK, read_side(file)
    else:
        code, runs = _measure(plan_of(given), requirements, require)
    findings = check(requirements, runs)
    if as_json:
        click.echo(to_json(findings, answer(runs)))
    else:
        print_findings(make_console(), require, findings, **how)
    if code == ExitCode.INTERRUPTED:
        return code
    outcomes = rules(findings)
    broken = [finding.what for rule in outcomes for finding in rule.broken(strict=how["strict"])]
    codes = [ExitCode.IMPOSSIBLE if what == IMPOSSIBLE else ExitCode.WORSE for what in broken]
    unjudged = any(rule.unjudged for rule in outcomes)
    return gravest(code, cannot_tell.code(unjudged, strict=how["strict"]), *codes)


def _measure(base: Plan, requirements: Sequence[Requirement], file: str) -> tuple[ExitCode, list[Run]]:
    """What the requirements in the file need, and nothing else, in one result file.

    What one launch does not tell is measured in another one.
    """
    from wirespeed.cli.common.measuring import bound_of, tell_missed
    from wirespeed.frontend.bound import LEAST_S
    from wirespeed.frontend.rank_limit import refuse_too_many
    from wirespeed.report.check.evaluate import check, once_broken
    from wirespeed.results.runs import resumed

    if one_of_ranks():
        raise WirespeedError("--measure starts jobs of its own: not inside a launcher's job; give it a file")
    wanted = [*plans(base, requirements)]
    refuse_too_many(wanted, f"write oversubscribe = true beside ranks in {file}")
    bound = bound_of(base)
    measured, code = _measured(wanted, bound), ExitCode.OK
    for launch in range(2, MAX_LAUNCHES + 1):
        doubted = once_broken(check(requirements, resumed(measured.runs)), requirements) if measured else []
        if measured is None or not doubted or measured.code == ExitCode.INTERRUPTED:
            break
        if bound and bound.left < LEAST_S:
            note(f"a second launch, which tells whether the first one was a chance, is left out for {bound}")
            break
        names = ", ".join(dict.fromkeys(asked.name for asked in doubted if asked.bytes is not None))
        note(f"one launch was beyond a bound, so these are measured again: {names}")
        again = [replace(plan, launches=launch) for plan in plans(base, doubted)]
        try:
            measured = _measured(again, bound, measured.file)
        except WirespeedError as error:
            note(str(error))
            code = error.code
            break
    if measured is None:
        return ExitCode.OK, []
    if measured.file:
        note(f"results: {measured.file}")
    tell_missed(bound)
    return measured.code if measured.code == ExitCode.INTERRUPTED else code, resumed(measured.runs)


def _measured(wanted: Sequence[Plan], bound: Bound | None, file: str = "") -> PlanResult | None:
    """The last plan's outcome, with the records of all; they go on with the file, if there is one."""
    from wirespeed.cli.common.measuring import measure_plan

    measured = None
    for number, plan in enumerate(wanted, 1):
        plan = replace(plan, out=file, resume=True) if file else plan
        part = bound.part(1 + len(wanted) - number) if bound else None
        measured = measure_plan(plan, bound=part)
        file = measured.file
        if measured.code == ExitCode.INTERRUPTED:
            break
    return measured


class _Job(NamedTuple):
    """What the figures of one plan have in common."""

    pattern: str
    ranks: int
    options: tuple[tuple[str, object], ...]
    oversubscribe: bool


def plans(base: Plan, requirements: Sequence[Requirement]) -> Iterator[Plan]:
    """One for each pattern with its options, and each set of sizes."""
    from wirespeed.patterns import Shape, find_pattern
    from wirespeed.patterns.rules import LIBRARY

    sizes: dict[tuple[_Job, str], set[int]] = defaultdict(set)
    for requirement in requirements:
        if requirement.bytes is None:
            continue
        pattern = find_pattern(requirement.pattern)
        # A path's name says by which algorithm: others are not measured with it.
        usual = {one.key: LIBRARY if one.in_one_table else one.default for one in pattern.options}
        own = usual | requirement.options
        job = _Job(
            requirement.pattern,
            requirement.ranks or pattern.at(Shape(0, own)).rank_rule.exact or 0,
            tuple(own.items()),
            requirement.oversubscribe,
        )
        sizes[job, requirement.path].add(requirement.bytes)
    paths: dict[tuple[_Job, tuple[int, ...]], list[str]] = defaultdict(list)
    for (job, path), wanted in sizes.items():
        paths[job, tuple(sorted(wanted))].append(path)
    for (job, in_order), names in paths.items():
        # Bounds may have been learnt where ranks shared GPUs.
        yield replace(base, **job._asdict(), sizes=in_order, paths=tuple(names), share_gpus=True)


def _learn(name: str, output: str | None, spread: float | None = None) -> ExitCode:
    """Writes bounds that the results keep."""
    from wirespeed.cli.common.reading import files_of, read_side
    from wirespeed.judge.model import FEWEST_LEARNT
    from wirespeed.report.check.learn import learn

    runs = read_side(name)
    site = learn(runs, files_of(name), spread)
    if "\n[[require]]\n" not in site.text:
        if any(entry.contended for run in runs for entry in run.entries.values()):
            why = (
                "ranks waited for CPUs, so that no figure makes a bound; measure again when nothing else runs"
            )
            raise WirespeedError(f"{name}: {why}")
        if any(entry.precision is not None for run in runs for entry in run.entries.values()):
            raise WirespeedError(
                f"{name}: bounds need {FEWEST_LEARNT} launches or more (--launches {FEWEST_LEARNT}), "
                "or --spread, if you know what launches differ by"
            )
        raise WirespeedError(f"{name}: no entry has enough samples to derive a bound")
    print_or_write(site.text, output)
    for line in site.odd_lines:
        warn(line)
    return ExitCode.OK
