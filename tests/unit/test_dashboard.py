"""The dashboard for Grafana asks for metrics that wirespeed exports, by labels that they have."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.fleet_files import write_fleet

from wirespeed.cli.main import main

ROOT = Path(__file__).parents[2]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "examples/grafana/wirespeed.json").read_text())
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
WORDS = {"by", "or", "sum", "max", "topk", "vector", "time"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Labels of every metric, by its name, of measured files, a run that failed and a fleet."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder / "fleet", factor=lambda _, one, other: 1.15 if "n05" in (one, other) else 1.0)
    health = str(ROOT / "results/h200-x2-health.jsonl")
    found: dict[str, set[str]] = defaultdict(set)
    for words in (["show", health], ["fleet", "show", str(folder / "fleet")]):
        out = folder / "out"
        with pytest.MonkeyPatch.context() as patch, out.open("w") as stream:
            patch.setattr("sys.stdout", stream)
            main([*words, "--format", "prometheus"])
        for family in text_string_to_metric_families(out.read_text()):
            for sample in family.samples:
                found[sample.name] |= set(sample.labels)
    # Nothing failed in that file; the labels of what fails are those of what went wrong.
    found["wirespeed_failed"] = found["wirespeed_new_errors"]
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_a_panel_asks_for_is_exported(expression: str, exported: dict[str, set[str]]) -> None:
    """Protects a site's screen from a panel that stays empty because a metric was renamed."""
    metrics = re.findall(r"\b(wirespeed_\w+)(?:\{([^}]*)\})?", expression)
    assert metrics
    for name, selectors in metrics:
        assert name in exported
        assert set(re.findall(r"(\w+)\s*=~?", selectors)) <= exported[name]
    rest = re.sub(r"wirespeed_\w+(\{[^}]*\})?", "", expression)
    grouped = set(re.findall(r"by \((\w+)\)", rest))
    assert grouped <= set.union(*(exported[name] for name, _ in metrics))
    assert set(re.findall(r"[a-z_]+", rest)) <= WORDS | grouped


def test_what_the_user_chooses_is_a_label(exported: dict[str, set[str]]) -> None:
    """Protects the menus for host, path and size, and that queries use no others."""
    queries = {one["name"]: one["query"] for one in DASHBOARD["templating"]["list"]}
    for name in ("host", "path", "bytes"):
        assert queries[name]["query"] == f"label_values(wirespeed_time_seconds, {name})"
        assert name in exported["wirespeed_time_seconds"]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD)))
    assert used == set(queries)


def test_panels_lie_side_by_side() -> None:
    """Protects the first look: no panel covers another one."""
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [
        (x, y)
        for one in places
        for x in range(one["x"], one["x"] + one["w"])
        for y in range(one["y"], one["y"] + one["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
