"""The page put together: data as one JSON block, styles and scripts inside, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from wirespeed._version import __version__
from wirespeed.limits.wires import WIRE_KINDS
from wirespeed.report.facts.markers import MEANINGS
from wirespeed.report.facts.statement import Part
from wirespeed.report.page import evidence
from wirespeed.report.page.about import about
from wirespeed.report.page.answers import Answers, answers
from wirespeed.report.page.curves import charts, prices, reached
from wirespeed.report.page.findings import findings, nothing_found, refuted
from wirespeed.report.page.notes import failed, method, sections
from wirespeed.report.page.styles import DARK, LIGHT, styles
from wirespeed.report.sources import ReportRun, Source, measured
from wirespeed.report.views.pairs import fans, matrices
from wirespeed.results.coerce import text
from wirespeed.units import format_rate, format_seconds

SCRIPTS = (
    "base",
    "scales",
    "lines",
    "legend",
    "curves",
    "ratios",
    "matrix",
    "fans",
    "wires",
    "tables",
    "start",
)
"""In this order they are one script."""
MAX_NAMED = 4
"""Machines in the title of a list of them."""


def render(sources: Sequence[Source], lost: Sequence[str] = ()) -> str:
    """The whole page. `lost`: a line for each file that could not be read."""
    import jinja2

    sets = measured(sources)
    paths = sorted({path for measured in sets for path in measured.run.paths}, key=str)
    looks = styles(paths)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("wirespeed.report", "page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"seconds": format_seconds, "rate": format_rate}
    script = _script()
    found = answers(sets, sources)
    data = page_data(sets, looks, found[0].machine.main.pattern if found else "")
    page = environment.get_template("page.html.j2").render(
        title=_title(found),
        machines=found,
        named=_named(found),
        version=__version__,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        marks="; ".join(MEANINGS),
        light=LIGHT,
        dark=DARK,
        data=data,
        looks=looks,
        sets=sets,
        sections=sections(sets, [chart["pattern"] for chart in data["charts"]]),
        counted=[(measured, lines) for measured in sets if (lines := method(measured.run, Part.COUNTERS))],
        findings=findings(sources),
        refuted=refuted(sources),
        nothing=nothing_found(sources),
        failed=[(measured, gone) for measured in sets if (gone := failed(measured.run))],
        abouts=[*map(about, sets)],
        warnings=[*lost, *(f"{source.file}: {line}" for source in sources for line in source.warnings)],
    )
    # A lone surrogate in somebody's JSON is no letter that can be written.
    return page.encode("utf-8", "replace").decode("utf-8")


def page_data(sets: Sequence[ReportRun], looks: dict[str, Any], first: str) -> dict[str, Any]:
    """Data that the page's script draws: medians and intervals, no histograms, no samples.

    `first`: the pattern of the main chart.
    """
    return {
        "paths": {text(name): {"hue": look.hue, "dash": look.dashes} for name, look in looks.items()},
        "sets": [
            {"label": measured.label, "letter": measured.letter, "pattern": measured.pattern}
            for measured in sets
        ],
        "charts": charts(sets, first),
        "prices": prices(sets),
        "reached": reached(sets),
        "matrices": matrices(sets),
        "fans": fans(sets),
        "wires": evidence.drawings(sets),
        "kinds": {
            kind: {"name": wire_kind.name, "gpu": not wire_kind.of_host}
            for kind, wire_kind in WIRE_KINDS.items()
        },
    }


def _title(found: Sequence[Answers]) -> str:
    return f"{len(found)} machines" if len(found) > 1 else found[0].machine.name if found else "no figures"


def _named(found: Sequence[Answers]) -> str:
    """'n1, n2 and 3 more'."""
    names = ", ".join(answers.machine.name for answers in found[:MAX_NAMED])
    return f"{names} and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else names


def _script() -> str:
    folder = files("wirespeed.report.page").joinpath("script")
    parts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    return "\n".join(['"use strict";', *parts])
