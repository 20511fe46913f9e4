"""A doctor's record that anyone may have written is shown as far as it fits."""

from __future__ import annotations

from contextlib import suppress

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.records import as_read, console, text_of

from wirespeed.doctor.facts import model
from wirespeed.doctor.measured import Stretch
from wirespeed.doctor.result import Result
from wirespeed.report.doctor.terminal import print_result, shell_lines
from wirespeed.results.decoding import DoesNotFit
from wirespeed.results.findings import RecordedFinding

PARTS = [part for part in vars(model).values() if isinstance(part, type) and issubclass(part, msgspec.Struct)]
NAMES = sorted({name for part in PARTS for name in part.__struct_fields__})
WORDS = st.none() | st.booleans() | st.integers(-2, 300) | st.floats() | st.text(max_size=4)
TEXTS = st.sampled_from(["cuda", "lo\x1b[2J", "works", "NVIDIA H200", "a\nb", "0000:00:06.0"])
ODD = st.recursive(
    WORDS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=20,
)
FACTS = st.dictionaries(st.sampled_from(model.MachineFacts.__struct_fields__), ODD, max_size=12)
FINDING = st.dictionaries(st.sampled_from(RecordedFinding.__struct_fields__), ODD, max_size=8)
FASTEST = st.dictionaries(st.sampled_from(Stretch.__struct_fields__), ODD, max_size=8)


@examples(60)
@given(facts=FACTS, findings=st.lists(FINDING, max_size=3), fastest=st.lists(FASTEST, max_size=2))
def test_any_record_is_shown(facts: object, findings: object, fastest: object) -> None:
    """Protects `wirespeed show` from a stack trace, and the terminal from what such a file wants it to do."""
    record = {"kind": "doctor", "at": "now", "facts": facts, "findings": findings, "fastest": fastest}
    read = []
    # Such a line is left out of a file.
    with suppress(DoesNotFit):
        read = as_read([record])
    for one in read:
        result = Result.of(one)  # type: ignore[arg-type]
        screen = console(80)
        print_result(screen, result)
        assert all(line.isprintable() for line in text_of(screen).split("\n"))
        assert all(line.isprintable() for line in shell_lines(result.findings))
