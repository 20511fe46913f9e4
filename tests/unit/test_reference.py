"""What others published about such a machine: the store, what is taken from it, and what is said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_page import BEGIN, FILE, SOUGHT, operations, page
from support.golden import Golden
from support.measured import lines, result
from support.records import entry, head, make_run, step

from wirespeed.cli.common.reading import read_runs
from wirespeed.errors import WirespeedError
from wirespeed.report.facts import others
from wirespeed.results.runs import Run
from wirespeed.systems.reading import read
from wirespeed.systems.reference import Reference, Taken, kinds, usual
from wirespeed.systems.reference.model import OPERATIONS, Kind, Publication, PublishedFigure

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "results").rglob("*.jsonl*"))
KINDS = [kind for kind in kinds().values() if not kind.system]
EVERY = [
    (kind, source, figure)
    for kind in kinds().values()
    for source in kind.sources
    for figure in source.figures
]
SMALL = """
name = "Small"
machines = ["Small.*"]
[[sources]]
address = "https://example.org/small"
date = "2026-11-28"
counted = "copies of one direction"
figures = [
    { operation = "host-device", wire = "PCIe", bytes = 1_073_741_824, gb_per_s = [50, 52] },
]
"""
WRONG = (
    ("https://example.org/small", "a talk"),
    ("2026-11-28", "yesterday"),
    ("[50, 52]", "[52, 50]"),
    ("gb_per_s = [50, 52]", "speed = 3"),
    ('"host-device"', '"upwards"'),
    ('machines = ["Small.*"]', ""),
    ('"Small.*"', '"("'),
    ("counted =", "runs = ['1']\ncounted ="),
)

NEWER = ("H100 PCIe", "H100 SXM", "H200", "RTX 5090", "RTX PRO 6000 Blackwell", "MI300X", "Intel Max 1550")
PCIE = {"V100": 3, "T4": 3, **dict.fromkeys(NEWER, 5)}
"""Generation of the slot, by the vendors' data sheets; 4 of all others. Sixteen lanes carry 15.75 GB/s of the
third generation, and twice as much of each next one, before packets take their part."""
LINK = {"V100": 25, "A100 SXM": 25, "H100 SXM": 25, "H100 PCIe": 25, "H200": 25, "GH200": 25, "B200": 50}
"""GB/s of an NVLink in one direction."""
MEMORY = {
    "V100": 900,
    "A100 PCIe": 1555,
    "A100 SXM": 2039,
    "H100 PCIe": 2039,
    "H100 SXM": 3350,
    "H100 NVL": 3938,
    "H200": 4800,
    "RTX 3090": 936,
    "RTX 4090": 1008,
    "RTX 5090": 1792,
    "RTX PRO 6000 Blackwell": 1792,
    "MI100": 1229,
    "MI210": 1638,
    "MI300X": 5300,
    "T4": 320,
}
"""GB/s of a GPU's memory, reads and writes together."""
NETWORK = {
    "InfiniBand EDR or HDR100, 100 Gb/s": 12.5,
    "InfiniBand HDR or NDR200, 200 Gb/s": 25,
    "EFA, 100 Gb/s": 12.5,
    "Slingshot 11": 25,
    **{f"{rate} Gb/s Ethernet, RoCE": rate / 8 for rate in (100, 200, 400)},
}
C2C, XGMI, XE, TILES = 450, 50, 26.5, 230
"""GB/s of one direction: a Grace CPU to its GPU; a link of an MI250X; two Max 1550; its two tiles."""


def most(kind: Kind, figure: PublishedFigure) -> float:
    """What physics allows, GB/s; written down here, not read from where the figures or the limits are."""
    if figure.operation.startswith("network"):
        return NETWORK[kind.name]
    if figure.operation == "local-copy":
        return MEMORY[kind.name] / 2
    if figure.operation == "pingpong":
        return 340 / 2  # a node's two POWER9: 170 GB/s of memory each, read and written
    if figure.operation == "allreduce-node" and figure.wire != "PCIe":
        # A switch that adds the data itself halves what a GPU has to send: nccl-tests counts as without it.
        wire = {"NVLink": 18 * LINK.get(kind.name, 0), "Infinity Fabric": 7 * 64}[figure.wire]
        return wire * (2 if figure.links == 18 else 1)
    wires: dict[str, float] = {
        "PCIe": 15.75 * 2 ** (PCIE.get(kind.name, 4) - 3),
        "NVLink": figure.links * LINK.get(kind.name, 0),
        "NVLink-C2C": C2C,
        "Infinity Fabric": figure.links * XGMI,
        "Xe Link": XE,
        "tile to tile": TILES,
    }
    return wires[figure.wire]


class TestStore:
    def test_twenty_kinds_with_two_operations_each(self) -> None:
        assert len([kind for kind in KINDS if len(operations(kind)) >= 2]) >= 20

    @pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
    def test_nothing_is_faster_than_its_wire(self, kind: Kind) -> None:
        """A sum of both directions, reads and writes added, Gb for GB, 2^30 for 1e9: each would show here."""
        for source in kind.sources:
            for figure in source.figures:
                assert figure.rates[1] / 1e9 <= most(kind, figure), (source.address, figure)
                floor = 0.02 if figure.operation in ("allreduce-node", "network-latency", "pingpong") else 0.1
                if figure.bytes > 64:
                    assert figure.rates[0] / 1e9 >= floor * most(kind, figure), (source.address, figure)

    def test_each_figure_says_where_it_stands_and_what_was_counted(self) -> None:
        assert len(EVERY) > 150
        for kind, source, figure in EVERY:
            assert len(source.counted) > 20, source.address
            assert source.address.startswith("https://") or source.runs
            # Of what another commit may change, the one that was read.
            if "/blob/" in source.address or "/tree/" in source.address:
                assert re.search(r"/(blob|tree)/[0-9a-f]{40}/", source.address), source.address
            assert bool(figure.path) == bool(kind.system)

    def test_what_stands_there_otherwise_is_said(self) -> None:
        """Half of 'both ways' and of 'read and write added', to the digits that are printed here."""
        halved = [
            figure
            for _, _, figure in EVERY
            if re.search(r"both (directions|ways)|read and write", figure.published)
        ]
        assert len(halved) > 80
        for figure in halved:
            numbers = [float(word) for word in re.findall(r"\d+\.?\d*", figure.published)]
            unit = 1000 if "TB/s" in figure.published else 0.001 if "MB/s" in figure.published else 1
            low, high = figure.gb_per_s or (0.0, 0.0)
            assert 2 * low / unit <= 1.005 * max(numbers) and 2 * high / unit >= 0.995 * min(numbers), figure

    def test_a_wrong_file_is_told_where(self, golden: Golden) -> None:
        told: dict[str, object] = {}
        for right, wrong in WRONG:
            with pytest.raises(WirespeedError) as caught:
                read(SMALL.replace(right, wrong), "small.toml", Kind)
            told[f"{right} -> {wrong}".replace("\n", "; ")] = caught.value
        golden("systems/wrong_references", told)

    def test_own_figures_are_those_of_the_files(self) -> None:
        """What is called this project's measurement stands in the file, under the run's id."""
        own = [(source, figure) for _, source, figure in EVERY if source.runs]
        assert len(own) > 6
        for source, figure in own:
            runs = [run for run in read_runs(str(ROOT / source.address)) if run.head.run in source.runs]
            rates = [one.rate for run in runs for one in run.entries.values() if one.bytes == figure.bytes]
            for end in figure.rates:
                assert any(rate == pytest.approx(end, rel=5e-4) for rate in rates), (source.address, figure)


A100, OTHER, SLINGSHOT = "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "Slingshot 11"
GIB, MIB = 1 << 30, 1 << 20
USUAL: tuple[tuple[str | None, str | None, str, int, int | None], ...] = (
    *((name, "NVLink", "device-device", GIB, None) for name in ("NVIDIA H200", "NVIDIA H100 80GB HBM3")),
    ("h200", "NVLink4x18", "device-device", GIB, None),
    # Of these only 4 and 32 MiB.
    *((OTHER, f"NVLink{links}", "device-device", GIB, None) for links in (" x4", " x12", "")),
    ("A100 SXM", "NVLink x4", "device-device", 32 * MIB, None),
    ("AMD Instinct MI250X", "xGMI", "device-device", GIB, None),
    *((name, "PCIe 4.0 x16", "host-device", GIB, None) for name in (A100, "NVIDIA A100-PCIE-40GB", "A100")),
    *((name, "PCIe", "host-device", GIB, None) for name in ("H100 SXM", "NVIDIA GeForce RTX 4090")),
    *(
        (name, "PCIe", "host-device", GIB, None)
        for name in ("NVIDIA A10", "NVIDIA H200 MIG 1g.18gb", "", None)
    ),
    *(("NVIDIA GH200 480GB", wire, "host-device", GIB, None) for wire in (None, "PCIe")),
    ("AMD Instinct MI300X", "PCIe", "device-host", GIB, None),
    ("NVIDIA H200", "device memory", "local-copy", GIB, None),
    *((None, wire, "network-bandwidth", GIB, None) for wire in ("EDR", "100GbE", SLINGSHOT, "NDR", None)),
    *(("NVIDIA H200", "NVLink", "allreduce-node", 8 * GIB, ranks) for ranks in (8, 4, None, 3)),
    *(("NVIDIA H200", "NVLink", "allreduce-node", size, 8) for size in (MIB, 3 << 19, 4 * MIB, 256 * MIB)),
    # A large copy stands for all large ones.
    *(("NVIDIA H200", "PCIe", "host-device", size, None) for size in (MIB, 16 * MIB, 8 * GIB)),
)


def test_which_figures_are_of_such_a_machine(golden: Golden) -> None:
    """Where it is not sure which figures are of such a machine there are none: a wrong blame is worse."""
    told: dict[str, object] = {}
    for machine, wire, operation, size, ranks in USUAL:
        found, judged = (usual(machine, wire, operation, size, rate, ranks=ranks) for rate in (0, 93e9))
        assert found is None or found.verdict == found.words == ""
        ends = f"{found.lowest / 1e9:.5g} to {found.highest / 1e9:.5g} GB/s" if found else "not known"
        many = f", {ranks} ranks" if ranks else ""
        told[f"{machine}, {wire}: {operation}, {size} B{many}"] = f"{ends}\n{judged and judged.words}"
    golden("systems/usual", told)


@given(st.text(max_size=30), st.text(max_size=20), st.sampled_from([*OPERATIONS]), st.integers(1, 1 << 40))
def test_any_name(machine: str, wire: str, operation: str, size: int) -> None:
    found = usual(machine, wire, operation, size, 1e9)
    assert found is None or (found.lowest <= found.highest and found.words)


def reference(rate: float, *figures: PublishedFigure, runs: tuple[str, ...] = ()) -> Reference:
    address = "results/a.jsonl" if runs else "https://example.org"
    source = Publication(address=address, date="2026-11-28", counted="so", figures=figures, runs=runs)
    return Reference(
        "H200", "device-device", "NVLink", 1 << 30, rate, tuple(Taken(one, source) for one in figures)
    )


def test_words(golden: Golden) -> None:
    """Protects what is said of figures as usual, above and below, and whose measurements they are."""
    known = PublishedFigure(operation="device-device", bytes=1 << 30, gb_per_s=(380, 397))
    told: dict[str, object] = {}
    for rate in (395, 361.1, 360.9, 39, 430):
        told[f"{rate} GB/s"] = reference(rate * 1e9, known).words
    for rate in (390, 300):
        told[f"{rate} GB/s, this project's"] = reference(rate * 1e9, known, runs=("a",)).words
    for us in (2.5, 50, 1):
        found = usual(None, SLINGSHOT, "network-latency", 8, 8 / us * 1e6)
        told[f"{us} us"] = found and found.words
    golden("systems/reference_words", told)


def changed(file: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> Run:
    """The run of a file, each of whose records was changed."""
    records = [json.loads(line) for line in lines(file)]
    for record in records:
        change(record)
    made = folder / "changed.jsonl"
    made.write_text("".join(json.dumps(record) + "\n" for record in records))
    (run,) = read_runs(str(made))
    return run


class TestRuns:
    def test_a_range_never_holds_the_run_that_it_judges(self) -> None:
        own = {run for kind in KINDS for source in kind.sources for run in source.runs}
        judged = set()
        for file in RESULTS:
            for run in (
                read_runs(str(file)) if own & set(re.findall(r'"run":"(\w+)"', lines(file)[0])) else ()
            ):
                for path, found in others.references(run):
                    judged.add(run.head.run)
                    assert not any(run.head.run in one.source.runs for one in found.taken), (file, path)
        assert len(judged & own) >= 3

    def test_own_results_are_as_usual_or_the_page_says_why_not(self) -> None:
        text, usual_ones = FILE.read_text(), 0
        for file in RESULTS:
            for run in read_runs(str(file)):
                for path, found in others.references(run):
                    usual_ones += found.verdict == "usual"
                    named = f"`{file.relative_to(ROOT / 'results')}`" in text
                    assert named or found.verdict == "usual", (file, path)
        assert usual_ones > 30

    def test_what_no_other_way_is_fast_enough_for_needs_no_counters(self, tmp_path: Path) -> None:
        def slower(record: dict[str, Any]) -> None:
            if record["kind"] == "entry" and record["path"] == "aware":
                record["seconds"] = {name: 10 * value for name, value in record["seconds"].items()}
                rates = record.get("bytes_per_second", {})
                record["bytes_per_second"] = {name: value / 10 for name, value in rates.items()} or None

        (run,) = read_runs(str(result("h200-x2-pingpong")))
        assert not run.evidence
        assert [path for path, _ in others.references(run)] == ["aware"]
        slow = changed(result("h200-x2-pingpong"), tmp_path, slower)
        assert slow.of_path("aware")[-1].rate == pytest.approx(39.45e9, rel=1e-3)
        assert others.references(slow) == []

    @pytest.mark.parametrize(
        "change",
        [
            {"plan": {"background": "stream:host:16M"}},
            {"plan": {"profile": "nsys"}},
            {"plan": {"options": [["both_ways", True]]}},
            {"cores": {"waited": 0.5, "rank": 0}},
            {"precision": 0.2},
            {"errors": [{"host": "n", "place": "GPU 0 link 3", "what": "NVLink replays", "count": 9}]},
        ],
        ids=lambda change: str(*change),
    )
    def test_nothing_of_what_was_slowed_or_is_too_noisy(self, tmp_path: Path, change: dict[str, Any]) -> None:
        def slowed(record: dict[str, Any]) -> None:
            for part, fields in change.items():
                if part in record:
                    record[part] = record[part] | fields if isinstance(fields, dict) else fields

        file = result("default/h100-x2-span-2")
        assert others.references(changed(file, tmp_path, lambda _: None))
        assert others.references(changed(file, tmp_path, slowed)) == []

    def test_the_line_gives_the_reason_where_the_record_knows_it(self) -> None:
        runs = read_runs(str(result("eight/h200-x8-allreduce")))
        said = [others.words(run, found) for run in runs for _, found in others.references(run)]
        reason = "here NVLink SHARP is switched off (NCCL_NVLS_ENABLE=0)"
        assert any(words.endswith(f"; {reason}") for words in said)

    def test_of_gpus_that_copied_at_once_the_slowest_alone_is_compared(self) -> None:
        run = read_runs(str(result("h200-x4-copy")))[0]
        said = {path: others.words(run, found) for path, found in others.references(run)}
        assert run.of_path("h2d-pinned")[-1].rate == pytest.approx(39.1e9, rel=1e-2)
        assert said["h2d-pinned"].startswith("slowest GPU alone, 55.0 GB/s at 256 MiB: usual for H200")

    def test_a_slower_path_does_not_stand_for_the_fastest_that_is_too_noisy(self) -> None:
        run = read_runs(str(result("one-gpu/h200-copy-launch-10")))[0]
        fastest = run.of_path("h2d-pinned")[-1]
        assert (fastest.precision or 0) > 0.1 and "h2d-kernel" in run.paths
        assert {path for path, _ in others.references(run)} & {"h2d-pinned", "h2d-kernel"} == set()

    def test_nothing_without_a_source(self) -> None:
        run = make_run(head(["host"]), step("host"), entry("host", 1 << 30, 1e-1))
        assert others.references(run) == []


class TestPage:
    def test_it_is_what_the_files_say(self) -> None:
        assert FILE.read_text() == page(FILE.read_text()), "python scripts/reference_page.py writes it"

    def test_each_source_is_there_and_each_kind_that_was_sought(self) -> None:
        text = FILE.read_text().partition(BEGIN)[2]
        assert [source.address for _, source, _ in EVERY if source.address not in text] == []
        assert [name for name in SOUGHT if name not in text] == []
