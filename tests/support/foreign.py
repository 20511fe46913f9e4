"""Outputs of other tools as users post them, and what is read of them."""

from __future__ import annotations

from pathlib import Path

from wirespeed.foreign.reading import read
from wirespeed.foreign.shapes import Curve, Log

INPUTS = Path(__file__).with_name("foreign_inputs")
"""Posts; below them outputs made by the tools here (real), and of sound machines (healthy)."""


def text_of(number: str) -> str:
    """An input by the number that its name begins with, or by its whole name."""
    return next(INPUTS.glob(f"{number}*")).read_text()


def read_text(text: str) -> Log:
    return read(line.encode() for line in text.splitlines(keepends=True))


def curves_of(text: str) -> tuple[Curve, ...]:
    return read_text(text).curves
