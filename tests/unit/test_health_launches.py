"""Health of the hosts where a figure's launches are of several runs, because --resume added some."""

from __future__ import annotations

from typing import Any

import pytest
from support.records import as_read, entry, head, shown

from wirespeed.report.check.health import judge
from wirespeed.report.export.prometheus import to_prometheus
from wirespeed.results.runs import Run, collect, joined

REPLAYS = "NVLink replay errors"
SILENT: dict[str, Any] = {"counted": [], "watched": []}


def health(run: str, count: int = 0, **more: Any) -> dict[str, Any]:
    found = [{"host": "n1", "place": "GPU 0 link 3", "what": REPLAYS, "count": count}] if count else []
    record = {"kind": "health", "run": run, "path": "aware", "seconds": 1.0, "errors": found}
    return {**record, "counted": [REPLAYS], "watched": ["n1 GPU 0"], **more}


def resumed(*records: dict[str, Any]) -> Run:
    """Launches 1 and 2 are of run r, the third is of run s."""
    figures = [entry("aware", 8, 1e-6, launch=number) for number in (1, 2, 3)]
    figures[2]["run"] = "s"
    return joined(collect(as_read([head(["aware"]), {**head(["aware"]), "run": "s"}, *figures, *records])))


def test_errors_of_any_launch_count() -> None:
    """Protects from a mark, a rule and a metric that see the last run alone."""
    run = resumed(health("r", 12), health("r"), health("s", 3))
    assert "#1.00 us" in shown(run)
    assert judge("new_errors", 14, run, "aware")[0] is False
    assert judge("new_errors", 15, run, "aware")[0] is True
    metrics = [line for line in to_prometheus([run]).splitlines() if line.startswith("wirespeed_new_errors")]
    assert len(metrics) == 1 and metrics[0].endswith(" 15")
    assert "#1.00 us" in shown(resumed(health("r", 12), health("r"), health("s")))


@pytest.mark.parametrize(
    "records",
    [
        [health("r", **SILENT), health("r"), health("s")],
        [health("r"), health("r"), health("s", **SILENT)],
        [health("s")],
        [],
    ],
)
@pytest.mark.parametrize("rule", ["new_errors", "throttled"])
def test_what_one_launch_did_not_count_is_no_pass(records: list[dict[str, Any]], rule: str) -> None:
    """Protects from a pass that is only some launches': what happened in the others is not known."""
    assert judge(rule, 0, resumed(*records), "aware")[0] is None


def test_known_errors_fail_all_the_same() -> None:
    assert judge("new_errors", 0, resumed(health("r", 1), health("s", **SILENT)), "aware")[0] is False
