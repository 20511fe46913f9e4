"""wirespeed check: bounds read, and held against figures."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import Check, site
from support.examples import examples
from support.measured import result

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.limits import Ceiling
from wirespeed.report.check.requirements import parse_bound
from wirespeed.results.runs import Run

SURVEY = result("h200-x2-survey")


class TestBounds:
    @pytest.mark.parametrize(
        ("text", "least", "value", "kind"),
        [
            ("at least 380 GB/s", True, 380e9, "rate"),
            ("at most 12.5us", False, 12.5e-6, "time"),
            ("at least 80 % of limit", True, 0.8, "share"),
            ("at least 80% of the limit", True, 0.8, "share"),
            ("at most 1e3 MiB/s", False, 1e3 * 2**20, "rate"),
            ("at least 3 µs", True, 3e-6, "time"),
        ],
    )
    def test_words(self, text: str, least: bool, value: float, kind: str) -> None:
        bound = parse_bound(text)
        assert (bound.least, bound.kind) == (least, kind)
        assert bound.value == pytest.approx(value)

    @examples(50)
    @given(st.text(max_size=30))
    def test_no_text_is_a_stack_trace(self, text: str) -> None:
        with suppress(WirespeedError):
            assert parse_bound(text).value > 0

    def test_more_than_the_limit_is_no_pass(self, check_: Check, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects an acceptance test from a figure, or a limit, that cannot be."""
        monkeypatch.setattr(Run, "ceiling", lambda run, path: Ceiling(100e9, "a wire", "made up"))
        code, out, _ = check_(site('1G = "at least 90 % of limit"', "aware"), SURVEY)
        assert code == ExitCode.IMPOSSIBLE and "IMPOSSIBLE site.toml" in out[0]
        assert "395 GB/s (395 GB/s to 395 GB/s) is 395 % of the limit, a wire" in out[0]
        monkeypatch.setattr(Run, "ceiling", lambda run, path: Ceiling(390e9, "a wire", "made up"))
        code, out, _ = check_(site('1G = "at least 90 % of limit"', "aware"), SURVEY)
        assert code == ExitCode.CANNOT_TELL and "a share above 100 % is impossible" in out[0]


class TestBadFiles:
    @examples(50)
    @given(st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["path", "sizes", "8", "ranks", "options", "pattern", "x"]), inner, max_size=3
        ),
        max_leaves=8,
    ))  # fmt: skip
    def test_no_content_gives_a_stack_trace(self, data: Any) -> None:
        """Protects from files by hand: whatever is where, it is either understood or refused in one line."""
        from wirespeed.report.check.requirements import _Reader

        sizes = [{"path": "host", "sizes": data}]
        for whole in (data, {"require": data}, {"require": [data]}, {"require": sizes}):
            if isinstance(whole, dict):
                try:
                    list(_Reader("site.toml", "").requirements(whole))
                except WirespeedError as error:
                    assert str(error).startswith("site.toml")
