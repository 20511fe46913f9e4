"""What this process may do: pinned memory, CPUs."""

from __future__ import annotations

import os
import resource

from wirespeed.doctor.facts.model import Limits


def limits() -> Limits:
    """Of this very process: job steps inherit it."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Limits(None if soft == resource.RLIM_INFINITY else soft, tuple(sorted(os.sched_getaffinity(0))))
