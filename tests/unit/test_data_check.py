"""How many data were compared: one count, wherever it is told."""

from __future__ import annotations

import re
from typing import Any

from support.impossible import FALSE
from support.records import entry, make_run

from wirespeed.report.facts import outcome
from wirespeed.report.facts.statements import statements

CHECKED: dict[str, Any] = {"checked": {"iterations": 3, "batches": 4, "of_batches": 9, "bytes": 100}}


def test_an_impossible_figure_counts_in_all_lines_or_in_none() -> None:
    """Protects from two counts on one page: its bytes were compared like all others."""
    run = make_run(entry("host", 8, 1e-6, **CHECKED), entry("host", 64, 1e-6, **CHECKED, **FALSE))
    assert len(run.impossible) == 1
    told = [statement.words for statement in statements(run) if "data check" in statement.words]
    counts = [re.findall(r"\d+ untimed iterations, \d+ of \d+ timed batches", words) for words in told]
    assert counts == [["6 untimed iterations, 8 of 18 timed batches"]] * 2


def test_a_figure_measured_again_counts_once() -> None:
    """Protects from counting what a later figure replaced."""
    run = make_run(entry("host", 8, 1e-6, **CHECKED), entry("host", 8, 2e-6, **CHECKED))
    (compared, *_) = outcome.readings(run)
    assert "3 untimed iterations, 4 of 9 timed batches" in compared


def test_bytes_that_an_older_version_did_not_count() -> None:
    """Protects from "every byte: 0 B in all": 0 is no count, except of empty messages."""
    older: dict[str, Any] = {"checked": {**CHECKED["checked"], "bytes": 0}}
    run = make_run(entry("host", 8, 1e-6, **older))
    counts = "3 untimed iterations, 4 of 9 timed batches"
    assert outcome.payload(run) == (f"data check: passed ({counts}, bytes not recorded)", True)
    assert next(outcome.readings(run)) == f"data check: {counts}, bytes not recorded"
    empty = make_run(entry("host", 0, 1e-6, **older))
    assert next(outcome.readings(empty)) == f"data check: every byte of {counts}: 0 B in all"
