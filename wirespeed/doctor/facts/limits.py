"""Limits of this process: locked memory, CPUs."""

from __future__ import annotations

import os
import resource

from wirespeed.doctor.facts.model import Limits


def limits() -> Limits:
    """The limits of this process, which job steps inherit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Limits(None if soft == resource.RLIM_INFINITY else soft, tuple(sorted(os.sched_getaffinity(0))))
