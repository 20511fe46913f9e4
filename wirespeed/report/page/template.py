"""A page made from a folder's template: one file, its script inside, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from wirespeed._version import __version__


def page(
    folder: str, scripts: Sequence[str], filters: Mapping[str, Callable[..., Any]], **content: Any
) -> str:
    """`folder`: that of report/ which has page.html.j2 and the scripts, which become one in this order."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("wirespeed.report", folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= filters
    place = files(f"wirespeed.report.{folder}")
    script = "\n".join(place.joinpath(name).read_text("utf-8") for name in scripts)
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.get_template("page.html.j2")
    text = template.render(version=__version__, script=script, script_hash=script_hash, **content)
    # A lone surrogate in somebody's JSON is no letter that can be written.
    return text.encode("utf-8", "replace").decode("utf-8")
