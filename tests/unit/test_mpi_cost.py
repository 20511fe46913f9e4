"""What MPI adds to UCX's own time is said where the MPI ran over the same UCX, and nowhere else."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
from support.records import entry, head, step

from wirespeed.report.facts.mpi_cost import costs, difference, unknown
from wirespeed.statistics.samples import difference_interval
