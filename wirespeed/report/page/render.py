"""The page put together: data as one JSON block, styles and scripts inside, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from wirespeed._version import __version__
from wirespeed.report.facts import best
from wirespeed.report.facts.failures import failure_lines
from wirespeed.report.facts.machine import machine_line, machine_names
from wirespeed.report.page import evidence
from wirespeed.report.page.about import about
from wirespeed.report.page.bars import bars
from wirespeed.report.page.curves import charts, prices
from wirespeed.report.page.findings import findings
from wirespeed.report.page.matrix import matrices
from wirespeed.report.page.sources import Measured, Source, measured
from wirespeed.report.page.styles import DARK, LIGHT, styles
from wirespeed.report.page.verdict import verdicts
from wirespeed.results.coerce import text
from wirespeed.units import format_rate, format_seconds

SCRIPTS = ("base", "scales", "lines", "legend", "curves", "prices", "matrix", "wires", "tables", "start")
"""In this order they are one script."""
MOST_MACHINES = 8
"""More are not described at the top; all are below."""


def render(sources: Sequence[Source], lost: Sequence[str] = ()) -> str:
    """The whole page. `lost`: a line for each file that could not be read."""
    import jinja2

    sets = measured(sources)
    paths = sorted({path for one in sets for path in one.run.paths}, key=str)
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
    page = environment.get_template("page.html.j2").render(
        title=_title(sets),
        machines=_machines(sets),
        version=__version__,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        light=LIGHT,
        dark=DARK,
        data=page_data(sets, looks),
        looks=looks,
        sets=sets,
        verdicts=verdicts(sets, sources),
        bests=[(one, domains) for one in sets if (domains := best.by_domain(one.run))],
        bars=bars(sets),
        evidence_heads=evidence.HEADS,
        evidence=[(one, rows) for one in sets if (rows := evidence.rows(one.run))],
        findings=findings(sources),
        failed=[(one, lines) for one in sets if (lines := failure_lines(one.run, lacking=True))],
        abouts=[*map(about, sets)],
        warnings=[*lost, *(f"{source.file}: {line}" for source in sources for line in source.warnings)],
    )
    # A lone surrogate in somebody's JSON is no letter that can be written.
    return page.encode("utf-8", "replace").decode("utf-8")


def page_data(sets: Sequence[Measured], looks: dict[str, Any]) -> dict[str, Any]:
    """What the page's script draws from: medians and intervals, no histograms, no samples."""
    return {
        "paths": {text(name): {"hue": look.hue, "dash": look.dashes} for name, look in looks.items()},
        "sets": [{"label": one.label, "letter": one.letter, "pattern": one.pattern} for one in sets],
        "charts": charts(sets),
        "prices": prices(sets),
        "matrices": matrices(sets),
        "wires": evidence.drawings(sets),
    }


def _title(sets: Sequence[Measured]) -> str:
    names = dict.fromkeys(machine_names([one.run for one in sets]))
    return f"{len(names)} machines" if len(names) > 3 else text(", ".join(names)) or "no figures"


def _machines(sets: Sequence[Measured]) -> list[tuple[str, str]]:
    """(host, its GPUs and CPU), each machine once."""
    found: dict[str, str] = {}
    for name, one in zip(machine_names([one.run for one in sets]), sets, strict=True):
        found.setdefault(text(name), text(machine_line(one.run.head.environment)))
    return [*found.items()][:MOST_MACHINES]


def _script() -> str:
    folder = files("wirespeed.report.page").joinpath("script")
    parts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    return "\n".join(['"use strict";', *parts])
