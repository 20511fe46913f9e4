#!/usr/bin/env python3
"""Writes wirespeed/results/schema.json from the model of records (python scripts/schema.py)."""

import json
from pathlib import Path

from wirespeed.results.schema import schema

FILE = Path(__file__).parents[1] / "wirespeed/results/schema.json"

if __name__ == "__main__":
    FILE.write_text(json.dumps(schema(), indent=1) + "\n")
