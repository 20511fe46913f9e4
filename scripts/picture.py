"""Draws a result file as `wirespeed show` prints it: an SVG picture that needs nothing from elsewhere.

python scripts/picture.py FILE OUT.svg [--against SYSTEM] [--width COLUMNS]
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from wirespeed.cli.common.reading import read_runs
from wirespeed.errors import WirespeedError
from wirespeed.report.systems.published_curves import load_system, print_against
from wirespeed.report.terminal.run_summary import print_run

LETTER = 12.2
"""Width of a letter in Rich's pictures."""
THEME = TerminalTheme(
    (24, 26, 31),
    (214, 217, 224),
    [
        *((24, 26, 31), (224, 108, 117), (152, 195, 121), (229, 192, 123)),
        *((97, 175, 239), (198, 120, 221), (86, 182, 194), (171, 178, 191)),
    ],
)


def draw(file: str, against: str | None, width: int) -> str:
    """The picture's text. Raises WirespeedError when the file holds no run."""
    console = Console(
        record=True,
        width=width,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
    )
    command = f"wirespeed show {Path(file).name}" + (f" --against {against}" if against else "")
    console.print(Text.assemble(("$ ", "dim"), command))
    for run in read_runs(file):
        print_run(console, run)
        if against:
            print_against(console, run, load_system(against))
    picture = console.export_svg(title="wirespeed", theme=THEME, unique_id="wirespeed")
    # A page that shows the picture may not fetch fonts; every letter has its own place anyway.
    picture = re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL)
    picture = re.sub(r'x="([\d.]+)" (y="[\d.]+") textLength="([\d.]+)"([^>]*)>((?:&#160;)+)', _move, picture)
    return picture.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")


def _move(found: re.Match[str]) -> str:
    """Blanks at the start of a text as a place further right: some renderers drop them."""
    blanks = len(found[5]) // len("&#160;") * LETTER
    x, length = float(found[1]) + blanks, float(found[3]) - blanks
    return f'x="{x:.1f}" {found[2]} textLength="{max(length, 0):.1f}"{found[4]}>'


def main() -> int:
    """Reads the command line and writes the picture."""
    parser = argparse.ArgumentParser(description="Draw a result file as wirespeed show prints it.")
    parser.add_argument("file")
    parser.add_argument("picture")
    parser.add_argument("--against")
    parser.add_argument("--width", type=int, default=104)
    words = parser.parse_args()
    try:
        Path(words.picture).write_text(draw(words.file, words.against, words.width), encoding="utf-8")
    except (WirespeedError, OSError) as error:
        print(f"picture: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
