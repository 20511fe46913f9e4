"""Limits of the wires under a figure: rates with their sources, and the equations that use them."""

from wirespeed.limits.ceilings import FAN, Used, ceiling, field_ceiling
from wirespeed.limits.rates import Ceiling

__all__ = ["FAN", "Ceiling", "Used", "ceiling", "field_ceiling"]
