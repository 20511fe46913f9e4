"""What the front end tells its ranks: JSON in one word."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import WirespeedError
from wirespeed.job.plan import Plan, decode, encode
from wirespeed.job.step_spec import ExpectedJob, StepSpec
from wirespeed.statistics.stopping import Stopping

WORDS = st.text(st.characters(exclude_characters="\0"), max_size=30)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS


def spec_of(plan: Plan, **more: Any) -> StepSpec:
    expected = ExpectedJob("openmpi", "5.0.11", 2, "/lib/libmpi.so")
    return StepSpec(plan, (("host", plan.sizes), ("aware", (8,))), "run", expected, "cuda", {}, **more)


@given(
    options=st.dictionaries(WORDS, VALUES, max_size=4),
    sizes=st.lists(st.integers(0, 1 << 40), max_size=4),
    out=st.none() | WORDS.map(lambda word: word + "\udcff"),
    seconds=st.none() | st.floats(0, 1e9),
    variables=st.dictionaries(WORDS, WORDS, max_size=3),
)
def test_what_ranks_are_told_arrives_as_it_was(
    options: dict[str, Any],
    sizes: list[int],
    out: str | None,
    seconds: float | None,
    variables: dict[str, str],
) -> None:
    """Protects the values' types, which decide how a pattern is measured, and names in any encoding."""
    plan = Plan(options=tuple(options.items()), sizes=tuple(sizes), out=out, stopping=Stopping(loops=3))
    told = dataclasses.replace(spec_of(plan, seconds=seconds), variables=variables)
    assert StepSpec.of(decode(encode(told))) == told
    assert Plan.of(decode(encode(plan))) == plan


def test_a_long_list_of_pairs_is_one_short_word() -> None:
    """Protects launches of a fleet: Linux takes 128 KiB in one word, and launchers' shells read quotes."""
    dice = random.Random(1)
    pairs = ",".join(f"{dice.randrange(10**6)}-{dice.randrange(10**6)}" for _ in range(1000))
    word = encode(spec_of(Plan("pairing", options=(("rank_pairs", pairs),), hosts=("node0001",) * 2000)))
    assert re.fullmatch(r"[\w=-]+", word) and len(word) < 128 << 10


def test_a_file_is_read_as_well(tmp_path: Path) -> None:
    told = spec_of(Plan(between=(0, 1)))
    (tmp_path / "order.json").write_text(json.dumps(dataclasses.asdict(told)))
    assert StepSpec.of(decode(str(tmp_path / "order.json"))) == told


def test_what_is_no_plan_is_refused() -> None:
    """Protects a plan from values that its own type refuses."""
    with pytest.raises(WirespeedError, match="--precision"):
        Plan.of({"stopping": {"precision": 2.0}})
