"""A page made from a template: one file, its script inside, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from wirespeed._version import __version__
from wirespeed.report.page.styles import DARK, LIGHT

if TYPE_CHECKING:
    import jinja2

SCRIPTS = (
    *("base", "scales", "lines", "legend", "curves", "ratios", "scaling"),
    *("matrix", "fans", "wires", "tables", "start"),
)
"""In this order they are one script."""


@cache
def _environment() -> jinja2.Environment:
    """The templates of this folder, each compiled once."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("wirespeed.report", "page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def page(template: str, filters: dict[str, Callable[..., Any]], **content: Any) -> str:
    """The page of a template that extends shell.html.j2. `content`: its variables, `title` and `data` too."""
    environment = _environment()
    environment.filters |= filters
    place = files("wirespeed.report.page").joinpath("script")
    script = "\n".join(place.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    content |= {
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    text = environment.get_template(template).render(version=__version__, light=LIGHT, dark=DARK, **content)
    # A lone surrogate in somebody's JSON is no letter that can be written.
    return text.encode("utf-8", "replace").decode("utf-8")
