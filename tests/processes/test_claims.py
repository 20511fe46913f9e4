"""bench/claims.py writes every simulated table, in the shape that the pages have."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from claims import END, TABLES, begin
from support.command import captured
from support.selection import slow_case

LONG = ("learn", "intervals")
"""Tables of which one repetition takes long."""

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / "docs").glob("*.md"), ROOT / "results" / "README.md"]


def tables(root: Path) -> dict[str, str]:
    """Each table of the pages below a folder, by its name."""
    texts = (root / page.relative_to(ROOT) for page in PAGES)
    found: dict[str, str] = {}
    for text in (file.read_text() for file in texts):
        for name, table in re.findall(rf"<!-- bench/claims.py (\S+) -->\n(.*?){END}", text, re.DOTALL):
            assert name not in found
            found[name] = table
    return found


def shape(table: str) -> list[list[str]]:
    """Its cells; of those with simulated figures, how many figures there are."""
    rows = [line[2:-2].split(" | ") for line in table.splitlines() if line.startswith("|")]
    head, label = rows[:2], [row[:1] for row in rows[2:]]
    words = [[_figures(cell) for cell in row[1:]] for row in rows[2:]]
    return [*head, *([*name, *cells] for name, cells in zip(label, words, strict=True))]


def _figures(cell: str) -> str:
    """'100, 99.5' -> '#, #'; a cell that may be empty is one figure."""
    return re.sub(r"\d+(\.\d+)?( %)?", "#", cell.strip()) or "#"


def test_every_table_is_simulated() -> None:
    """Protects the pages from tables that no command makes, and the command from tables without a place."""
    assert tables(ROOT).keys() == TABLES.keys()
    for name, table in TABLES.items():
        assert begin(name) in (ROOT / table.page).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", [slow_case(name) if name in LONG else name for name in TABLES])
def test_it_writes_what_the_pages_have(name: str, tmp_path: Path) -> None:
    for page in PAGES:
        copy = tmp_path / page.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(page, copy)
    page = tmp_path / TABLES[name].page
    was, others = page.read_text(), {key: text for key, text in tables(tmp_path).items() if key != name}
    words = ["--only", name, "--repetitions", "1", "--root", str(tmp_path)]
    command = [sys.executable, str(ROOT / "bench" / "claims.py"), *words]
    captured(command, ok=True)
    found = tables(tmp_path)
    assert shape(found[name]) == shape(tables(ROOT)[name])
    if name != "stated":
        assert found[name].startswith("1 repetitions each:\n\n| ")
    assert {key: text for key, text in found.items() if key != name} == others
    # Nothing around the table has changed.
    assert page.read_text().replace(found[name], "") == was.replace(tables(ROOT)[name], "")


def test_an_unknown_table(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "claims.py"), "--only", "fleet,weather"]
    done = captured([*command, "--root", str(tmp_path)])
    assert done.returncode == 1 and done.stderr.startswith("no table weather; there are fleet, watch")
