"""Make a report of result files: one page, or Markdown.

The page is one file that needs no network. Each FILE is a result file (wirespeed-....jsonl); several go into
one report, of different machines, too. Damaged lines are left out, with a warning.
"""

from __future__ import annotations

from pathlib import Path

import click

from wirespeed.cli.common.options import debugging
from wirespeed.errors import ExitCode, WirespeedError


@click.command(help=__doc__)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--out", "-o", metavar="FILE", default="report.html", help="Report to write: .html or .md.")
@debugging
def command(files: tuple[str, ...], out: str) -> ExitCode:
    """Reads, and writes a file."""
    from wirespeed.cli.common.reading import read_pages
    from wirespeed.report.page import render
    from wirespeed.results.reading import cannot, shown, why

    if not out.endswith((".html", ".md")):
        raise WirespeedError(f"--out {out}: the name of a report ends in .html or .md")
    sources, lost = read_pages(files)
    if out.endswith(".md"):
        from wirespeed.report.export.markdown import markdown

        page = markdown(sources, lost)
    else:
        page = render(sources, lost)
    try:
        _write(Path(out), page)
    except (OSError, ValueError) as error:
        raise cannot(f"cannot write {shown(out)}: {why(error)}") from None
    print(out)
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
