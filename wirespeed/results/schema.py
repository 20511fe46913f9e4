"""The published schema.json, from the model: its types, and the notes under its members."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise
from typing import Any

import msgspec

from wirespeed.job.cause import Cause, SharedAddress
from wirespeed.job.plan import Plan
from wirespeed.results import contradiction, findings, model, parts, soak
from wirespeed.statistics.stopping import Stopping

MODULES = (findings, parts, contradiction, soak, model)
CLASSES = {name: kind for module in MODULES for name, kind in vars(module).items()}
CLASSES |= {"Plan": Plan, "Stopping": Stopping, "Cause": Cause, "SharedAddress": SharedAddress}


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a line."""
    refs, described = msgspec.json.schema_components(model.KINDS.values(), ref_template="#/$defs/{name}")
    for name, item in described.items():
        notes = _notes(CLASSES[name])
        # msgspec keeps the indentation of a docstring before its version 0.23.
        item |= {"description": inspect.cleandoc(item["description"])} if "description" in item else {}
        for member, facts in item["properties"].items():
            facts.pop("default", None)
            facts |= {"description": notes[member]} if member in notes else {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:wirespeed:result:{model.SCHEMA}",
        "title": "A line of a wirespeed result file",
        "description": "A result file is JSON Lines: every line is one of these objects. A file may hold "
        "several runs. Readers pass over kinds and members that they do not know.",
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string"}},
        "allOf": [
            {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": ref}
            for kind, ref in zip(model.KINDS, refs, strict=True)
        ],
        "$defs": described,
    }


def _notes(kind: type[Any]) -> dict[str, str]:
    """What stands under each member in the source, by the member's name in the file."""
    fields = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else ()
    names = {field.name: field.encode_name for field in fields}
    found = {}
    for base in kind.__mro__[:-1]:
        if base.__module__.startswith("wirespeed."):
            (source,) = ast.parse(inspect.getsource(base)).body
            for member, note in pairwise(getattr(source, "body", ())):
                if isinstance(member, ast.AnnAssign) and isinstance(note, ast.Expr):
                    name = ast.unparse(member.target)
                    found[names.get(name, name)] = " ".join(ast.literal_eval(note.value).split())
    return found
