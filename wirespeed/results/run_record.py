"""Members that every line of a run has."""

from __future__ import annotations

from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, datetime, timezone
from typing import Annotated

from msgspec import Meta

from wirespeed.results.parts import RecordPart

Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""ISO 8601, with its offset from UTC."""


class RunRecord(RecordPart, frozen=True, kw_only=True, tag_field="kind"):
    """A line of a run."""

    run: Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{12}$"})]
    """Names the run; every line of it carries this."""


def moment(text: str) -> datetime | None:
    """A time in UTC, without an offset; None of a text that is no date, or too far off to reckon with."""
    with suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(text)
        at = (at.astimezone(timezone.utc) if at.tzinfo else at).replace(tzinfo=None)
        return at if MINYEAR < at.year < MAXYEAR else None
    return None
