"""wirespeed report: one page, or one Markdown file, of what result files hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging
from wirespeed.errors import ExitCode, WirespeedError

ORDER = 42
SUFFIXES = (".html", ".md")


@dataclass(frozen=True)
class _Files:
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Result files (wirespeed-....jsonl).")]


@dataclass(frozen=True)
class _Out:
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help="What to write: report.html or report.md, by its end."
        ),
    ] = "report.html"


@dataclass(frozen=True)
class Options(Debugging, _Out, _Files):
    """Of wirespeed report."""


def run(options: Options) -> ExitCode:
    """Make a report of result files: one page that needs no network, or Markdown.

    Several files go into one report, of different machines, too. Damaged lines are left out, with a warning.
    """
    from wirespeed.cli.common.reading import MOST_WARNINGS, warn

    if not options.out.endswith(SUFFIXES):
        allowed = " or ".join(SUFFIXES)
        raise WirespeedError(f"--out {options.out}: a report's name ends in {allowed}")
    from wirespeed.report.page import read_sources, render

    sources, lost = read_sources(options.files)
    for line in lost:
        warn(line)
    for source in sources:
        for line in source.warnings[:MOST_WARNINGS]:
            warn(f"{source.file}: {line}")
        if len(source.warnings) > MOST_WARNINGS:
            warn(f"{source.file}: {len(source.warnings) - MOST_WARNINGS} more of this kind")
    if options.out.endswith(".md"):
        from wirespeed.report.export.markdown import markdown

        page = markdown(sources, lost)
    else:
        page = render(sources, lost)
    try:
        _write(Path(options.out), page)
    except (OSError, ValueError) as error:
        from wirespeed.results.reading import cannot, shown, why

        raise cannot(f"cannot write {shown(options.out)}: {why(error)}") from None
    print(options.out)
    return ExitCode.OK


def _write(file: Path, page: str) -> None:
    """An earlier page stays as it is until the new one is whole."""
    if file.exists() and not file.is_file():
        file.write_text(page, encoding="utf-8")  # a pipe, or a device
        return
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(page, encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "report", Options, run)
