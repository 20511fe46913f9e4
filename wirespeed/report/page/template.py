"""A page made from a folder's template: one file, its script inside, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from wirespeed._version import __version__

if TYPE_CHECKING:
    import jinja2


@cache
def _environment(folder: str) -> jinja2.Environment:
    """Templates of a folder, each compiled once."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("wirespeed.report", folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def page(
    folder: str, scripts: Sequence[str], filters: Mapping[str, Callable[..., Any]], **content: Any
) -> str:
    """`folder`: that of report/ which has page.html.j2 and the scripts, which become one in this order."""
    environment = _environment(folder)
    environment.filters |= filters
    place = files(f"wirespeed.report.{folder}")
    script = "\n".join(place.joinpath(name).read_text("utf-8") for name in scripts)
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.get_template("page.html.j2")
    text = template.render(version=__version__, script=script, script_hash=script_hash, **content)
    # A lone surrogate in somebody's JSON is no letter that can be written.
    return text.encode("utf-8", "replace").decode("utf-8")
