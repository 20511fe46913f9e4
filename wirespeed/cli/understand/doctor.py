"""Say what this machine has, what is wrong, and what to set.

Draws the machine and lists what costs speed, most expensive first: how it is known, what to do, and what
that is worth where it was measured. Changes nothing.

FILE is a result file of this machine. Default: the newest ./wirespeed-*.jsonl that is one.
"""

from __future__ import annotations

import json
from typing import Any

import click
from msgspec import to_builtins

from wirespeed.cli.common import words
from wirespeed.cli.common.options import flag, option, table_or_json, where, within
from wirespeed.cli.common.streams import note, one_of_ranks
from wirespeed.errors import ExitCode, WirespeedError


@click.command(help=__doc__)
@click.argument("file", required=False, type=words.ANY_FILE)
@flag("--try try_", "Measure what the remedies are worth, each in its own job steps.")
@flag("--look-only", "Start no ranks, not even to see whether MPI takes device pointers.")
@click.option("--after-hang", metavar="FILE", help="Say what may help against the hangs in a result file.")
@flag("--fix", "Print shell lines, and nothing else.")
@within("Time of the whole command with --try; remedies that it leaves no time for are named. Default: 0.")
@table_or_json
@option("--out", words.FILE, "Append facts and findings to a result file, as one record.")
@flag("--strict", "Exit with code 1 if there is a finding.")
@where
def command(file: str | None, after_hang: str | None, fix: bool, style: str, **given: Any) -> ExitCode:
    """Examines and prints."""
    from wirespeed.cli.common.measuring import tell_missed
    from wirespeed.cli.common.reading import read_runs
    from wirespeed.doctor.examine import Request, examine
    from wirespeed.doctor.measured import tried_before
    from wirespeed.frontend.bound import Bound
    from wirespeed.report.console.console import make_console
    from wirespeed.report.doctor.terminal import print_result, shell_lines
    from wirespeed.results.store import Store

    if one_of_ranks():
        raise WirespeedError("doctor starts ranks itself: run it by itself, without a launcher")
    if fix and style == "json":
        raise WirespeedError("--fix and --json are two outputs: choose one")
    if given["try_"] and given["look_only"]:
        raise WirespeedError("--try starts ranks and --look-only starts none: choose one")
    bound = Bound.of(given["budget"] or 0.0, click.get_current_context().obj) if given["try_"] else None
    request = Request(
        device=given["device"],
        mpi=given["mpi"],
        launcher=given["launcher"],
        runs=tuple(read_runs(file)) if file else (),
        file=file or "",
        tried=tried_before(file) if file else {},
        try_remedies=given["try_"],
        start_ranks=not given["look_only"],
        hung=tuple(read_runs(after_hang)) if after_hang else (),
        bound=bound,
    )
    result = examine(request, lambda text: note(f"wirespeed: {text}"))
    record = result.record
    if style == "json":
        click.echo(json.dumps(to_builtins(record), indent=1))
    elif fix:
        click.echo("".join(f"{line}\n" for line in shell_lines(result.findings)), nl=False)
    else:
        print_result(make_console(), result)
    if given["out"]:
        with Store(given["out"], resume=True) as store:
            store.append(record)
    tell_missed(bound)
    return ExitCode.FAILED_ENTRY if given["strict"] and result.standing else ExitCode.OK
