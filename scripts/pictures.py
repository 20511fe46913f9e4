"""Draws the README's pictures: what `wirespeed show` prints of two result files, in docs/images."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURES = {"paths": ("h200-x2-evidence.jsonl.gz", 165), "programs": ("h200-x2-lbm.jsonl", 100)}
"""By name: the result file, and the columns of the terminal."""


def draw(name: str) -> str:
    """A picture as SVG."""
    file, columns = PICTURES[name]
    show = Path(sys.executable).with_name("wirespeed"), "show", ROOT / f"results/{file}"
    colours = {**os.environ, "COLUMNS": str(columns), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    printed = subprocess.run(show, env=colours, stdout=subprocess.PIPE, text=True, check=True).stdout
    console = Console(record=True, width=columns, file=io.StringIO())
    console.print(Text.from_ansi(printed.rstrip()))
    picture = console.export_svg(title=f"wirespeed show results/{file}", unique_id="wirespeed")
    # A page that shows the picture may not fetch fonts.
    picture = re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL)
    return picture.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")


for each in PICTURES:
    (ROOT / f"docs/images/{each}.svg").write_text(draw(each), encoding="utf-8")
