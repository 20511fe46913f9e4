"""What a report page holds, without a browser: data, verdict, and that no text becomes code."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import report_files as made
from support.examples import examples
from support.golden import Golden
from support.measured import lines as lines_of
from support.records import console

from wirespeed.errors import WirespeedError
from wirespeed.limits.wires import WIRE_KINDS
from wirespeed.report.page import read_sources, render
from wirespeed.report.page.styles import DARK, FAMILIES, LIGHT, styles
from wirespeed.report.page.template import SCRIPTS
from wirespeed.report.terminal.run_summary import print_run

RESULTS = Path(__file__).parents[2] / "results"
REAL = sorted(map(str, RESULTS.glob("*.jsonl*")))


def page_of(*files: str) -> str:
    return render(*read_sources(files))


def data_of(page: str) -> dict[str, Any]:
    """The page's one JSON block."""
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    found: dict[str, Any] = json.loads(block)
    return found


@pytest.fixture(scope="module")
def page() -> str:
    """Of all real files."""
    return page_of(*REAL)


class TestRealFiles:
    """What two H200s gave: protects that a reader finds every figure of a file, and nothing else."""

    def test_every_entry_is_a_point(self, page: str) -> None:
        lines = (line for file in REAL for line in lines_of(Path(file)))
        records = [one for line in lines if (one := json.loads(line))["kind"] == "entry"]
        entries = [one for one in records if not one.get("program")]  # those have bars
        points = sum(len(one["bytes"]) for chart in data_of(page)["charts"] for one in chart["series"])
        assert points == len(entries) > 400

    def test_small(self, page: str) -> None:
        """A page goes by mail: no histograms, no samples, no library."""
        assert len(page) < 750_000 and "histogram" not in data_of(page)


class TestMadeFiles:
    def test_all_parts(self, tmp_path: Path, golden: Golden) -> None:
        """Protects what is drawn: figures with their intervals and marks, and what wires carried.

        A machine has many interfaces: an idle one is not drawn, one that carried the bytes keeps its figures.
        """
        waited = [made.head(), made.step("aware"), *made.curve("aware", 2e-6, 4e10), made.end()]
        waited[2]["cores"] = {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}
        seen, size = made.evidence("host", 1 << 20, "network"), {"expected_sent": 1 << 20, "host": "n1"}
        seen["wires"] = [
            {"kind": "loopback", "name": "lo", "sent": 0, "received": 0, **size},
            {"kind": "network", "name": "eth0", "sent": 1 << 20, "received": 0, **size},
        ]
        busy = [made.head(), made.step("host"), made.entry("host", 1 << 20, 1e-3), seen, made.end()]
        more = {tmp_path / "waited.jsonl": waited, tmp_path / "busy.jsonl": busy}
        files = [made.write(file, *records) for file, records in more.items()]
        data = data_of(page_of(*made.everything(tmp_path), *files))
        golden(
            "report/page_data",
            {
                name: "\n".join(map(json.dumps, part)) if isinstance(part, list) else json.dumps(part)
                for name, part in data.items()
            },
        )

    def test_one_colour_a_path(self) -> None:
        """A path looks the same in every chart, bar and table, whatever else is on the page."""
        assert styles(["zzz", "aware", "host"])["aware"] == styles(["aware"])["aware"]
        several = styles(["aware", "aware-nogdr", "host", "staged", "nccl"]).values()
        assert len({(one.hue, one.dashes) for one in several}) == len(several)

    def test_many_algorithms_have_colours_of_their_own(self) -> None:
        """Protects an all-reduce's chart from 16 green curves, of which six look alike."""
        kinds = ("direct", "doubling", "graph", "one-shot", "registered", "ring", "symmetric")
        names = [
            base + kind for base in ("nccl", "nccl-stream") for kind in ("", *(f":{one}" for one in kinds))
        ]
        names += [f"gpu:{kind}" for kind in ("direct", "doubling", "one-shot", "ring")]
        found = styles(names)
        assert len({(one.hue, one.dashes) for one in found.values()}) == len(names)
        assert max(Counter(one.hue for one in found.values()).values()) <= 6
        assert found["nccl:ring"].hue == found["nccl-stream:ring"].hue
        assert found["nccl"] == styles(["nccl"])["nccl"]


class TestHostileFiles:
    def test_text_stays_text(self, tmp_path: Path) -> None:
        """A name in a result file must not end the script block, start another, or become a tag."""
        plain = page_of(made.write(tmp_path / "plain", *made.pingpong(), made.doctor()))
        page = page_of(made.write(tmp_path / "hostile", *made.hostile()))
        for mark in ("<script", "</script", "<img"):
            assert page.count(mark) == plain.count(mark)
        assert "\x1b" not in page and "\u2028" not in page
        assert made.HOSTILE[:40] in json.dumps(data_of(page), ensure_ascii=False)

    def test_nothing_is_fetched_and_only_our_script_runs(self) -> None:
        page = page_of(REAL[0])
        assert "default-src 'none'" in page and "script-src 'sha256-" in page
        assert not re.search(r"(src|href)=\"(?!data:)", page)
        assert "http:" not in re.sub(r"http://www.w3.org/2000/svg", "", page)

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )

    @examples(60)
    @given(number=st.integers(0, 80), depth=st.integers(0, 5), value=json_values, seed=st.randoms())
    def test_any_value_anywhere(self, tmp_path: Path, number: int, depth: int, value: Any, seed: Any) -> None:
        """Somebody else's file with any JSON in any place is shown, or refused in a line that says why."""
        measured = map(json.loads, lines_of(RESULTS / "h200-x2-exchange.jsonl"))
        records = json.loads(json.dumps([*made.pingpong(), made.doctor(), *measured]))
        inside: Any = records[number % len(records)]
        for _ in range(depth):
            choices = [one for one in inside.values() if isinstance(one, dict) and one]
            if not choices:
                break
            inside = seed.choice(choices)
        inside[seed.choice(sorted(inside))] = value
        try:
            sources, lost = read_sources([made.write(tmp_path / "fuzzed.jsonl", *records)])
            data_of(render(sources, lost))
        except WirespeedError:
            return
        for run in (run for source in sources for run in source.runs):
            print_run(console(100), run)


# What colour-blind eyes see of linear RGB, severity 1.0: Machado, Oliveira and Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15 (2009).
EYES = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}


def linear(colour: str) -> list[float]:
    """Linear RGB from sRGB."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def seen_as(colour: str, eye: str) -> tuple[float, float, float]:
    """CIE 1976 L*a*b*, D65."""
    rgb = linear(colour)
    red, green, blue = (
        min(1.0, max(0.0, sum(part * share for part, share in zip(rgb, row, strict=True))))
        for row in EYES[eye]
    )
    xyz = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
    )
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize(
    ("colours", "grounds"), [(LIGHT, ("#ffffff", "#f6f8fa")), (DARK, ("#12161c", "#1b2129"))]
)
def test_colours_can_be_seen_and_told_apart(colours: tuple[str, ...], grounds: tuple[str, ...]) -> None:
    """WCAG 2.2 asks for 3 : 1 between the lines of a chart and their ground.

    A difference of 2.3 can just be seen side by side; curves lie apart, so it must be several times that.
    """
    css = (Path(__file__).parents[2] / "wirespeed/report/page/page.css.j2").read_text()
    assert all(ground in css for ground in grounds)
    assert min(contrast(colour, ground) for colour in colours for ground in grounds) >= 3
    assert len(colours) == len(FAMILIES)
    for eye in EYES:
        seen = [seen_as(colour, eye) for colour in colours]
        assert min(math.dist(*pair) for pair in combinations(seen, 2)) > 18, eye


def test_names_of_wires_come_from_the_data() -> None:
    """A new kind of wire needs no change of the page's script."""
    page = render(*read_sources([str(RESULTS / "h200-x2-evidence.jsonl.gz")]))
    folder = Path(__file__).parents[2] / "wirespeed/report/page/script"
    script = "".join((folder / f"{name}.js").read_text() for name in SCRIPTS)
    for kind, wire in WIRE_KINDS.items():
        assert f'"{kind}": {{"gpu": {"false" if wire.of_host else "true"}, "name": "{wire.name}"}}' in page
        assert f'"{kind}"' not in script or kind == "pcie"
        assert wire.name not in script or wire.name == "network"
