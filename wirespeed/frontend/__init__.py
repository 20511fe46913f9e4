"""The process that a person starts: it plans, starts job steps, watches the ranks, and records."""

from __future__ import annotations

import sys
from pathlib import Path

from wirespeed.job.plan import Plan, encode


def command(plan: Plan, seconds: float = 0.0) -> list[str]:
    """Starts a front end (__main__.py) that measures the plan as this command; 0 seconds: without a bound."""
    return [sys.executable, str(Path(__file__).parent), encode(plan), str(seconds), *sys.argv]
